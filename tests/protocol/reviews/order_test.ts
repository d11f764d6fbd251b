/** The order of reviews, its explanation, and the place of a commented line. */

import assert from "node:assert/strict";
import { lineNow, lineWords } from "protocol/reviews/lines.ts";
import { byRank, rankWords, riskOf } from "protocol/reviews/order.ts";

const NO_WAITS = { waiting_asks: 0, waiting_jobs: 0, waiting_since: null };
const CALM = { new_files: 0, failing_neighbours: 0 };

function review(review_id: string, more: Record<string, unknown> = {}) {
  const { state = "ready", lines = 10, ...rank } = more;
  return {
    review_id,
    state: state as "ready",
    added: Number(lines),
    removed: 0,
    files_total: 1,
    rank: { ...NO_WAITS, ...CALM, words: "", ...rank },
  };
}

Deno.test("what holds up most work comes first, then the longest wait, then the least risk [4.reviews.order]", () => {
  const sorted = [
    review("large", { lines: 900 }),
    review("small", { lines: 5 }),
    review("failing", { lines: 5, failing_neighbours: 1 }),
    review("late", { waiting_asks: 1, waiting_since: 200 }),
    review("early", { waiting_jobs: 1, waiting_since: 100 }),
    review("two", { waiting_asks: 1, waiting_jobs: 1, lines: 5_000 }),
    review("accepted", { state: "accepted", waiting_asks: 9 }),
    review("working", { state: "working", waiting_asks: 9 }),
  ].sort(byRank).map(({ review_id }) => review_id);
  assert.deepEqual(
    sorted,
    ["two", "early", "late", "small", "failing", "large", "working", "accepted"],
  );
});

Deno.test("new files and failing neighbours add to the risk, unknown ones do not", () => {
  const facts = { lines: 10, files: 2, ...CALM };
  assert.equal(riskOf(facts), 12);
  assert.ok(riskOf({ ...facts, new_files: 1 }) > riskOf(facts));
  assert.ok(riskOf({ ...facts, failing_neighbours: 1 }) > riskOf({ ...facts, new_files: 1 }));
  assert.equal(riskOf({ ...facts, new_files: null }), riskOf(facts));
});

Deno.test("a line explains the place of a review", () => {
  const facts = { ...NO_WAITS, ...CALM, lines: 340, files: 1 };
  assert.equal(rankWords(facts), "340 lines in 1 file");
  assert.equal(
    rankWords({
      ...facts,
      files: 4,
      waiting_asks: 2,
      waiting_jobs: 1,
      new_files: 3,
      failing_neighbours: 1,
    }),
    "waits: 2 asks, 1 job · 340 lines in 4 files · 3 new files · 1 failing neighbour",
  );
});

Deno.test("a commented line is here, moved, gone or unknown [4.reviews.comment]", () => {
  const lines = ["a", "b", "a", "c"];
  assert.deepEqual(lineNow({ line: 2, text: "b" }, lines), { state: "here", line: 2 });
  assert.deepEqual(lineNow({ line: 4, text: "a" }, lines), { state: "moved", line: 3 });
  assert.deepEqual(lineNow({ line: 900, text: "a" }, lines), { state: "moved", line: 3 });
  assert.deepEqual(lineNow({ line: 1, text: "z" }, lines), { state: "gone", line: null });
  assert.deepEqual(lineNow({ line: 1, text: "a" }, undefined), { state: "unknown", line: null });
  assert.equal(lineWords({ state: "moved", line: 3 }), "the line is now line 3");
});
