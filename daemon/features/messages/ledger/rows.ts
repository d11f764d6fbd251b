/** The columns of message rows and the lookup by id, shared by all statements on `messages`. */

import { type Reader, rowOf } from "kit/data/sqlite.ts";
import type { Params } from "kit/data/statements.ts";
import { StoredMessage } from "protocol/messages/contract.ts";

const StoredMessageRow = rowOf(StoredMessage);

export const DELIVERY_ID =
  `case kind when 'notify' then 'notif-' else 'qd-' end || ident as delivery_id`;
const SELECT_MESSAGE = `select seq, ${DELIVERY_ID}, kind, correlation_id, item_id, from_peer_id,
  from_peer_name, to_peer_id, to_peer_name, circle, text, attachments,
  voice, voice = 'unverified' as unverified, sent_by, urgent, reply_to, question, state,
  rung as transport, repeatable, attempts, created_at, attempted_at, sent_at,
  accepted_at, seen_at, expires_at, settled_at, reason, close_reason, outcome, closed_at,
  traceparent from messages`;

/** The fields that a delivery's step needs. Without its text, a message is read twice as fast. */
const SteppedRow = rowOf(StoredMessage.pick({
  seq: true,
  delivery_id: true,
  kind: true,
  to_peer_id: true,
  state: true,
  transport: true,
  attempts: true,
  created_at: true,
}));
const SELECT_STEPPED = `select seq, ${DELIVERY_ID}, kind, to_peer_id, state, rung as transport,
  attempts, created_at from messages`;

/** The messages that the rest of a `select` finds: its conditions, order and limit. */
export function selectMessages(db: Reader, rest: string, params?: Params): StoredMessage[] {
  return db.all(StoredMessageRow, `${SELECT_MESSAGE} ${rest}`, params);
}

/**
 * Matches a row by one of its ids. An id that the daemon created encodes the row number, so no
 * index is needed. An id that the asker chose is looked up in `chosen_ids`.
 */
export const WHERE_ID = `seq = coalesce(
    (select chosen_ids.seq from chosen_ids where chosen_ids.correlation_id = :id),
    seq_of(:ident))
  and :id in (correlation_id, case kind when 'notify' then 'notif-' else 'qd-' end || ident)`;

/** The parameters of `WHERE_ID`. */
export function idParams(id: string): { id: string; ident: string } {
  return { id, ident: identOf(id) };
}

/** The 12 hex digits that a row's ids share; empty if the asker chose the id. */
export function identOf(id: string): string {
  return /^(?:ask|qd|notif)-([0-9a-f]{12})$/.exec(id)?.[1] ?? "";
}

/** As `findMessage`, with the fields that a step needs. */
export function findStepped(db: Reader, delivery_id: string) {
  return db.get(SteppedRow, `${SELECT_STEPPED} where ${WHERE_ID}`, idParams(delivery_id));
}
