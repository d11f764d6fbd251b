/** Routes of what changed in the folder of a peer or of a job: git's status and diff, read only. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { Instant, queryInteger, Sender } from "kit/core/schema.ts";
import { contract } from "protocol/contract.ts";
import { onePeer, PEER_FAILS } from "protocol/peers/record.ts";

/** Maximum files with their changed lines in one answer. */
export const DIFFS_MAX = 200;
/** Maximum files that an answer lists. */
export const LISTED_MAX = 1_000;
const DIFFS_DEFAULT = 100;
const PATH_CHARS_MAX = 4_096;

const Count = z.number().int();

export const Hunk = z.object({
  old_start: Count,
  new_start: Count,
  /** Each line begins with its sign: a space, `+`, `-`, or `\` for a remark on the line above. */
  lines: z.array(z.string()),
});

export const FileStatus = z.enum([
  "added",
  "modified",
  "deleted",
  "renamed",
  "type_changed",
  "unmerged",
  "untracked",
  "submodule",
]);

export const ChangedFile = z.object({
  /** From the root of the repository. Hidden characters are shown by their numbers. */
  path: z.string(),
  /** The path before, of a renamed file. */
  old_path: z.string().nullable(),
  status: FileStatus,
  /** The place of a change that no commit holds yet: the index, the folder, or both; else null. */
  uncommitted: z.enum(["staged", "unstaged", "both"]).nullable(),
  /** Lines; null if the file is binary or was not counted. */
  added: Count.nullable(),
  removed: Count.nullable(),
  /** True if the file is not text, if git is told so, or if it is too large. */
  binary: z.boolean(),
  /** Null if this answer does not have them. */
  hunks: z.array(Hunk).nullable(),
  /** True if lines of `hunks` are left out or shortened. */
  cut: z.boolean(),
}).meta({ id: "ChangedFile" });
export type ChangedFile = z.output<typeof ChangedFile>;

/**
 * The commit to compare with. `how`: where the branch left its upstream or the default branch;
 * `head` if no such branch is known, `unrelated` if it has no commit in common with it, `empty` if
 * there is no commit.
 */
export const BranchPoint = z.object({
  commit: z.string().nullable(),
  how: z.enum(["upstream", "default_branch", "head", "unrelated", "empty"]),
  /** The branch, such as `origin/main`. */
  ref: z.string().nullable(),
});
export type BranchPoint = z.output<typeof BranchPoint>;

export const CHANGES_STATES = [
  "ok",
  "no_folder",
  "no_repository",
  "bare",
  "elsewhere",
  "unsupported",
  "git_missing",
  "git_failed",
  "too_slow",
] as const;
export const ChangesState = z.enum(CHANGES_STATES);
export type ChangesState = z.output<typeof ChangesState>;

export const Changes = z.object({
  /** `ok`, or why there are no changes to show; `detail` says it in a sentence. */
  state: ChangesState,
  detail: z.string().nullable(),
  /** The folder; only changes inside of it are shown. */
  folder: z.string().nullable(),
  /** The root of the repository. */
  root: z.string().nullable(),
  /** Null on no branch. */
  branch: z.string().nullable(),
  head: z.string().nullable(),
  base: BranchPoint.nullable(),
  /** Commits since the base. */
  commits: Count.nullable(),
  /** The operation that is not finished, such as `merge`. */
  operation: z.string().nullable(),
  /** Sums of the listed files' counted lines. */
  added: Count,
  removed: Count,
  files_total: Count,
  files: z.array(ChangedFile),
  /** The `offset` of the next files whose hunks may be asked for; null if these were the last. */
  next: Count.nullable(),
  /** The missing parts, and the reasons. */
  left_out: z.array(z.object({ what: z.string(), why: z.string() })),
  /** Secrets masked in the hunks. */
  masked: Count,
  read_at: Instant,
}).meta({ id: "Changes" });
export type Changes = z.output<typeof Changes>;

const Query = {
  offset: queryInteger(0).default(0).describe("Number of files to skip"),
  limit: queryInteger(0, DIFFS_MAX).default(DIFFS_DEFAULT)
    .describe(
      "The number of files with their changed lines; 0 for the list of files and the counts",
    ),
  file: z.string().min(1).max(PATH_CHARS_MAX).optional()
    .describe("Only this file, as the list names it, with more of its lines"),
};
export interface ChangesQuery {
  readonly offset: number;
  readonly limit: number;
  readonly file?: string | undefined;
}

const FAILS = ["human_not_proven", "not_your_changes", "unknown_changed_file"] as const;

export const readChanges = contract({
  id: "changes.read",
  method: "GET",
  path: "/peers/:id/changes",
  summary: "What changed in a peer's folder since its branch began: git's status and diff",
  ...onePeer,
  tunnel: "admin",
  query: onePeer.query.extend(Query),
  actor: NO_ACTOR,
  returns: Changes.extend({ peer_id: z.string(), name: z.string() }),
  fails: [...FAILS, "changes_elsewhere", ...PEER_FAILS, "other_host"],
});

export const readJobChanges = contract({
  id: "changes.read_job",
  method: "GET",
  path: "/jobs/:id/changes",
  summary: "What changed in the folder of a job: git's status and diff",
  access: "caller",
  tunnel: "admin",
  params: z.object({ id: z.string() }),
  query: z.object({ from_peer: Sender.optional(), ...Query }),
  actor: NO_ACTOR,
  returns: Changes.extend({ job_id: z.string() }),
  fails: [...FAILS, "unknown_job"],
});
