/** Reads what changed in a folder since its branch began, within limits on time, memory, size. */

import { showHiddenOnLine } from "kit/core/hidden.ts";
import { readWhole } from "../../../host/agent_files.ts";
import { join } from "kit/core/path.ts";
import { type BranchPoint, type ChangedFile, LISTED_MAX } from "protocol/changes.ts";
import { comparisonOf } from "./branch_point.ts";
import { DETAILS } from "../details.ts";
import { Git, GitFailed, type GitHost, type GitResult } from "./git.ts";
import { Budget, type Hunk, hunksByPath, type ListedFile, listedFiles } from "./patch.ts";
import { shownHunks, statusOf } from "./patch.ts";
import { findRepository, operationIn, realPath, type Repository } from "./repository.ts";

/** Maximum bytes of the list of changed files, and of git's status. */
const LIST_BYTES_MAX = 4_194_304;
/** Maximum bytes of changed lines that are read for one answer. */
const PATCH_BYTES_MAX = 4_194_304;
/** Maximum bytes of an answer's changed lines, so that it can be sent to another machine. */
export const SHOWN_BYTES_MAX = 600_000;
/** Maximum lines of a file in an answer on many files, and on this file alone. */
export const LINES_MAX = { many: 500, alone: 10_000 } as const;
/** A larger untracked file is not read. */
const UNTRACKED_BYTES_MAX = 1_048_576;
/** Maximum bytes of untracked files that are read for one answer. */
const UNTRACKED_TOTAL_MAX = 16_777_216;
/** A file with commented lines is not read beyond this size. */
const LINES_BYTES_MAX = 1_048_576;
/** Bytes in which git looks for a NUL, by which it knows a binary file. */
const BINARY_PROBE = 8_000;

/** Arguments of a diff in which no program of the repository runs. */
export const DIFF = [
  ...["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"],
  ...["--src-prefix=a/", "--dst-prefix=b/", "--abbrev=64", "-M", "-l200"],
];
/** Arguments of a status that looks into no submodule. */
export const STATUS = [
  ...["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"],
  ...["--ignore-submodules=all"],
];

export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

/** The changes in a folder of a repository. */
export interface FolderChanges {
  readonly branch: string | null;
  readonly head: string | null;
  readonly base: BranchPoint;
  readonly commits: number | null;
  readonly operation: string | null;
  readonly files: readonly FoundFile[];
  readonly files_total: number;
  readonly left_out: readonly LeftOut[];
}

/** A changed file, by its own name. */
export interface FoundFile {
  /** The name itself; `file.path` is as it is shown. */
  readonly path: string;
  readonly old_path: string | null;
  /** git's mode, empty for an untracked file. */
  readonly mode: string;
  /** The ids of its content before and after; zeros or empty where git has not read it. */
  readonly before_id: string;
  readonly after_id: string;
  readonly file: ChangedFile;
}

export interface Reading {
  readonly host: GitHost;
  readonly signal: AbortSignal;
}

/** The path that limits git to a folder of the repository. */
function limitTo(folder: string, { root }: Repository): string[] {
  return folder === root ? [] : ["--", folder.slice(root.length + 1)];
}

interface ChangedNames {
  /** Paths from the root of the repository, with git's two letters. */
  readonly names: readonly (readonly [path: string, letters: string])[];
  readonly isCut: boolean;
}

/** The names of the files that are changed since the last commit, or why there are none. */
export async function changedNames(
  path: string | null,
  { host, signal }: Reading,
): Promise<ChangedNames | string> {
  const folder = path === null ? undefined : realPath(path);
  const repository = folder === undefined ? "no_folder" : findRepository(folder);
  if (folder === undefined || typeof repository === "string") {
    return DETAILS[typeof repository === "string" ? repository : "no_folder"] ?? "";
  }
  try {
    await using git = await Git.open(repository, host, signal);
    const args = [...STATUS, ...limitTo(folder, repository)];
    const { text, cut } = await git.run(args, { bytes_max: LIST_BYTES_MAX });
    return { names: [...statusOf(text)], isCut: cut !== null };
  } catch (error) {
    if (error instanceof GitFailed) return DETAILS[error.why] ?? "";
    throw error;
  }
}

