/** Runs the configured checks in the folders of agents, one at a time in each folder. */

import { ExclusiveWork } from "kit/core/exclusive.ts";
import { Problem } from "protocol/problems.ts";
import type { Checks } from "protocol/jobs/contract.ts";
import type { ProgramRunner } from "../../host/programs.ts";
import { allowedFolder, type FolderScope } from "../spawn/folders.ts";

/** Characters kept from the end of a check's output. */
const TAIL_CHARS_MAX = 4096;

/** Exit codes of a shell that could not run a program: then nothing was checked. */
const NOT_RUN: ReadonlySet<number> = new Set([126, 127]);

/** True if a program ran to its end, so that its exit code is a result. */
export function hasResult(exit: number | null): exit is number {
  return exit !== null && !NOT_RUN.has(exit);
}

/** The end of a check's output, as it is kept. */
export function outputTail(output: string): string {
  return output.slice(-TAIL_CHARS_MAX).toWellFormed();
}

/** The outcome of one check; `exit` is null if it did not run or timed out. */
export interface CheckOutcome {
  readonly name: string;
  readonly exit: number | null;
  readonly output_tail: string;
}

interface CheckRunnerDeps {
  readonly checks: Checks;
  /** The folders in which checks may run. */
  readonly folders: FolderScope;
  readonly programs: ProgramRunner;
}

export class CheckRunner {
  readonly #deps: CheckRunnerDeps;
  readonly #work = new ExclusiveWork();

  constructor(deps: CheckRunnerDeps) {
    this.#deps = deps;
  }

  /** Throws `unknown_check` for the first name that is not configured. */
  mustKnow(names: readonly string[]): void {
    const known = Object.keys(this.#deps.checks);
    const check = names.find((name) => !known.includes(name));
    if (check === undefined) return;
    throw new Problem("unknown_check", { check, allowed: known.join(", ") || "none" });
  }

  /** The configured check; undefined for an unknown name. */
  checkOf(name: string): Checks[string] | undefined {
    const { checks } = this.#deps;
    return Object.hasOwn(checks, name) ? checks[name] : undefined;
  }

  /** The real path of a folder in which checks may run, or why they may not. */
  folderOf(path: string) {
    return allowedFolder(path, this.#deps.folders);
  }

  /**
   * Runs one check. A peer may have chosen the path, and an agent can replace the folder with a
   * link. So each run resolves the path again, and requires a folder within `spawn.allowed_paths`.
   */
  async run(name: string, path: string | null, signal: AbortSignal): Promise<CheckOutcome> {
    const notRun = (output_tail: string) => ({ name, exit: null, output_tail });
    const check = this.checkOf(name);
    if (!check) return notRun("jobs.checks no longer names this check");
    if (path === null) return notRun("There is no folder in which the check could run");
    const found = await this.folderOf(path);
    if (!found.ok) {
      return notRun(
        `The check was not run in "${path}": ${found.why}. Add its folder to spawn.allowed_paths.`,
      );
    }
    const options = { cwd: found.folder, timeout_ms: check.timeout_seconds * 1000, signal };
    const { exit, output } = await this.#work.run(found.folder, () => {
      if (!signal.aborted) return this.#deps.programs.run(check.argv, options);
      return Promise.resolve({ exit: null, output: "The check was not started any more" });
    });
    return { name, exit, output_tail: outputTail(output) };
  }
}
