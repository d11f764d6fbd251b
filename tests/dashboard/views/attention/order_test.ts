/** The order of the questions on the page. */

import assert from "node:assert/strict";
import type { WaitingAsk } from "protocol/derived/waiting.ts";
import {
  arrange,
  countMisplaced,
  idOf,
  type ShownQuestion,
} from "../../../../dashboard/views/attention/order.ts";

const waitingAsks = (...ids: string[]) =>
  ids.map((correlation_id) => ({ ask: { correlation_id } }) as WaitingAsk);
const none = { attended: false, isKept: () => false };
const ids = (shown: readonly ShownQuestion[]) =>
  shown.map((question) => idOf(question) + (question.ended ? "!" : ""));

Deno.test("questions that nobody looks at are in the order of urgency", () => {
  const before = arrange([], waitingAsks("b", "c"), none);
  assert.deepEqual(ids(arrange(before, waitingAsks("a", "b", "c"), none)), ["a", "b", "c"]);
});

Deno.test("a new question comes last while a person looks at the questions", () => {
  const before = arrange([], waitingAsks("b", "c"), none);
  const now = waitingAsks("a", "b", "d");
  const shown = arrange(before, now, { ...none, attended: true });
  assert.deepEqual(ids(shown), ["b", "a", "d"]);
  assert.equal(countMisplaced(shown, now), 1);
});

Deno.test("a question that a person was about to answer keeps its position when it ends", () => {
  const before = arrange([], waitingAsks("a", "b", "c"), none);
  const isKept = (id: string) => id === "b";
  const shown = arrange(before, waitingAsks("a", "c"), { attended: false, isKept });
  assert.deepEqual(ids(shown), ["a", "b!", "c"]);
  assert.deepEqual(ids(arrange(shown, waitingAsks("c"), none)), ["b!", "c"]);
  assert.equal(countMisplaced(shown, waitingAsks("a", "c")), 0);
});
