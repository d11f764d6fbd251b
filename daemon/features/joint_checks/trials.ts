/** Runs the check on trees of files, each in a temporary folder, one at a time, at low priority. */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Log } from "kit/core/log.ts";
import type { Checks } from "protocol/jobs/contract.ts";
import type { CheckResult } from "protocol/joint_checks/contract.ts";
import type { ProgramLimits } from "../../host/program_limits.ts";
import type { ProgramRunner } from "../../host/programs.ts";
import { outputTail, reasonWithoutResult } from "../jobs/check_runner.ts";
import type { Git } from "../changes/git/git.ts";
import { GitFailed } from "../changes/git/git.ts";

/** Maximum results that are remembered. */
const RESULTS_MAX = 500;
/** Maximum bytes, and files, of a tree that is checked. */
const TREE_BYTES_MAX = 536_870_912;
const TREE_FILES_MAX = 100_000;
const LIST_BYTES_MAX = 33_554_432;
const OUTPUT_BYTES_MAX = 65_536;
/** Lets all other programs run first. */
const IDLE = 'if command -v ionice >/dev/null; then exec ionice -c 3 nice -n 19 "$@"; fi; ' +
  'exec nice -n 19 "$@"';

export interface Trial {
  readonly result: CheckResult;
  /** The end of the output of a failed check, or the reason of an unknown result. */
  readonly detail: string | null;
}

interface TrialsDeps {
  readonly check: Checks[string];
  readonly limits: ProgramLimits;
  readonly log: Log;
  readonly programs: ProgramRunner;
  /** The folder in which temporary folders are made. */
  readonly folder: string;
  readonly shutdownSignal: AbortSignal;
}

export class Trials {
  readonly #deps: TrialsDeps;
  readonly #results = new Map<string, Trial>();
  /** The number of checks that ran. */
  runs = 0;

  constructor(deps: TrialsDeps) {
    this.#deps = deps;
  }

  /** The result of an earlier run on the same files. */
  resultOf(tree: string): Trial | undefined {
    return this.#results.get(tree);
  }

  /** Runs the check; an earlier result counts, unless it has to be confirmed. */
  async run(git: Git, tree: string, { isConfirming = false } = {}): Promise<Trial> {
    const known = isConfirming ? undefined : this.#results.get(tree);
    if (known && known.result !== "unknown") return known;
    this.runs++;
    const trial = await this.#run(git, tree);
    setLatest(this.#results, tree, trial, RESULTS_MAX);
    return trial;
  }

  async #run(git: Git, tree: string): Promise<Trial> {
    const { check, limits, programs, folder: parent, shutdownSignal: signal } = this.#deps;
    const folder = await Deno.makeTempDir({ dir: parent, prefix: "tree-" });
    try {
      const refusal = await writeTree(git, tree, folder);
      if (refusal !== null) return { result: "unknown", detail: refusal };
      const cwd = await Deno.realPath(folder);
      const argv = ["/bin/sh", "-c", IDLE, "sh", ...check.argv];
      const timeout_ms = check.timeout_seconds * 1000;
      const result = await programs.run(argv, { cwd, timeout_ms, signal, limits });
      signal.throwIfAborted();
      if (result.exit === 0) return { result: "passed", detail: null };
      const detail = outputTail(result.output);
      const reason = reasonWithoutResult(check.argv, result);
      if (reason === null) return { result: "failed", detail };
      return { result: "unknown", detail: `${detail}\n${reason}`.trim() };
    } finally {
      await removeFolder(folder, this.#deps.log);
    }
  }
}

/** Writes the files of a tree to a folder; returns the reason if they are too many or too large. */
async function writeTree(git: Git, tree: string, folder: string): Promise<string | null> {
  try {
    const { text, cut } = await git.run(["ls-tree", "-r", "-l", "-z", tree], {
      bytes_max: LIST_BYTES_MAX,
    });
    const sizes = text.split("\0").slice(0, -1).map((entry) =>
      Number(/^\d+ \w+ \w+ +(\d+)\t/.exec(entry)?.[1] ?? 0)
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (cut !== null || sizes.length > TREE_FILES_MAX || bytes > TREE_BYTES_MAX) {
      return "the repository is too large to be checked in a temporary folder";
    }
    await git.run(["read-tree", tree], { bytes_max: OUTPUT_BYTES_MAX });
    const write = ["--work-tree", folder, "checkout-index", "--all", "--force"];
    await git.run(write, { bytes_max: OUTPUT_BYTES_MAX });
    return null;
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    return "git could not write the files to a temporary folder";
  }
}

/**
 * Removes a folder. A check may have left folders in it that cannot be written, and a process that
 * still writes to it: then the next pass removes it.
 */
export async function removeFolder(folder: string, log: Log): Promise<void> {
  try {
    if (!await isRemoved(folder)) {
      makeWritable(folder);
      await Deno.remove(folder, { recursive: true });
    }
  } catch (error) {
    log.warn("A folder of a joint check could not be removed", { folder, error });
  }
}

/** False if parts of the folder cannot be written. */
async function isRemoved(folder: string): Promise<boolean> {
  try {
    await Deno.remove(folder, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return false;
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return true;
}

function makeWritable(folder: string): void {
  Deno.chmodSync(folder, 0o700);
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) makeWritable(`${folder}/${name}`);
  }
}
