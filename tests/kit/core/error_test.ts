/** Thrown values: their messages, and which are recoverable refusals. */

import assert from "node:assert/strict";
import { messageOf } from "kit/core/text.ts";
import { Problem, recoverableProblem } from "protocol/problems.ts";

Deno.test("messageOf returns the message of an error, and the text of any other value", () => {
  assert.equal(messageOf(new TypeError("no such host")), "no such host");
  assert.deepEqual(["text", 7, null, undefined].map(messageOf), ["text", "7", "null", "undefined"]);
});

Deno.test("a Problem is recoverable, but storage_failed and other errors are not", () => {
  const problem = new Problem("unknown_peer", { peer: "api" });
  assert.equal(recoverableProblem(problem), problem);
  assert.equal(recoverableProblem(new Problem("storage_failed", {})), undefined);
  assert.equal(recoverableProblem(new Error("broken")), undefined);
  assert.equal(recoverableProblem("broken"), undefined);
});
