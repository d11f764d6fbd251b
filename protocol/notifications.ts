/** Schemas and routes of notifications and broadcasts: messages that need no reply. */

import * as z from "zod";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { Problem } from "protocol/problems.ts";
import { Tag } from "protocol/peers/record.ts";
import { ackAsk, Closed } from "protocol/asks/contract.ts";
import { AttachmentRefs } from "protocol/messages/attachments.ts";
import { GivenBudget } from "protocol/budgets/contract.ts";
import { DeliveryState, TARGET_FAILS, Urgent } from "protocol/messages/contract.ts";

/** A null recipient is refused as an unknown peer, like an empty recipient (specification 7). */
const Recipient = z.string().nullable().transform((given) => {
  if (given === null) throw new Problem("unknown_peer", { peer: "null" });
  return given;
});

export const notifyPeer = contract({
  id: "delivery.notify",
  method: "POST",
  path: "/notify",
  summary: "Send a peer a message that needs no reply",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  body: z.object({
    from_peer: Sender.describe("The sender: a peer's id or name"),
    to_peer: Recipient.describe("The recipient: a peer's id or name"),
    text: Text.describe("The message"),
    attachments: AttachmentRefs.optional().describe("Uploaded files, by their ids"),
    circle: Name.optional().describe("Look up the name in this circle only"),
    bypass_circle: z.boolean().optional().describe(
      "Look up the name everywhere at once, and not in the sender's circle first",
    ),
    urgent: Urgent,
    budget: GivenBudget,
  }),
  actor: { field: "body.from_peer" },
  returns: z.object({
    ok: z.literal(true),
    delivery_id: z.string().describe("The id of the delivery"),
    delivery_state: DeliveryState.describe("How far it is when this is sent"),
    delivered: z.boolean().describe("Whether the recipient has accepted or seen it"),
    queued: z.boolean().describe("Whether it waits for the recipient"),
    reason: nullableString.describe("Why it waits; null if it does not"),
    from_peer_id: nullableString.describe("The sender's id; null for a sender that is no peer"),
    from_peer_name: z.string().describe("The sender's name"),
    to_peer_id: z.string().describe("The recipient's id"),
    to_peer_name: z.string().describe("The recipient's name"),
    mesh_session_id: nullableString.describe("The session of the recipient"),
    inbox_item_id: z.string().optional().describe("The inbox item, if the human is the recipient"),
    surfaces: z.array(z.string()).optional().describe("The surfaces that show that item"),
  }),
  fails: [
    ...TARGET_FAILS,
    "unknown_attachment",
    "queue_full",
    "rate_limited",
    "budget_spent",
    "policy_denied",
    "budget_needs_prices",
  ],
});
export type Notify = z.output<typeof notifyPeer.body>;

/** Maximum number of names that one broadcast excludes. */
const EXCLUDED_MAX = 1000;

export const broadcast = contract({
  id: "delivery.broadcast",
  method: "POST",
  path: "/broadcast",
  summary: "Send a message to the agents and orchestrators of a circle; never to the human",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  body: z.object({
    from_peer: Sender,
    text: Text,
    attachments: AttachmentRefs.optional(),
    circle: Name.optional(),
    tag: Tag.optional().describe(
      "Only the peers of this machine with this tag: those of the circle, else those of all",
    ),
    exclude: z.array(z.string()).max(EXCLUDED_MAX).default([]).describe(
      "Names, ids, or tags such as `@backend`; those that name nobody exclude nobody",
    ),
    urgent: Urgent,
  }),
  actor: { field: "body.from_peer" },
  returns: z.object({
    ok: z.literal(true),
    sent_to: z.array(z.object({ peer_id: z.string(), name: z.string(), delivery_id: z.string() })),
    skipped: z.array(z.object({ peer_id: z.string(), reason: z.string() })),
    failed: z.array(z.object({ peer_id: z.string(), error: z.string() })),
  }),
  fails: [
    "ambiguous_peer",
    "unknown_attachment",
    "no_tagged_peer",
    "group_too_large",
    "budget_spent",
    "policy_denied",
  ],
});
export type Broadcast = z.output<typeof broadcast.body>;

export const replyAll = contract({
  id: "asks.reply_all",
  method: "POST",
  path: "/asks/:id/reply-all",
  summary: "Answer an ask, and notify the others of its thread of the answer",
  access: "caller",
  tunnel: "open",
  params: byId,
  body: z.object({ from_peer: Sender.optional().describe("The recipient of the ask"), text: Text }),
  actor: { field: "body.from_peer", otherwise: "recipient" },
  returns: Closed.extend({
    sent_to: z.array(z.object({ peer_id: z.string(), name: z.string(), delivery_id: z.string() })),
    failed: z.array(z.object({ peer_id: z.string(), name: z.string(), error: z.string() })),
  }),
  fails: [...ackAsk.fails, "answer_checked_first", "group_too_large"],
});
export type ReplyAll = z.output<typeof replyAll.body>;
export type RepliedAll = z.output<typeof replyAll.returns>;
