/**
 * Verifies the claims of an answer. No program of the folder runs: git reads the repository without
 * its configuration, files are read without following links, and addresses are on loopback only.
 */

import { timeout } from "kit/core/timeout.ts";
import type { Clock } from "kit/core/clock.ts";
import { join } from "kit/core/path.ts";
import { isLoopbackAddress, parseClaim, type ParsedClaim } from "protocol/proofs/claims.ts";
import { readBytes } from "../../host/agent_files.ts";
import { DETAILS } from "../changes/details.ts";
import { comparisonOf } from "../changes/git/branch_point.ts";
import { Git, GitFailed, type GitHost } from "../changes/git/git.ts";
import { mergeOf } from "../changes/git/merge.ts";
import { changedNames } from "../changes/git/reader.ts";
import { findRepository, realPath, type Repository, statOf } from "../changes/git/repository.ts";
import { sha256Of } from "./check_files.ts";

/** The finding on a claim, with the reason. */
export interface Finding {
  readonly outcome: "verified" | "refuted" | "unknown";
  readonly reason: string;
}

/** The means by which claims are verified. */
export interface ClaimHost {
  readonly clock: Clock;
  readonly git: GitHost;
  /** Sends a request to an address of this machine. */
  readonly send: (request: Request) => Promise<Response>;
  readonly signal: AbortSignal;
}

/** A larger file is not read. */
const FILE_BYTES_MAX = 16_777_216;
/** Time limit of a request, its redirects included. */
const HTTP_MS_MAX = 5_000;
const REDIRECTS_MAX = 3;
const TEXT_BYTES_MAX = 65_536;

export async function verifyClaim(
  text: string,
  folder: string,
  host: ClaimHost,
): Promise<Finding> {
  const claim = parseClaim(text);
  if (!claim) return unknown("This program does not know its form");
  try {
    switch (claim.kind) {
      case "file":
        return await verifyFile(claim, folder);
      case "http":
        return await verifyAddress(claim.url, host);
      default:
        return await verifyInGit(claim, folder, host);
    }
  } catch (error) {
    host.signal.throwIfAborted();
    if (error instanceof GitFailed) return unknown(DETAILS[error.why] ?? "git failed");
    throw error;
  }
}

async function verifyFile(
  { path, sha256 }: Extract<ParsedClaim, { kind: "file" }>,
  folder: string,
): Promise<Finding> {
  const full = join(folder, path);
  // A link anywhere in the path, the file itself included, counts as no file of the folder.
  const file = realPath(full) === full ? statOf(full) : undefined;
  if (!file?.isFile) return refuted("The folder has no such file; links are not followed");
  if (file.size > FILE_BYTES_MAX) return unknown(`It is larger than ${FILE_BYTES_MAX} bytes`);
  const bytes = readBytes(full, FILE_BYTES_MAX, { inside: folder });
  if (!bytes) return unknown("It cannot be read");
  const found = await sha256Of(bytes);
  return found === sha256 ? verified("It has this hash") : refuted(`Its hash is ${found}`);
}

/** Sends a GET request as another site would, which the daemon and the relay refuse. */
async function verifyAddress(url: URL, { clock, send, signal }: ClaimHost): Promise<Finding> {
  const found = await timeout(clock, HTTP_MS_MAX, async (ended) => {
    try {
      return await followed(url, send, ended);
    } catch (error) {
      // A refused connection is an error of the network; anything else is a fault of ours.
      if (!(error instanceof TypeError) && !ended.aborted) throw error;
      return refuted("Nothing answers there");
    }
  }, signal);
  signal.throwIfAborted();
  return found ?? refuted(`No answer in ${HTTP_MS_MAX / 1000} s`);
}

