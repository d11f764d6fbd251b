/** Verifies a held answer: its claims first, then its checks, which may change the folder. */

import type { Clock } from "kit/core/clock.ts";
import { cleanText } from "kit/core/text.ts";
import type { ProofResult } from "protocol/proofs/contract.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import type { GitHost } from "../changes/git/git.ts";
import type { CheckOutcome, CheckRunner } from "../jobs/check_runner.ts";
import { allowedFolder, type FolderScope } from "../spawn/folders.ts";
import { changedFiles, hashesOf } from "./check_files.ts";
import { type Finding, verifyClaim } from "./claims.ts";
import type { FileHashes, StoredProof } from "./store.ts";

export interface VerificationDeps {
  readonly checkRunner: CheckRunner;
  readonly git: GitHost;
  /** The folders in which claims are verified. Checks have their own. */
  readonly readable: FolderScope;
  /** The secrets of the configuration. */
  readonly secrets: readonly string[];
  readonly send: (request: Request) => Promise<Response>;
}

export class Verification {
  readonly #clock: Clock;
  readonly #deps: VerificationDeps;

  constructor(clock: Clock, deps: VerificationDeps) {
    this.#clock = clock;
    this.#deps = deps;
  }

  /** The hashes of the files that define the checks, by check. */
  async filesOf(
    checks: readonly string[],
    path: string | null,
  ): Promise<Record<string, FileHashes>> {
    const files: Record<string, FileHashes> = {};
    for (const name of checks) files[name] = await this.#hashesOf(name, path);
    return files;
  }

  /** The findings, claims first. After a check that does not hold, no other check runs. */
  async run(
    { claims, checks, folder, files }: StoredProof,
    signal: AbortSignal,
  ): Promise<ProofResult[]> {
    const results: ProofResult[] = [];
    for (const claim of claims) {
      const finding = await this.#verifyClaim(claim, folder, signal);
      results.push(this.#toResult("claim", claim, finding));
      signal.throwIfAborted();
    }
    let failed: string | undefined;
    for (const name of checks) {
      const { output = "", ...finding } = failed === undefined
        ? await this.#runCheck(name, folder, { before: files?.[name], signal })
        : notRun(`It was not run, because "${failed}" did not hold`);
      const result = this.#toResult("check", name, finding, output);
      results.push({ ...result, ...finding.changes });
      if (finding.outcome !== "verified") failed ??= name;
      signal.throwIfAborted();
    }
    return results;
  }

  async #verifyClaim(claim: string, path: string | null, signal: AbortSignal): Promise<Finding> {
    const found = path === null ? undefined : await allowedFolder(path, this.#deps.readable);
    if (!found) return { outcome: "unknown", reason: "The recipient has no folder" };
    if (!found.ok) return { outcome: "unknown", reason: `Its folder is not read: ${found.why}` };
    const { git, send } = this.#deps;
    return await verifyClaim(claim, found.folder, { clock: this.#clock, git, send, signal });
  }

  async #runCheck(
    name: string,
    path: string | null,
    { before, signal }: { before: FileHashes | undefined; signal: AbortSignal },
  ): Promise<CheckFinding> {
    const changed = changedFiles(before, await this.#hashesOf(name, path));
    const changes = { changed: changed && changed.length > 0, changed_files: changed ?? [] };
    const outcome = await this.#deps.checkRunner.run(name, path, signal);
    return { ...toFinding(outcome), output: outcome.output_tail, changes };
  }

  async #hashesOf(name: string, path: string | null): Promise<FileHashes> {
    const check = this.#deps.checkRunner.checkOf(name);
    const found = path === null ? undefined : await this.#deps.checkRunner.folderOf(path);
    return check && found?.ok ? await hashesOf(found.folder, check) : null;
  }

  #toResult(
    kind: ProofResult["kind"],
    name: string,
    { outcome, reason }: Finding,
    output = "",
  ): ProofResult {
    const shown = maskSecrets(cleanText(output), this.#deps.secrets).text;
    return { kind, name, outcome, reason, output: shown, changed: null, changed_files: [] };
  }
}

interface CheckFinding extends Finding {
  readonly output?: string;
  readonly changes?: Pick<ProofResult, "changed" | "changed_files">;
}

function notRun(reason: string): CheckFinding {
  return { outcome: "unknown", reason };
}

function toFinding({ exit, reason }: CheckOutcome): Finding {
  if (reason !== null) return notRun(reason);
  return { outcome: exit === 0 ? "verified" : "refuted", reason: `It exited with ${exit}` };
}
