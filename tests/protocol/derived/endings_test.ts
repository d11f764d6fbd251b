/** Text on a question's end, for a person who was about to answer it. */

import assert from "node:assert/strict";
import type { Ask } from "../../../dashboard/state/records.ts";
import { endingOf } from "protocol/derived/endings.ts";

const options = [{ id: "yes", title: "Run it" }];
const asked = { from_peer_name: "db", to_peer_name: "sam", question: { kind: "choice", options } };
const end = (fields: Record<string, unknown>) =>
  endingOf(
    {
      ...asked,
      responder: null,
      answer: null,
      reply: null,
      close_reason: null,
      ...fields,
    } as unknown as Ask,
  );

Deno.test("an ending says who ended the question, and how", () => {
  const answered = { outcome: "answered", responder: "sam", answer: { option_id: "yes" } };
  assert.equal(end(answered), "sam answered: Run it");
  assert.equal(end({ outcome: "answered", responder: "sam", reply: "no" }), "sam answered: no");
  assert.equal(end({ outcome: "cancelled" }), "It was cancelled by db.");
  assert.equal(end({ outcome: "cancelled", responder: "sam" }), "It was cancelled by sam.");
  assert.equal(end({ outcome: "declined", responder: "sam" }), "sam declined it.");
  assert.equal(end({ outcome: "acknowledged", responder: "sam" }), "sam acknowledged it.");
  assert.equal(end({ outcome: "allowed_there" }), "It was allowed in the agent's own terminal.");
  assert.equal(end({ outcome: "denied_there" }), "It was denied in the agent's own terminal.");
  assert.match(end({ outcome: "ended_there" }), /ended in the agent's own terminal; how is not/);
  assert.match(end({ outcome: "denied" }), /counts as denied/);
  assert.match(end({ outcome: "failed", close_reason: "evicted" }), /nobody answered it in time/);
  assert.match(end({ outcome: "failed", close_reason: "peer_retired" }), /has left/);
});
