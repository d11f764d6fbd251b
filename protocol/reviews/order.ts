/** The order of reviews, and the line that explains the place of each. No I/O. */

import type { Review, ReviewRank } from "protocol/reviews/contract.ts";

/** The facts of a review that decide its place. */
export type RankFacts = Omit<ReviewRank, "words"> & {
  readonly lines: number;
  readonly files: number;
};

type Ranked = Pick<Review, "review_id" | "state" | "added" | "removed" | "files_total" | "rank">;

const STATE_ORDER: readonly Review["state"][] = [
  "ready",
  "sent_back",
  "working",
  "accepted",
  "out",
];

/**
 * Sorts by state, then by the work that waits, most first; then by risk, least first: of two that
 * hold up as much, the one that is reviewed sooner unblocks sooner.
 */
export function byRank(a: Ranked, b: Ranked): number {
  return STATE_ORDER.indexOf(a.state) - STATE_ORDER.indexOf(b.state) ||
    waitingOf(b.rank) - waitingOf(a.rank) ||
    sinceOf(a.rank) - sinceOf(b.rank) ||
    riskOf(factsOf(a)) - riskOf(factsOf(b)) ||
    (a.review_id < b.review_id ? -1 : 1);
}

/** The number of asks and jobs that wait for the author. */
function waitingOf({ waiting_asks, waiting_jobs }: RankOf): number {
  return waiting_asks + waiting_jobs;
}

type RankOf = Pick<ReviewRank, "waiting_asks" | "waiting_jobs">;

function sinceOf({ waiting_since }: Pick<ReviewRank, "waiting_since">): number {
  return waiting_since ?? Number.MAX_SAFE_INTEGER;
}

/** Lines that a new file, and a failing neighbour, count as. */
const NEW_FILE_LINES = 20;
const FAILING_LINES = 500;

/** The effort and the danger of a review, as a number of lines. */
export function riskOf({ lines, files, new_files, failing_neighbours }: Omit<
  RankFacts,
  keyof RankOf | "waiting_since"
>): number {
  return lines + files + (new_files ?? 0) * NEW_FILE_LINES + failing_neighbours * FAILING_LINES;
}

function factsOf({ added, removed, files_total, rank }: Ranked) {
  return { ...rank, lines: added + removed, files: files_total };
}

/** Such as `waits: 2 asks, 1 job · 340 lines in 4 files · 3 new files · 1 failing neighbour`. */
export function rankWords(facts: RankFacts): string {
  const { waiting_asks, waiting_jobs, lines, files, new_files, failing_neighbours } = facts;
  const waits = [
    ...(waiting_asks > 0 ? [counted(waiting_asks, "ask")] : []),
    ...(waiting_jobs > 0 ? [counted(waiting_jobs, "job")] : []),
  ];
  return [
    ...(waits.length > 0 ? [`waits: ${waits.join(", ")}`] : []),
    `${counted(lines, "line")} in ${counted(files, "file")}`,
    ...((new_files ?? 0) > 0 ? [counted(new_files ?? 0, "new file")] : []),
    ...(failing_neighbours > 0 ? [counted(failing_neighbours, "failing neighbour")] : []),
  ].join(" · ");
}

export function counted(count: number, word: string): string {
  return `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;
}
