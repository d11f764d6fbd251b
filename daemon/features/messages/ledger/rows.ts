/** The columns of message rows and the lookup by id, shared by all statements on `messages`. */

import type * as z from "zod";
import { type Reader, rowOf } from "kit/data/sqlite.ts";
import type { Params } from "kit/data/statements.ts";
import { StoredMessage } from "protocol/messages/contract.ts";

export const DELIVERY_ID =
  `case kind when 'notify' then 'notif-' else 'qd-' end || ident as delivery_id`;

/** The fields that are no columns of their own. */
const DERIVED: { readonly [field: string]: string } = {
  delivery_id: DELIVERY_ID,
  unverified: "voice = 'unverified' as unverified",
  transport: "rung as transport",
};

/** Selects the fields of a record from messages. */
export function selectOf({ shape }: z.ZodObject): string {
  const columns = Object.keys(shape).map((field) => DERIVED[field] ?? field);
  return `select ${columns.join(", ")} from messages`;
}

const StoredMessageRow = rowOf(StoredMessage);
const SELECT_MESSAGE = selectOf(StoredMessage);

/** The fields that a delivery's step needs. Without its text, a message is read twice as fast. */
const SteppedMessage = StoredMessage.pick({
  seq: true,
  delivery_id: true,
  kind: true,
  to_peer_id: true,
  state: true,
  transport: true,
  attempts: true,
  created_at: true,
});
export type SteppedMessage = Readonly<z.output<typeof SteppedMessage>>;
const SteppedRow = rowOf(SteppedMessage);
const SELECT_STEPPED = selectOf(SteppedMessage);

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

/** As `findStepped`, for some row numbers. */
export function findSteppedRows(db: Reader, seqs: readonly number[]): SteppedMessage[] {
  const rest = "where seq in (select value from json_each(:seqs))";
  return db.all(SteppedRow, `${SELECT_STEPPED} ${rest}`, { seqs: JSON.stringify(seqs) });
}
