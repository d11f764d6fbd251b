/** What the world may ask of everything that was said: pages of it, searches, one message. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";
import { Instant, QueryNumber } from "kit/core/schema.ts";
import { Delivery, Kind } from "../contract.ts";

export const SEARCH_CHARS_MAX = 1000;
const PAGE_ROWS = 50;

const nullableString = z.string().nullable();
const deliveryFields = Delivery.shape;

/**
 * One message, as people and agents look at it. `message_id` is the `correlation_id` of an ask, and
 * the `delivery_id` of anything else; `state` is the delivery's. An ask carries its end and its
 * reply, an ack the end that it tells. `snippet` is there in answers to a search alone.
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
  circle: nullableString,
  text: z.string(),
  attachments: deliveryFields.attachments,
  reply_to: nullableString,
  parent_id: nullableString,
  state: deliveryFields.state,
  reason: nullableString,
  created_at: Instant,
  closed_at: Instant.nullable(),
  close_reason: nullableString,
  outcome: nullableString,
  reply: nullableString,
  responder: nullableString,
  snippet: z.string().optional(),
}).meta({ id: "Message" });
export type Message = z.output<typeof Message>;

/** An unescaped `+` of an offset reads as a space in a query. */
const QueryInstant = z.string().meta({ format: "date-time" })
  .transform((text) => text.replace(" ", "+")).pipe(Instant);

/** Without a `kind`, an `inbox_item` is left out: it repeats what was said to the human. */
export const MessageQuery = z.object({
  q: z.string().max(SEARCH_CHARS_MAX).optional().describe(
    "Words that must all be in the text or in the reply, in any order and without regard to case " +
      'or accents. "two words" are looked for as they stand, deplo* is any word that begins so ' +
      "(three letters at least); no other sign has a meaning, and the first 32 words count. In a " +
      "flood, what was said last may not be found for a second.",
  ),
  peer: z.string().min(1).optional().describe(
    "Who took part, as sender or recipient: a name or id, also of a sender that never registered",
  ),
  with: z.string().min(1).optional().describe("The other side, in the same way"),
  kind: Kind.optional(),
  since: QueryInstant.optional().describe("The first instant"),
  until: QueryInstant.optional().describe("The first instant after"),
  limit: QueryNumber.pipe(z.number().min(1).max(500)).default(PAGE_ROWS),
  cursor: z.string().optional().describe("The `next` of the page before"),
});
export type MessageQuery = z.output<typeof MessageQuery>;

/** `next` is null at the end. A page may be shorter than its limit, even empty, and not the last. */
export const listMessages = contract({
  id: "messages.list",
  method: "GET",
  path: "/messages",
  summary: "Search and page through everything said, newest first",
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
  summary: "One message, by its correlation_id or delivery_id",
  access: "caller",
  tunnel: "open",
  params: z.object({ id: z.string() }),
  returns: Message,
  fails: ["unknown_message"],
});
