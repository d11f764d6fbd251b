/** Tools that tell something, and want no reply. */

import * as z from "zod";
import { Text } from "kit/core/schema.ts";
import { quotedName } from "../../../features/messages/frame_markers.ts";
import { broadcast, notifyPeer } from "../../../features/notifications/contract.ts";
import { SAYS, type Tool, tool } from "../tool.ts";
import { attachments, circle, idempotency_key, maybe, onceBy, peer, speakerOf } from "./fields.ts";

const notify = tool({
  name: "notify_peer",
  title: "Tell a peer",
  description:
    "Tell one peer something that needs no reply: a result, a warning, a change it must know. " +
    "Do not use it for questions (ask), to answer an ask (ack), or for chatter: it interrupts.",
  hints: SAYS,
  input: z.object({
    peer,
    message: Text,
    attachments,
    circle,
    idempotency_key,
  }),
  output: z.object({
    delivery_id: z.string(),
    delivery_state: z.string(),
    delivered: z.boolean(),
    queued: z.boolean(),
    reason: maybe,
    to_peer_id: z.string(),
    to_peer_name: z.string(),
  }),
  async run({ peer, message, idempotency_key, ...more }, { caller, call, signal }) {
    const from_peer = speakerOf(caller);
    const body = { from_peer, to_peer: peer, text: message, ...more };
    const told = await call(notifyPeer, { body, headers: onceBy(idempotency_key), signal });
    const why = told.reason ? ` (${told.reason})` : "";
    return {
      text: `Told @${quotedName(told.to_peer_name)} (${told.delivery_id}); ` +
        `delivery: ${told.delivery_state}${why}.`,
      data: told,
    };
  },
});

const shout = tool({
  name: "broadcast",
  title: "Tell a circle",
  description:
    "Tell all agents of a circle, yours by default, something that concerns every one of them. " +
    "It never reaches the human. Do not use it when one peer will do (notify_peer), or for " +
    "questions (ask): it interrupts everyone.",
  hints: SAYS,
  input: z.object({
    message: Text,
    circle: circle.describe("The circle to tell"),
    idempotency_key,
  }),
  output: z.object({
    sent_to: z.array(z.object({ peer_id: z.string(), name: z.string(), delivery_id: z.string() })),
    skipped: z.array(z.object({ peer_id: z.string(), reason: z.string() })),
    failed: z.array(z.object({ peer_id: z.string(), error: z.string() })),
  }),
  async run({ message, circle, idempotency_key }, { caller, call, signal }) {
    const body = { from_peer: speakerOf(caller), text: message, circle };
    const told = await call(broadcast, { body, headers: onceBy(idempotency_key), signal });
    const names = told.sent_to.map(({ name }) => `@${quotedName(name)}`).join(", ");
    const missed = [
      ...told.skipped.map(({ peer_id, reason }) => `${peer_id}: ${reason}`),
      ...told.failed.map(({ peer_id, error }) => `${peer_id}: ${error}`),
    ];
    const lines = [`Sent to ${told.sent_to.length}${names ? `: ${names}` : ""}.`];
    if (missed.length > 0) lines.push(`Not sent to ${missed.join("; ")}.`);
    return { text: lines.join("\n"), data: told };
  },
});

export const NOTE_TOOLS: readonly Tool[] = [notify, shout];
