/** Replies and asks are matched in whatever order they come. */

import assert from "node:assert/strict";
import { AskEnded, AskTimeout } from "../../../clients/typescript/errors.ts";
import type { Reply } from "../../../clients/typescript/messages.ts";
import { Replies } from "../../../clients/typescript/replies.ts";

const ANSWERED = { outcome: "answered", close_reason: "ack_with_msg", text: "yes" };

function replyTo(correlationId: string): Reply {
  const from = { from: "api", fromId: null, voice: "peer", attachments: [] } as const;
  return { correlationId, text: "yes", ...from };
}

Deno.test("a reply that comes before the id of its ask is kept for it", async () => {
  const replies = new Replies();
  const expected = replies.expect();
  replies.take(replyTo("ask-1"), ANSWERED);
  assert.equal((await expected.reply("ask-1", undefined)).text, "yes");
});

Deno.test("a reply that nobody waits for is late, once no ask can have its id", () => {
  const replies = new Replies();
  const late: string[] = [];
  replies.onLate = ({ correlationId }) => void late.push(correlationId);
  const expected = replies.expect();
  replies.take(replyTo("ask-of-before"), ANSWERED);
  assert.deepEqual(late, []);
  expected.forget();
  assert.deepEqual(late, ["ask-of-before"]);
});

Deno.test("an ask that times out rejects, and its reply is late", async () => {
  const replies = new Replies();
  const late: string[] = [];
  replies.onLate = ({ correlationId }) => void late.push(correlationId);
  await assert.rejects(replies.expect().reply("ask-1", 0), AskTimeout);
  replies.take(replyTo("ask-1"), ANSWERED);
  assert.deepEqual(late, ["ask-1"]);
});

Deno.test("an ask that ends without an answer rejects with the reason", async () => {
  const replies = new Replies();
  const waiting = replies.expect().reply("ask-1", undefined);
  replies.take(replyTo("ask-1"), { outcome: "failed", close_reason: "peer_retired", text: null });
  await assert.rejects(
    waiting,
    (error) => error instanceof AskEnded && error.closeReason === "peer_retired",
  );
});
