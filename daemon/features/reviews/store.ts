/** SQL of reviews and of the comments on their lines, one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { DiffSide } from "protocol/reviews/contract.ts";

const nullableString = z.string().nullable();
const Count = z.number().int();

/** The changes of a folder as git listed them. */
export const Summary = z.object({
  digest: nullableString,
  inexact: nullableString,
  root: z.string(),
  repository: z.string(),
  branch: nullableString,
  head: nullableString,
  added: Count,
  removed: Count,
  files_total: Count,
  /** The names of the listed files, as they are shown. */
  paths: z.array(z.string()),
  /** Files that the author had not written before its task; null if that is not known. */
  new_files: Count.nullable(),
});
export type Summary = z.output<typeof Summary>;

export const StoredReview = z.object({
  review_id: z.string(),
  folder: z.string(),
  /** Null if the folder has no changes that can be read. */
  summary: Summary.nullable(),
  read_at: Instant.nullable(),
  /** The ask that a peer of the folder answered last. */
  task_id: nullableString,
  placed: z.enum(["in", "out"]).nullable(),
  decision: z.enum(["accepted", "sent_back"]).nullable(),
  decided_at: Instant.nullable(),
  decided_by: nullableString,
  decision_digest: nullableString,
  /** The ask by which it was sent back. */
  correlation_id: nullableString,
});
export type StoredReview = z.output<typeof StoredReview>;

const table = tableOf("reviews", StoredReview, "review_id");
export const { insert, update, get } = table;

export function ofFolder(db: Reader, folder: string): StoredReview | undefined {
  return table.all(db, "where folder = :folder", { folder })[0];
}

export function all(db: Reader): StoredReview[] {
  return table.all(db, "order by review_id");
}

/** The reviews whose work trees share this repository. */
export function ofRepository(db: Reader, repository: string): StoredReview[] {
  return table.all(db, "where summary ->> 'repository' = :repository", { repository });
}

/** Removes reviews that were not read since then; nothing waits in them. */
export function prune(tx: Tx, before: number): void {
  tx.run("delete from reviews where read_at < :before", { before });
}

export const StoredComment = z.object({
  comment_id: z.string(),
  review_id: z.string(),
  file: z.string(),
  side: DiffSide,
  line: Count,
  line_text: z.string(),
  blob: nullableString,
  text: z.string(),
  correlation_id: z.string(),
  at: Instant,
});
export type StoredComment = z.output<typeof StoredComment>;

const comments = tableOf("review_comments", StoredComment, "comment_id");
export const { insert: insertComment } = comments;

/** Maximum comments of a review that are shown, the latest ones. */
const COMMENTS_SHOWN_MAX = 200;

export function commentsOf(db: Reader, review_id: string): StoredComment[] {
  const rest = "where review_id = :review_id order by at desc, comment_id desc limit :limit";
  return comments.all(db, rest, { review_id, limit: COMMENTS_SHOWN_MAX }).toReversed();
}

const CommentAsk = StoredComment.pick({ review_id: true, correlation_id: true });

/** The asks of the comments since then, with their reviews. */
export function commentAsks(db: Reader, since: number) {
  const columns = "review_id, correlation_id";
  return db.all(CommentAsk, `select ${columns} from review_comments where at >= :since`, { since });
}

/** The comment that an ask is; undefined for any other ask. */
export function commentOfAsk(db: Reader, correlation_id: string): StoredComment | undefined {
  return comments.all(db, "where correlation_id = :correlation_id", { correlation_id })[0];
}

/** True if a person sent this ask about a review: a comment, or the changes back. */
export function isOfReview(db: Reader, correlation_id: string): boolean {
  const statement = `select 1 from review_comments where correlation_id = :correlation_id
    union all select 1 from reviews where correlation_id = :correlation_id limit 1`;
  return db.value(z.number(), statement, { correlation_id }) !== undefined;
}

export function pruneComments(tx: Tx, before: number): void {
  tx.run("delete from review_comments where at < :before", { before });
}