/** Lists the changed files with the numbers of their lines. */
export async function listChanges(
  repository: Repository,
  folder: string,
  { host, signal }: Reading,
): Promise<FolderChanges> {
  await using git = await Git.open(repository, host, signal);
  const { tree, ...comparison } = await comparisonOf(git);
  const within = limitTo(folder, repository);
  const list = { bytes_max: LIST_BYTES_MAX };
  const raw = ["--raw", "--numstat", "-z", tree];
  const diff = await git.run([...DIFF, ...raw, ...within], list);
  const status = await git.run([...STATUS, ...within], list);
  const submodules = await git.run([
    ...["diff-index", "--cached", "--raw", "-z", "--abbrev=64", "--ignore-submodules=dirty"],
    ...[tree, ...within],
  ], list);
  const letters = statusOf(status.text);
  const tracked = [
    ...listedFiles(diff.text),
    ...listedFiles(submodules.text).filter(({ isSubmodule }) => isSubmodule),
  ].map((file) => toFound(file, letters.get(file.path)));
  const budget = { bytes: UNTRACKED_TOTAL_MAX };
  const names = [...letters].filter(([, by]) => by === "??").map(([name]) => name);
  const untracked = names.slice(0, LISTED_MAX).map((name) =>
    untrackedFile(repository.root, name, budget)
  );
  const all = [...tracked, ...untracked].sort((a, b) => a.path < b.path ? -1 : 1);
  return {
    ...comparison,
    operation: operationIn(repository),
    files: all.slice(0, LISTED_MAX),
    files_total: tracked.length + names.length,
    left_out: [
      ...missingOf("changed files", diff),
      ...missingOf("untracked files", status),
      ...all.length > LISTED_MAX || names.length > LISTED_MAX
        ? [{
          what: `${tracked.length + names.length - LISTED_MAX} files`,
          why: `an answer lists at most ${LISTED_MAX}`,
        }]
        : [],
    ],
  };
}

function namesOf({ path, old_path }: Pick<FoundFile, "path" | "old_path">): string[] {
  return old_path === null ? [path] : [old_path, path];
}

function missingOf(what: string, { cut }: GitResult): LeftOut[] {
  if (cut === null) return [];
  return [{
    what: `some ${what}`,
    why: cut === "time" ? "git took too long" : "git lists too many",
  }];
}

// deno-fmt-ignore
const STATUSES: Readonly<Record<string, ChangedFile["status"]>> = {
  A: "added", C: "added", D: "deleted", R: "renamed", T: "type_changed", U: "unmerged",
};

function toFound(listed: ListedFile, letters: string | undefined): FoundFile {
  const { path, old_path, letter, isSubmodule, added, removed } = listed;
  const { mode, before_id, after_id } = listed;
  const isUnmerged = /U|AA|DD/.test(letters ?? "");
  return {
    path,
    old_path,
    mode,
    before_id,
    after_id,
    file: {
      path: showHiddenOnLine(path),
      old_path: old_path === null ? null : showHiddenOnLine(old_path),
      status: isSubmodule ? "submodule" : isUnmerged ? "unmerged" : STATUSES[letter] ?? "modified",
      uncommitted: letters === undefined ? null : uncommitted(letters),
      added,
      removed,
      binary: added === null && !isSubmodule && letter !== "U",
      hunks: null,
      cut: false,
    },
  };
}

function uncommitted(letters: string): ChangedFile["uncommitted"] {
  const [staged, unstaged] = [letters.charAt(0) !== " ", letters.charAt(1) !== " "];
  if (staged && unstaged) return "both";
  return staged ? "staged" : "unstaged";
}

