/** Reviews: changes of agents that are ready for a person, with the person's decisions. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { DisplayText, Instant, QueryFlag, Sender, shortText, Text } from "kit/core/schema.ts";
import { Changes, DIFFS_MAX } from "protocol/changes.ts";
import { contract, nullableString } from "protocol/contract.ts";
import { queryInteger } from "kit/core/schema.ts";
import { Chain } from "protocol/origins/record.ts";
import { SHORT_DIGEST_CHARS } from "protocol/reviews/digests.ts";
import { PEER_FAILS } from "protocol/peers/record.ts";
import { TARGET_FAILS } from "protocol/messages/contract.ts";

/** Maximum reviews of a list, and of a request that accepts several. */
export const REVIEWS_MAX = 500;
export const ACCEPTED_MAX = 100;
/** Maximum comments that are sent together, and maximum characters of one. */
export const COMMENTS_MAX = 20;
export const COMMENT_CHARS_MAX = 8_000;
const PATH_CHARS_MAX = 4_096;

const Count = z.number().int();

/**
 * The state of a review. `working`: an agent works in the folder, or waits there for an answer.
 * `sent_back`: its author has not yet answered. `accepted`: a person has accepted exactly this
 * diff. `out`: a person has taken it out of the queue.
 */
export const ReviewState = z.enum(["ready", "working", "sent_back", "accepted", "out"]);
export type ReviewState = z.output<typeof ReviewState>;

/** The side of a diff that a line is on. */
export const DiffSide = z.enum(["new", "old"]);
export type DiffSide = z.output<typeof DiffSide>;

/** The facts that decide the place of a review in the queue. */
export const ReviewRank = z.object({
  /** Open asks to its author, jobs that it has not begun, and the time of the oldest ask. */
  waiting_asks: Count,
  waiting_jobs: Count,
  waiting_since: Instant.nullable(),
  /** Changed files that the author had not written before this task; null if that is not known. */
  new_files: Count.nullable(),
  /** Peers whose work fails together with it, or shares files with it and its last job failed. */
  failing_neighbours: Count,
  /** The facts in a line, such as `waits: 2 asks · 340 lines · 3 new files`. */
  words: z.string(),
});
export type ReviewRank = z.output<typeof ReviewRank>;

const Author = z.object({
  peer_id: z.string(),
  name: z.string(),
  backend: nullableString,
  circle: z.string(),
  status: z.string(),
});

export const Review = z.object({
  review_id: z.string(),
  state: ReviewState,
  /** The peer to which comments go: the peer of the folder with the latest task or turn. */
  author: Author,
  /** Names of other peers with the same folder. */
  others: z.array(z.string()),
  folder: z.string(),
  /** The folder that all work trees of the repository share. */
  repository: z.string(),
  branch: nullableString,
  head: nullableString,
  /** Identifies exactly this diff; null if the diff is too large to be compared. */
  digest: nullableString,
  /** The reason why the diff is not compared exactly; null if it is. */
  inexact: nullableString,
  added: Count,
  removed: Count,
  files_total: Count,
  /** The ask or the job whose result this is; null if none is known. */
  task: z.object({
    kind: z.enum(["ask", "job"]),
    id: z.string(),
    title: z.string(),
    state: z.string(),
    /** The name of the peer that asked. */
    from: nullableString,
    /** The beginning of its chain; null if that is not known. */
    chain: Chain.nullable(),
    ended_at: Instant.nullable(),
  }).nullable(),
  /** Names of peers whose work fails together with it, by the last joint check. */
  fails_with: z.array(z.string()),
  /** The outcomes of the job's checks, or of the checks and claims of the answer. */
  checks: z.array(z.object({ name: z.string(), passed: z.boolean() })),
  /** Tokens of the chain that the author works on; null if none were counted. */
  cost: z.object({
    chain: z.string(),
    input_tokens: Count.nullable(),
    output_tokens: Count.nullable(),
    cost: z.number().nullable(),
    currency: nullableString,
  }).nullable(),
  /** Other reviews that change some of the same files. */
  joined: z.array(z.object({
    review_id: z.string(),
    name: z.string(),
    /** At most 20 of the files. */
    files: z.array(z.string()),
    files_total: Count,
  })),
  rank: ReviewRank,
  /** The latest decision of a person. */
  decision: z.object({
    kind: z.enum(["accepted", "sent_back"]),
    at: Instant,
    by: z.string(),
    /** False if the diff has changed since. */
    is_current: z.boolean(),
    /** The ask by which it was sent back. */
    correlation_id: nullableString,
  }).nullable(),
  /** Set by a person who put it into the queue or took it out. */
  placed: z.enum(["in", "out"]).nullable(),
  comments: z.object({ sent: Count, answered: Count }),
  read_at: Instant,
  /** True if the folder is read again soon: the numbers are those of `read_at`. */
  is_due: z.boolean(),
}).meta({ id: "Review" });
export type Review = z.output<typeof Review>;

