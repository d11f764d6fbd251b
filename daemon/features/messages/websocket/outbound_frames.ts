/** Frames that the daemon sends on `/ws` (contract 4). */

import * as z from "zod";
import { Attachments } from "protocol/messages/attachments.ts";
import { AuthorKind, Peer } from "protocol/peers/record.ts";

const nullableString = z.string().nullable();

/** The sender of a message, and the id of its delivery. */
const fromFields = {
  delivery_id: z.string().describe("The id of the delivery, which its `delivery_ack` names"),
  from_peer: z.string().describe("The sender's name"),
  from_peer_id: nullableString.describe("The sender's id; null for a sender that is no peer"),
  voice: AuthorKind.describe(
    "`human` if the sender is proved to be the human; `unverified` if it only says so",
  ),
  sent_by: z.string().optional().describe(
    "The person who sent it in the sender's name; absent if the sender did",
  ),
  urgent: z.literal(true).optional().describe(
    "Whether it may be read within a running turn; absent if not",
  ),
  framed: z.string().optional().describe(
    "The text that an agent reads; only with the capability `framed_text`",
  ),
};

const messageFields = {
  ...fromFields,
  to_peer: z.string().describe("The recipient's name, which is the client's peer"),
  to_peer_id: z.string().describe("The recipient's id"),
  text: z.string().describe("The message"),
  attachments: Attachments.optional().describe("Its files; absent without any"),
  traceparent: z.string().describe("The W3C trace context of the message"),
};

const Connected = z.object({
  type: z.literal("connected"),
  peer_id: z.string().describe("The id of the client's peer"),
  session_id: z.string().describe("The same id, for clients that were written for another mesh"),
  display_name: z.string().describe("Its name, which may have got a number"),
  mesh_session_id: nullableString.describe("The id of its session"),
  server_version: z.string().describe("The daemon's version"),
});

const Ask = z.object({
  type: z.literal("ask"),
  correlation_id: z.string().describe("The id of the ask; its answer names it"),
  ...messageFields,
  reply_to: z.string().optional().describe("The earlier ask that this one continues"),
  question: z.record(z.string(), z.unknown()).optional().describe(
    "The structured question, if it is one",
  ),
  expires_at: z.string().optional().describe(
    "When the asker of a blocking question stops waiting; absent for other asks",
  ),
});

const Ack = z.object({
  type: z.literal("ack"),
  ...fromFields,
  correlation_id: nullableString.describe("The ask of this peer that has ended"),
  close_reason: nullableString.describe("How it ended, such as `ack_with_msg` or `declined`"),
  outcome: nullableString.describe("The same, in the words of structured questions"),
  text: nullableString.describe("The reply, or the reason why there is none; null without a text"),
  attachments: Attachments.optional().describe("The reply's files; absent without any"),
  traceparent: z.string().describe("The W3C trace context of the ask"),
});

const InboxItemFrame = z.object({
  type: z.literal("inbox_item"),
  delivery_id: z.string().describe("The id of the delivery, which its `delivery_ack` names"),
  item: z.unknown().describe("The item, as `GET /inbox/{id}` returns it"),
  reply_to_ref: nullableString.describe(
    "The surface's id of its message that shows the item before, of the same thread",
  ),
});

const InboxUpdateFrame = z.object({
  type: z.literal("inbox_update"),
  item: z.unknown().describe(
    "An item whose ask has ended, as `GET /inbox/{id}` returns it: what offers an answer to it can " +
      "be taken away. It is also sent when the surface connects, for what ended meanwhile",
  ),
});

const Result = z.looseObject({
  type: z.literal("result"),
  request_id: z.string().describe("That of the verb"),
});

export const Outbound = z.discriminatedUnion("type", [
  Connected,
  Ask,
  z.object({ type: z.literal("notify"), ...messageFields }),
  z.object({ type: z.literal("broadcast"), ...messageFields }),
  Ack,
  InboxItemFrame,
  InboxUpdateFrame,
  z.object({
    type: z.literal("peer_update"),
    peer_id: z.string().describe("The id of the client's peer"),
    peer: Peer.describe("Its record, as `GET /peers/{id}` returns it"),
  }),
  z.object({
    type: z.literal("ping"),
    ping_id: z.string().describe("Chosen by the daemon; the `pong` repeats it"),
  }),
  z.object({
    type: z.literal("error"),
    error: z.string().describe("The code of the refusal"),
    detail: z.string().describe("What is wrong"),
  }),
  Result,
]);
export type Outbound = z.input<typeof Outbound>;