/** An untracked file: all its lines are added. */
function untrackedFile(root: string, path: string, budget: { bytes: number }): FoundFile {
  const text = budget.bytes > 0 && !path.endsWith("/")
    ? readWhole(join(root, path), UNTRACKED_BYTES_MAX, { inside: root })
    : undefined;
  budget.bytes -= text?.length ?? 0;
  const isBinary = text === undefined || text.slice(0, BINARY_PROBE).includes("\0");
  const added = text === undefined || isBinary ? null : linesOf(text).length;
  return {
    path,
    old_path: null,
    mode: "",
    before_id: "",
    after_id: "",
    file: {
      path: showHiddenOnLine(path),
      old_path: null,
      status: "untracked",
      uncommitted: "unstaged",
      added,
      removed: added === null ? null : 0,
      binary: isBinary,
      hunks: null,
      cut: false,
    },
  };
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

export interface ShownFiles {
  readonly files: readonly ChangedFile[];
  readonly masked: number;
  readonly left_out: readonly LeftOut[];
}

/** Reads the changed lines of listed files; `alone` if one file is asked for. */
export async function readHunks(
  repository: Repository,
  { base, files, alone }: {
    readonly base: BranchPoint;
    readonly files: readonly FoundFile[];
    readonly alone: boolean;
  },
  { host, secrets, signal }: Reading & { readonly secrets: readonly string[] },
): Promise<ShownFiles> {
  const tracked = files.filter(({ file }) =>
    !file.binary && file.status !== "untracked" && file.status !== "submodule"
  );
  const { hunks, cut } = await patchesOf(repository, { base, files: tracked }, { host, signal });
  const budget = new Budget(SHOWN_BYTES_MAX);
  const lines_max = alone ? LINES_MAX.alone : LINES_MAX.many;
  const shown = files.map(({ path, file }): ChangedFile => {
    const isUntracked = file.status === "untracked" && !file.binary;
    const found = isUntracked ? untrackedHunks(repository.root, path) : hunks.get(path);
    const isMissing = !found && !file.binary && (file.added ?? 0) + (file.removed ?? 0) > 0;
    if (!found || budget.bytes <= 0) return { ...file, cut: isMissing || found !== undefined };
    const visible = shownHunks(found, { secrets, lines_max, budget });
    return { ...file, ...visible, cut: visible.cut || file.added === null };
  });
  const why = cut === "time" ? "git took too long" : "an answer has a limited size";
  const isCut = cut !== null || budget.bytes <= 0;
  return {
    files: shown,
    masked: budget.masked,
    left_out: isCut ? [{ what: "the changed lines of some files", why }] : [],
  };
}

/** The hunks of tracked files by their names. A name is no pattern to git. */
async function patchesOf(
  repository: Repository,
  { base, files }: { readonly base: BranchPoint; readonly files: readonly FoundFile[] },
  { host, signal }: Reading,
): Promise<{ hunks: ReadonlyMap<string, Hunk[]>; cut: GitResult["cut"] }> {
  if (files.length === 0) return { hunks: new Map(), cut: null };
  await using git = await Git.open(repository, host, signal);
  const tree = base.commit ?? (await comparisonOf(git)).tree;
  const { text, cut } = await git.run(
    [...DIFF, "-p", "-U3", tree, "--", ...files.flatMap(namesOf)],
    { bytes_max: PATCH_BYTES_MAX },
  );
  return { hunks: hunksByPath(text), cut };
}

/** The lines of a file in a commit; undefined if it has no such text within the limits. */
export async function readBefore(
  repository: Repository,
  { commit, path }: { readonly commit: string | null; readonly path: string },
  { host, signal }: Reading,
): Promise<string[] | undefined> {
  if (commit === null) return undefined;
  await using git = await Git.open(repository, host, signal);
  const { text, cut } = await git.run(["cat-file", "blob", `${commit}:${path}`], {
    bytes_max: LINES_BYTES_MAX,
    allowed: [0, 128],
  });
  return cut !== null || text === "" || text.slice(0, BINARY_PROBE).includes("\0")
    ? undefined
    : linesOf(text);
}

/** False for a path that leads out of the folder or into `.git`; a tree may have any name. */
export function isOrdinary(path: string): boolean {
  return path.split("/").every((part) => !["", ".", "..", ".git"].includes(part.toLowerCase()));
}

/** The lines of a file as it is now; undefined if it is no text within the limits. */
export function readNow({ root }: Repository, path: string): string[] | undefined {
  if (!isOrdinary(path)) return undefined;
  const text = readWhole(join(root, path), LINES_BYTES_MAX, { inside: root });
  return text === undefined || text.slice(0, BINARY_PROBE).includes("\0")
    ? undefined
    : linesOf(text);
}

function untrackedHunks(root: string, path: string): Hunk[] | undefined {
  const text = readWhole(join(root, path), UNTRACKED_BYTES_MAX, { inside: root });
  if (text === undefined) return undefined;
  const lines = linesOf(text).map((line) => `+${line}`);
  return lines.length === 0 ? [] : [{ old_start: 0, new_start: 1, lines }];
}
