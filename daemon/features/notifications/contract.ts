/** Schemas and routes of notifications and broadcasts: messages that need no reply. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { Problem } from "kit/core/problem.ts";
import { Attaching } from "../messages/attachments/contract.ts";
import { DeliveryState } from "../messages/contract.ts";

const nullableString = z.string().nullable();

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
    from_peer: Sender,
    to_peer: Recipient,
    text: Text,
    attachments: Attaching.optional(),
    circle: Name.optional(),
    bypass_circle: z.boolean().optional(),
  }),
  returns: z.object({
    ok: z.literal(true),
    delivery_id: z.string(),
    delivery_state: DeliveryState,
    delivered: z.boolean(),
    queued: z.boolean(),
    reason: nullableString,
    from_peer_id: nullableString,
    from_peer_name: z.string(),
    to_peer_id: z.string(),
    to_peer_name: z.string(),
    mesh_session_id: nullableString,
    inbox_item_id: z.string().optional(),
    surfaces: z.array(z.string()).optional(),
  }),
  fails: [
    "unknown_peer",
    "ambiguous_peer",
    "peer_retired",
    "peer_not_addressable",
    "to_self",
    "unknown_attachment",
    "queue_full",
    "rate_limited",
  ],
});
export type Notify = z.output<typeof notifyPeer.body>;

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
    attachments: Attaching.optional(),
    circle: Name.optional(),
    exclude: z.array(z.string()).default([]),
  }),
  returns: z.object({
    ok: z.literal(true),
    sent_to: z.array(z.object({ peer_id: z.string(), name: z.string(), delivery_id: z.string() })),
    skipped: z.array(z.object({ peer_id: z.string(), reason: z.string() })),
    failed: z.array(z.object({ peer_id: z.string(), error: z.string() })),
  }),
  fails: ["ambiguous_peer", "unknown_attachment"],
});
export type Broadcast = z.output<typeof broadcast.body>;
