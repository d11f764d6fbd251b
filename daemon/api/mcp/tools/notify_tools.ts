/** Tools that send messages without a reply. */

import * as z from "zod";
import { Text } from "kit/core/schema.ts";
import { quotedName } from "protocol/messages/frame_markers.ts";
import { unreachedPeers } from "protocol/derived/unreached.ts";
import { broadcast, notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { Tag } from "protocol/peers/record.ts";
import { SEND_HINTS, type Tool, tool } from "../tool.ts";
import {
  attachments,
  callerId,
  circle,
  idempotency_key,
  idempotencyHeaders,
  maybe,
  peer,
  urgent,
} from "./fields.ts";
import { holdOf } from "./ask_result.ts";

const notify = tool({
  name: "notify_peer",
  title: "Notify a peer",
  description:
    "Tell one peer something that needs no reply: a result, a warning, a change it must know. " +
    "Do not use it for questions (ask), to answer an ask (ack), or for chatter: it interrupts.",
  hints: SEND_HINTS,
  input: z.object({
    peer,
    message: Text,
    attachments,
    circle,
    urgent,
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
  async run({ peer, message, idempotency_key, ...rest }, toolContext) {
    const { caller, call } = toolContext;
    const from_peer = callerId(caller);
    const body = { from_peer, to_peer: peer, text: message, ...rest };
    const sent = await call(notifyPeer, { body, headers: idempotencyHeaders(idempotency_key) });
    const hold = await holdOf(sent, toolContext);
    return {
      text: `Notified @${quotedName(sent.to_peer_name)} (${sent.delivery_id}); ` +
        `delivery: ${sent.delivery_state}.${hold ? ` ${hold}.` : ""}`,
      data: sent,
    };
  },
});

const broadcastTool = tool({
  name: "broadcast",
  title: "Notify a circle",
  description:
    "Notify all agents of a circle, yours by default, of something that concerns all of them. " +
    "It never reaches the human. Do not use it if one peer is enough (notify_peer), or for " +
    "questions (ask): it interrupts everyone.",
  hints: SEND_HINTS,
  input: z.object({
    message: Text,
    circle: circle.describe("The circle to notify"),
    tag: Tag.optional().describe("Only peers with this tag, as list_peers shows them"),
    urgent,
    idempotency_key,
  }),
  output: z.object({
    sent_to: z.array(z.object({ peer_id: z.string(), name: z.string(), delivery_id: z.string() })),
    skipped: z.array(z.object({ peer_id: z.string(), reason: z.string() })),
    failed: z.array(z.object({ peer_id: z.string(), error: z.string() })),
  }),
  async run({ message, idempotency_key, ...rest }, { caller, call }) {
    const body = { from_peer: callerId(caller), text: message, ...rest };
    const sent = await call(broadcast, { body, headers: idempotencyHeaders(idempotency_key) });
    const names = sent.sent_to.map(({ name }) => `@${quotedName(name)}`).join(", ");
    const { peers } = await call(listPeers, { query: {} });
    const lines = unreachedPeers(sent, peers).map(({ name, why, waits }) =>
      `Not ${waits ? "yet reached" : "reached"}: @${quotedName(name)}: ${why}.`
    );
    const text = `Sent to ${sent.sent_to.length}${names ? `: ${names}` : ""}.`;
    return { text: [text, ...lines].join("\n"), data: sent };
  },
});

export const NOTE_TOOLS: readonly Tool[] = [notify, broadcastTool];
