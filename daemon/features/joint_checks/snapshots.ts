/**
 * Snapshots of work trees as commits, with what is not committed. Nothing is written to the
 * repository: the new objects lie in a temporary folder.
 */

import { join } from "kit/core/path.ts";
import { comparisonOf } from "../changes/git/branch_point.ts";
import type { Git } from "../changes/git/git.ts";
import { statusOf } from "../changes/git/patch.ts";
import { STATUS } from "../changes/git/reader.ts";
import { operationIn, statOf } from "../changes/git/repository.ts";

const LIST_BYTES_MAX = 4_194_304;
const ID_BYTES_MAX = 200;
/** A larger file that git does not track is left out. */
const UNTRACKED_BYTES_MAX = 4_194_304;
/** Maximum bytes of files that are not committed. */
const UNCOMMITTED_BYTES_MAX = 67_108_864;
/** Maximum commits since the branch point among which the smallest failing part is searched. */
const COMMITS_MAX = 64;
const IMPORT_BYTES_MAX = 1_048_576;
/** Maximum changed files whose imports are read. */
const READ_FILES_MAX = 400;

const AUTHOR = ["-c", "user.name=mesh", "-c", "user.email=mesh@localhost"];
const IMPORTS = "^[[:space:]]*(import|from|export|use|mod|require|include|#include|source)[^a-z]|" +
  "(require|import)[[:space:]]*[(]";

/** A line of a changed file that may import another file. */
export interface ImportLine {
  readonly path: string;
  readonly line: string;
}

export interface Snapshot {
  readonly branch: string | null;
  /** The commit where the branch begins. */
  readonly base: string;
  /** The commit of everything, which may be HEAD. */
  readonly commit: string;
  readonly tree: string;
  /** The files that differ from the branch point. */
  readonly files: readonly string[];
  /** The states since the branch point, oldest first; the last is `commit`. */
  readonly states: readonly string[];
  readonly imports: readonly ImportLine[];
}

/** Takes a snapshot, or returns the reason for a missing one. */
export async function takeSnapshot(git: Git, withUncommitted: boolean): Promise<Snapshot | string> {
  const { head, branch, base } = await comparisonOf(git);
  if (head === null || base.commit === null) return "its branch has no commit";
  const operation = operationIn(git.repository);
  if (operation !== null && withUncommitted) return `a ${operation} is not finished`;
  const names = withUncommitted ? await uncommittedNames(git) : [];
  if (typeof names === "string") return names;
  const commit = names.length === 0 ? head : await commitOf(git, names);
  const files = await namesBetween(git, base.commit, commit);
  return {
    branch,
    base: base.commit,
    commit,
    tree: await idOf(git, `${commit}^{tree}`),
    files,
    states: await statesOf(git, { base: base.commit, head, commit }),
    imports: await importsOf(git, commit, files),
  };
}

/** The names of changed files; a reason if they are too many or too large. */
async function uncommittedNames(git: Git): Promise<string[] | string> {
  const { text, cut } = await git.run(STATUS, { bytes_max: LIST_BYTES_MAX });
  if (cut !== null) return "too many files are not committed";
  const { root } = git.repository;
  const names: string[] = [];
  let bytes = 0;
  for (const [name, letters] of statusOf(text)) {
    const found = statOf(join(root, name));
    const isUntracked = letters === "??";
    // A folder with a repository of its own ends with a slash.
    if (isUntracked && (!found || name.endsWith("/") || found.size > UNTRACKED_BYTES_MAX)) continue;
    bytes += found?.isFile ? found.size : 0;
    names.push(name);
  }
  if (bytes <= UNCOMMITTED_BYTES_MAX) return names;
  return `more than ${UNCOMMITTED_BYTES_MAX / 1_048_576} MiB are not committed`;
}

/** Commits files over HEAD. git gets each name, so that it looks into no other folder. */
async function commitOf(git: Git, names: readonly string[]): Promise<string> {
  const update = ["update-index", "--add", "--remove", "-z", "--stdin"];
  const input = names.map((name) => `${name}\0`).join("");
  await git.run(update, { bytes_max: ID_BYTES_MAX, writes: true, input });
  const { text } = await git.run(["write-tree"], { bytes_max: ID_BYTES_MAX, writes: true });
  const commit = [...AUTHOR, "commit-tree", text.trim(), "-p", "HEAD", "-m", "not committed"];
  return (await git.run(commit, { bytes_max: ID_BYTES_MAX, writes: true })).text.trim();
}

async function idOf(git: Git, name: string): Promise<string> {
  const args = ["rev-parse", "--verify", "--quiet", name];
  return (await git.run(args, { bytes_max: ID_BYTES_MAX })).text.trim();
}

async function namesBetween(git: Git, from: string, to: string): Promise<string[]> {
  const args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to];
  const { text } = await git.run(args, { bytes_max: LIST_BYTES_MAX });
  return text.split("\0").slice(0, -1);
}

async function statesOf(
  git: Git,
  { base, head, commit }: {
    readonly base: string;
    readonly head: string;
    readonly commit: string;
  },
): Promise<string[]> {
  const args = ["rev-list", "--first-parent", `--max-count=${COMMITS_MAX}`, `${base}..${head}`];
  const { text } = await git.run(args, { bytes_max: LIST_BYTES_MAX });
  const commits = text.split("\n").filter((line) => line !== "").toReversed();
  return commit === head && commits.length > 0 ? commits : [...commits, commit];
}

async function importsOf(
  git: Git,
  commit: string,
  files: readonly string[],
): Promise<ImportLine[]> {
  if (files.length === 0) return [];
  const search = ["grep", "-I", "-z", "-E", "--no-color", "-e", IMPORTS, commit, "--"];
  const args = [...search, ...files.slice(0, READ_FILES_MAX)];
  // Exit 1: no line was found.
  const { text } = await git.run(args, { bytes_max: IMPORT_BYTES_MAX, allowed: [0, 1] });
  return text.split("\n").flatMap((found) => {
    const [place = "", line] = found.split("\0");
    return line === undefined ? [] : [{ path: place.slice(commit.length + 1), line }];
  });
}