/**
 * A commented line now. `here`: at its number. `moved`: the same text is at the number `line`.
 * `gone`: the file no longer has it. `unknown`: the file cannot be read.
 */
export const LineNow = z.object({
  state: z.enum(["here", "moved", "gone", "unknown"]),
  line: Count.nullable(),
});
export type LineNow = z.output<typeof LineNow>;

export const ReviewComment = z.object({
  comment_id: z.string(),
  file: z.string(),
  side: DiffSide,
  line: Count,
  /** The line as it was, with secrets masked. */
  line_text: z.string(),
  /** git's id of the file as it was; null if it was too large. */
  blob: nullableString,
  text: z.string(),
  at: Instant,
  now: LineNow,
  /** The ask that carries the comment. */
  correlation_id: z.string(),
  /** Its state; null once the ask was removed by age. */
  ask_state: nullableString,
  outcome: nullableString,
  seen_at: Instant.nullable(),
  reply: nullableString,
}).meta({ id: "ReviewComment" });
export type ReviewComment = z.output<typeof ReviewComment>;

const Elsewhere = {
  machine: z.string().min(1).max(255).optional().describe(
    "Another machine, by its name or daemon id; only for a person",
  ),
};
const params = z.object({ id: z.string().describe("A review's id, or its peer's id or name") });
const ELSEWHERE_FAILS = ["reviews_elsewhere", "unknown_machine_name"] as const;
const PERSON_FAILS = ["human_not_proven", "no_human", ...ELSEWHERE_FAILS] as const;
const ONE_FAILS = ["unknown_review", ...PEER_FAILS] as const;

const SeenDigest = z.string().min(SHORT_DIGEST_CHARS).max(100).optional().describe(
  "The digest of the diff that the person has seen, or its first 8 or more characters; without " +
    "it, the diff as it is now",
);

export const listReviews = contract({
  id: "reviews.list",
  method: "GET",
  path: "/reviews",
  summary: "The changes that are ready for a person, in the order in which to review them",
  access: "caller",
  tunnel: "admin",
  query: z.object({
    all: QueryFlag.optional().describe("With true, also those that are not ready"),
    limit: queryInteger(0, REVIEWS_MAX).default(REVIEWS_MAX).describe("0 for the counts alone"),
    fresh: QueryFlag.optional().describe(
      "With true, reads the folders first, as far as 10 s allow",
    ),
    from_peer: Sender.optional(),
    ...Elsewhere,
  }),
  actor: NO_ACTOR,
  returns: z.object({
    reviews: z.array(Review),
    /** Folders that were never read and are to be read now, with their authors. */
    unread: z.array(z.object({ author: Author, folder: z.string() })),
    /** Number of ready reviews, and of folders that are being read. */
    ready: Count,
    reading: Count,
  }),
  fails: ["human_not_proven", ...ELSEWHERE_FAILS],
});
export type ReviewList = z.output<typeof listReviews.returns>;

