/** What was thrown: as text, and as a refusal to carry on after. */

import assert from "node:assert/strict";
import { messageOf } from "kit/core/text.ts";
import { Problem, recoverableProblem } from "kit/core/problem.ts";

Deno.test("the message of an error is its own, of anything else that was thrown its text", () => {
  assert.equal(messageOf(new TypeError("no such host")), "no such host");
  assert.deepEqual(["text", 7, null, undefined].map(messageOf), ["text", "7", "null", "undefined"]);
});

Deno.test("a Problem is a refusal; a failed write and any other error are not", () => {
  const problem = new Problem("unknown_peer", { peer: "api" });
  assert.equal(recoverableProblem(problem), problem);
  assert.equal(recoverableProblem(new Problem("storage_failed", {})), undefined);
  assert.equal(recoverableProblem(new Error("broken")), undefined);
  assert.equal(recoverableProblem("broken"), undefined);
});
