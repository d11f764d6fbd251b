/** Every reason of a delivery has a sentence. */

import assert from "node:assert/strict";
import type { Readiness, Receipt } from "../../daemon/features/agents/adapter.ts";
import { type Reason, REASONS, sentenceOf } from "protocol/reasons.ts";
import { formatReason } from "protocol/derived/delivery_state.ts";

Deno.test("each reason has a sentence that is not its code", () => {
  for (const [code, sentence] of Object.entries(REASONS)) {
    assert.equal(formatReason(code), sentence);
    assert.match(sentence, /^[a-z].* .*[a-z0-9]$/, code);
    assert.doesNotMatch(sentence, /_/, code);
  }
});

Deno.test("an unknown reason is shown as words", () => {
  assert.equal(sentenceOf("out_of_paper"), "out of paper");
  assert.equal(sentenceOf("toString"), "toString");
  assert.equal(sentenceOf("The disk is full"), "The disk is full");
});

Deno.test("two transports with one name and one reason are told of once", () => {
  const text = formatReason("native: no_server; native: no_server; pane: no_pane");
  assert.equal(
    text,
    `its agent's own queue: ${REASONS.no_server}; its terminal: ${REASONS.no_pane}`,
  );
});

Deno.test("a reason without a sentence does not compile", () => {
  // @ts-expect-error It has no sentence.
  const readiness: Readiness = { ready: false, reason: "out_of_paper" };
  // @ts-expect-error It has no sentence.
  const receipt: Receipt = { state: "refused", reason: "out_of_paper" };
  const known: Reason = "dialog_open";
  assert.ok(!readiness.ready && receipt.state === "refused" && known in REASONS);
});
