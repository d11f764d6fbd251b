/** SQL that reads the data for the spans of a message, without its text. */

import type * as z from "zod";
import { type Reader, rowOf } from "kit/data/sqlite.ts";
import { StoredMessage } from "protocol/messages/contract.ts";
import { DELIVERY_ID, idParams, WHERE_ID } from "../../features/messages/ledger/rows.ts";

const TracedMessage = rowOf(
  StoredMessage.pick({
    seq: true,
    delivery_id: true,
    kind: true,
    correlation_id: true,
    reply_to: true,
    from_peer_id: true,
    to_peer_id: true,
    traceparent: true,
    state: true,
    transport: true,
    attempts: true,
    created_at: true,
    attempted_at: true,
    sent_at: true,
    accepted_at: true,
    seen_at: true,
    settled_at: true,
    reason: true,
    close_reason: true,
    outcome: true,
    closed_at: true,
  }),
);
export type TracedMessage = z.output<typeof TracedMessage>;

/** The message with this delivery id, or the ask with this correlation id. */
export function tracedMessage(db: Reader, id: string): TracedMessage | undefined {
  return db.get(
    TracedMessage,
    `select seq, ${DELIVERY_ID}, kind, correlation_id, reply_to, from_peer_id, to_peer_id,
       traceparent, state, rung as transport, attempts, created_at, attempted_at, sent_at,
       accepted_at, seen_at, settled_at, reason, close_reason, outcome, closed_at
     from messages where ${WHERE_ID}`,
    idParams(id),
  );
}