async function followed(
  first: URL,
  send: ClaimHost["send"],
  signal: AbortSignal,
): Promise<Finding> {
  let url = first;
  for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
    const headers = { "sec-fetch-site": "cross-site" };
    const response = await send(new Request(url, { redirect: "manual", headers, signal }));
    await response.body?.cancel();
    const { status } = response;
    const location = response.headers.get("location");
    if (status < 300 || status > 399 || location === null) {
      const answer = `It answers with status ${status}`;
      return response.ok ? verified(answer) : refuted(answer);
    }
    if (!URL.canParse(location, url)) return refuted("It redirects to no address");
    url = new URL(location, url);
    if (!isLoopbackAddress(url)) return refuted("It redirects away from this machine");
  }
  return refuted(`It redirects more than ${REDIRECTS_MAX} times`);
}

async function verifyInGit(
  claim: Extract<ParsedClaim, { kind: "commit" | "merges" }>,
  folder: string,
  { git: host, signal }: ClaimHost,
): Promise<Finding> {
  const repository = findRepository(folder);
  if (typeof repository === "string") return unknown(DETAILS[repository] ?? repository);
  if (claim.kind === "commit") {
    const found = await verifyCommit(claim.commit, repository, { host, signal });
    return found ?? await verifyClean(repository, { host, signal });
  }
  await using git = await Git.open(repository, host, signal);
  return await verifyMerge(git, claim.branch);
}

interface GitWork {
  readonly host: GitHost;
  readonly signal: AbortSignal;
}

/** Undefined for a commit that is part of HEAD. */
async function verifyCommit(
  commit: string,
  repository: Repository,
  { host, signal }: GitWork,
): Promise<Finding | undefined> {
  await using git = await Git.open(repository, host, signal);
  const found = await commitOf(git, commit);
  // A branch may have a name of hex digits.
  if (!found?.startsWith(commit)) return refuted("The repository has no such commit");
  const { text } = await git.run(["merge-base", "--all", found, "HEAD"], {
    bytes_max: TEXT_BYTES_MAX,
    allowed: [0, 1, 128],
  });
  return text.trim() === found
    ? undefined
    : refuted("The commit exists, but it is no part of the folder's HEAD");
}

async function verifyClean({ root }: Repository, work: GitWork): Promise<Finding> {
  const changed = await changedNames(root, work);
  if (typeof changed === "string") return unknown(changed);
  const { names, isCut } = changed;
  if (names.length > 0 || isCut) {
    return refuted(
      `The commit exists, but ${names.length}${isCut ? "+" : ""} files are uncommitted`,
    );
  }
  return verified("The commit is part of HEAD, and nothing is uncommitted");
}

async function verifyMerge(git: Git, branch: string): Promise<Finding> {
  const { base, head } = await comparisonOf(git);
  const source = await commitOf(git, `refs/heads/${branch}`);
  if (!source) return refuted("The repository has no such branch");
  const names = base.ref === null ? [] : [`refs/heads/${base.ref}`, `refs/remotes/${base.ref}`];
  const found = await Promise.all(names.map((name) => commitOf(git, name)));
  const target = found.find((commit) => commit !== undefined) ?? head;
  if (target === null) return unknown("The repository has no commit");
  const { isClean } = await mergeOf(git, target, source);
  const into = base.ref === null ? "HEAD" : "its base";
  if (isClean) return verified(`It merges into ${into}, at ${target}`);
  return refuted(`It conflicts with ${into}, at ${target}`);
}

/** The commit of a revision; undefined if it does not exist. */
async function commitOf(git: Git, revision: string): Promise<string | undefined> {
  const { text } = await git.run(["cat-file", "--batch-check=%(objectname)"], {
    bytes_max: TEXT_BYTES_MAX,
    input: `${revision}^{commit}\n`,
  });
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text.trim()) ? text.trim() : undefined;
}

function verified(reason: string): Finding {
  return { outcome: "verified", reason };
}

function refuted(reason: string): Finding {
  return { outcome: "refuted", reason };
}

function unknown(reason: string): Finding {
  return { outcome: "unknown", reason };
}
