/** Schemas and routes of the message log: pages, searches, one message. */

import * as z from "zod";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { Instant, Name, queryInteger } from "kit/core/schema.ts";
import { Delivery, DeliveryState, Kind } from "protocol/messages/contract.ts";

export const SEARCH_CHARS_MAX = 1000;
const PAGE_ROWS = 50;

const deliveryFields = Delivery.shape;

/**
 * One message of the log. `message_id` is the `correlation_id` of an ask and the `delivery_id` of
 * any other kind. `state` is the state of the delivery. An ask has its own close reason and reply;
 * an ack has the close reason that it reports. Only search results have a `snippet`.
 */
export const Message = z.object({
  message_id: z.string(),
  delivery_id: deliveryFields.delivery_id,
  kind: Kind,
  correlation_id: nullableString,
  from_peer_id: nullableString,
  from_peer_name: z.string(),
  to_peer_id: z.string(),
  to_peer_name: z.string(),
  voice: deliveryFields.voice,
  unverified: deliveryFields.unverified,
  sent_by: deliveryFields.sent_by,
  urgent: deliveryFields.urgent,
  chain: deliveryFields.chain,
  circle: nullableString,
  text: z.string(),
  attachments: deliveryFields.attachments,
  reply_to: nullableString,
  parent_id: nullableString,
  state: deliveryFields.state,
  reason: nullableString,
  created_at: Instant,
  sent_at: deliveryFields.sent_at,
  accepted_at: deliveryFields.accepted_at,
  seen_at: deliveryFields.seen_at,
  closed_at: Instant.nullable(),
  close_reason: nullableString,
  outcome: nullableString,
  reply: nullableString,
  /** The author kind of the reply; null without a responder. */
  reply_voice: deliveryFields.voice.nullable(),
  responder: nullableString,
  snippet: z.string().optional(),
}).meta({ id: "Message" });
export type Message = z.output<typeof Message>;

/** An unescaped `+` of a UTC offset arrives as a space in a query. */
const QueryInstant = z.string().meta({ format: "date-time" })
  .transform((text) => text.replace(" ", "+")).pipe(Instant);

/**
 * Without a `kind`, messages of kind `inbox_item` are omitted, because they repeat other messages.
 */
export const MessageQuery = z.object({
  q: z.string().max(SEARCH_CHARS_MAX).optional().describe(
    "Words that the text or the reply must contain, all of them, in any order; case and accents " +
      "are ignored. A word of six letters or more is also found within longer words, and one of " +
      'a language without spaces anywhere. "two words" is a phrase, deplo* any word with this ' +
      "prefix (three letters at least), 🚀 an emoji. Other signs have no meaning, and only the first 32 words count. Under load, the " +
      "newest messages may not be found for a second.",
  ),
  peer: z.string().min(1).optional().describe(
    "The sender or recipient: a name or id, also of a sender that never registered",
  ),
  with: z.string().min(1).optional().describe(
    "The other side of the conversation, given in the same way",
  ),
  from: z.string().min(1).optional().describe("The sender, given in the same way"),
  to: z.string().min(1).optional().describe("The recipient, given in the same way"),
  kind: Kind.optional(),
  circle: Name.optional().describe("Messages that were sent in this circle"),
  state: z.enum([...DeliveryState.options, "open", "closed"]).optional().describe(
    "The state of the delivery; `open` and `closed` select asks",
  ),
  since: QueryInstant.optional().describe("Messages at or after this instant"),
  until: QueryInstant.optional().describe("Messages before this instant"),
  limit: queryInteger(1, 500).default(PAGE_ROWS),
  cursor: z.string().optional().describe("`next` of the previous page"),
});
export type MessageQuery = z.output<typeof MessageQuery>;

/** `next` is null on the last page. Any page may hold fewer messages than its limit, or none. */
export const listMessages = contract({
  id: "messages.list",
  method: "GET",
  path: "/messages",
  compressed: true,
  summary: "Search and page through all messages, newest first",
  access: "caller",
  tunnel: "open",
  query: MessageQuery,
  returns: z.object({ messages: z.array(Message), next: nullableString }),
  fails: ["ambiguous_peer"],
});

export const getMessage = contract({
  id: "messages.get",
  method: "GET",
  path: "/messages/:id",
  compressed: true,
  summary: "One message, by its correlation_id or delivery_id",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Message,
  fails: ["unknown_message"],
});