export const readReview = contract({
  id: "reviews.read",
  method: "GET",
  path: "/reviews/:id",
  summary: "A review with its diff and the comments on its lines",
  access: "caller",
  tunnel: "admin",
  params,
  query: z.object({
    offset: queryInteger(0).default(0).describe("Number of files to skip"),
    limit: queryInteger(0, DIFFS_MAX).default(DIFFS_MAX)
      .describe("The number of files with their changed lines"),
    file: z.string().min(1).max(PATH_CHARS_MAX).optional().describe("Only this file"),
    from_peer: Sender.optional(),
    ...Elsewhere,
  }),
  actor: NO_ACTOR,
  returns: z.object({ review: Review, changes: Changes, comments: z.array(ReviewComment) }),
  fails: [
    "human_not_proven",
    "not_your_changes",
    "unknown_changed_file",
    ...ONE_FAILS,
    ...ELSEWHERE_FAILS,
  ],
});
export type ReviewDetail = z.output<typeof readReview.returns>;

export const acceptReviews = contract({
  id: "reviews.accept",
  method: "POST",
  path: "/reviews",
  summary: "Record that a person accepts exactly these diffs; nothing is merged or pushed",
  access: "caller",
  tunnel: "admin",
  body: z.object({
    reviews: z.array(z.object({
      id: z.string(),
      digest: SeenDigest,
    })).min(1).max(ACCEPTED_MAX),
    ...Elsewhere,
  }),
  actor: NO_ACTOR,
  returns: z.object({
    /** One result for each review, in the order of the request. */
    results: z.array(z.object({
      id: z.string(),
      accepted: z.boolean(),
      /** The reason why it was not accepted. */
      detail: nullableString,
    })),
  }),
  fails: PERSON_FAILS,
});

const sent = z.object({ ok: z.literal(true), correlation_ids: z.array(z.string()) });
const SEND_FAILS = [
  ...PERSON_FAILS,
  ...ONE_FAILS,
  ...TARGET_FAILS,
  "queue_full",
  "rate_limited",
  "hop_limit",
  "budget_spent",
] as const;

export const sendBackReview = contract({
  id: "reviews.send_back",
  method: "POST",
  path: "/reviews/:id/send-back",
  summary: "Send changes back to their author with a text, as an ask",
  access: "caller",
  tunnel: "admin",
  params,
  idempotent: true,
  body: z.object({ text: Text, digest: SeenDigest, ...Elsewhere }),
  actor: NO_ACTOR,
  returns: sent,
  fails: [...SEND_FAILS, "diff_changed"],
});

export const commentReview = contract({
  id: "reviews.comment",
  method: "POST",
  path: "/reviews/:id/comments",
  summary: "Send comments on lines to the author of the changes, each as an ask; all or none",
  access: "caller",
  tunnel: "admin",
  params,
  idempotent: true,
  body: z.object({
    comments: z.array(z.object({
      file: z.string().min(1).max(PATH_CHARS_MAX).describe("The file, as the list names it"),
      line: z.number().int().min(1).max(100_000_000),
      side: DiffSide.default("new").describe("`old` for a removed line, by its number before"),
      text: shortText(COMMENT_CHARS_MAX, 1),
      seen: DisplayText.max(PATH_CHARS_MAX).optional().describe(
        "The line as the person saw it; if it is another now, nothing is sent",
      ),
    })).min(1).max(COMMENTS_MAX),
    ...Elsewhere,
  }),
  actor: NO_ACTOR,
  returns: sent,
  fails: [...SEND_FAILS, "unknown_changed_file", "no_such_line", "line_changed"],
});
export type GivenComment = z.output<typeof commentReview.body>["comments"][number];

export const placeReview = contract({
  id: "reviews.place",
  method: "POST",
  path: "/reviews/:id/place",
  summary: "Put changes into the queue although an agent works there, or take them out of it",
  access: "caller",
  tunnel: "admin",
  params,
  body: z.object({
    placed: z.enum(["in", "out"]).nullable().describe("Null leaves it to the state of the work"),
    ...Elsewhere,
  }),
  actor: NO_ACTOR,
  returns: z.object({ ok: z.literal(true) }),
  fails: [...PERSON_FAILS, ...ONE_FAILS],
});
