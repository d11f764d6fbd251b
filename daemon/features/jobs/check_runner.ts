/** Runs the configured checks in the folders of agents, one at a time in each folder. */

import { ExclusiveWork } from "kit/core/exclusive.ts";
import { Problem } from "protocol/problems.ts";
import type { Checks } from "protocol/jobs/contract.ts";
import type { ProgramLimits } from "../../host/program_limits.ts";
import type { ProgramResult, ProgramRunner } from "../../host/programs.ts";
import { allowedFolder, type FolderScope } from "../spawn/folders.ts";

/** Characters kept from the end of a check's output. */
const TAIL_CHARS_MAX = 4096;

/** Exit codes of a shell that could not run a program: then nothing was checked. */
const NOT_RUN: ReadonlySet<number> = new Set([126, 127]);
/** Exit codes of a shell or sandbox whose program SIGKILL or SIGTERM ended. */
const ENDED: ReadonlySet<number> = new Set([137, 143]);
/** Programs that start others, and the exit codes by which they say that they could not. */
const SANDBOXES: ReadonlyMap<string, number> = new Map([
  ["bwrap", 1],
  ["docker", 125],
  ["podman", 125],
  ["systemd-run", 1],
  ["unshare", 1],
]);
/** Lines that such a program prints about its own failure at most. */
const OWN_LINES_MAX = 3;
/** The beginnings of lines of `systemd-run` about its own failures. */
const SYSTEMD_FAILURE = "Failed to ";

/**
 * A sentence that says why a program has no result: it did not run, or was ended. Null if it ran to
 * its end, so that its exit code is the result. A check that imitates such an end gains nothing: no
 * result counts as verified.
 */
export function reasonWithoutResult(
  argv: readonly string[],
  { exit, output, reason }: ProgramResult,
): string | null {
  if (exit === null) return reason ?? "It did not run, or did not end: see its output";
  if (NOT_RUN.has(exit)) return `It could not be run: it exited with ${exit}`;
  if (ENDED.has(exit)) return `A signal ended a program of it: it exited with ${exit}`;
  const names = argv.map((word) => word.slice(word.lastIndexOf("/") + 1));
  const sandbox = names.find((name) => SANDBOXES.get(name) === exit);
  if (sandbox === undefined || !isOwnFailure(sandbox, output)) return null;
  return `Its sandbox (${sandbox}) could not run it: see its output`;
}

/** True if all that was printed is the sandbox's own. Exit code 125 has no other meaning. */
function isOwnFailure(sandbox: string, output: string): boolean {
  const lines = output.split("\n").filter((line) => line !== "");
  if (SANDBOXES.get(sandbox) === 125) return true;
  const begin = sandbox === "systemd-run" ? SYSTEMD_FAILURE : `${sandbox}: `;
  return lines[0]?.startsWith(begin) === true && lines.length <= OWN_LINES_MAX;
}

/** The end of a check's output, as it is kept. */
export function outputTail(output: string): string {
  return output.slice(-TAIL_CHARS_MAX).toWellFormed();
}

/** The outcome of one check. */
export interface CheckOutcome {
  readonly name: string;
  /** Null if it did not run, or was ended. */
  readonly exit: number | null;
  /** A sentence: why it has no result. Null if its exit code is the result. */
  readonly reason: string | null;
  readonly output_tail: string;
}

interface CheckRunnerDeps {
  readonly checks: Checks;
  /** The folders in which checks may run. */
  readonly folders: FolderScope;
  readonly limits: ProgramLimits;
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
    const notRun = (reason: string) => ({ name, exit: null, reason, output_tail: "" });
    const check = this.checkOf(name);
    if (!check) return notRun("jobs.checks no longer names it");
    if (path === null) return notRun("There is no folder in which it could run");
    const found = await this.folderOf(path);
    if (!found.ok) {
      return notRun(
        `It was not run in "${path}": ${found.why}. Add its folder to spawn.allowed_paths`,
      );
    }
    const { limits, programs } = this.#deps;
    const timeout_ms = check.timeout_seconds * 1000;
    const options = { cwd: found.folder, timeout_ms, signal, limits };
    const result = await this.#work.run(found.folder, async (): Promise<ProgramResult> => {
      if (!signal.aborted) return await programs.run(check.argv, options);
      return { exit: null, output: "", reason: "It was not started any more" };
    });
    const { exit, output } = result;
    const reason = reasonWithoutResult(check.argv, result);
    return { name, exit, reason, output_tail: outputTail(output) };
  }
}
