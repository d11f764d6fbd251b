/** SQL of inbox items, one statement per function. */

import * as z from "zod";
import { idsOf } from "../../data/short_ids.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { EXPIRES_AT } from "../asks/store.ts";
import { idParams, WHERE_ID } from "../messages/ledger/rows.ts";
import { toWire } from "protocol/messages/attachments.ts";
import { InboxItem, ItemState } from "protocol/inbox.ts";
import * as pushes from "./pushes.ts";

/** An item's row: the record without its pushes and its derived fields. */
const StoredItem = InboxItem.omit({
  ...Object.fromEntries(Object.keys(ItemState.shape).map((key) => [key, true])) as ItemStateKeys,
  pushes: true,
  read: true,
  replied: true,
  from: true,
}).extend({ from_name: z.string() });
type ItemStateKeys = { [K in keyof ItemState]: true };
const Row = rowOf(StoredItem);

const SELECT_ITEM =
  `select item_id, kind, from_name, from_peer_id, voice, correlation_id, text, attachments,
  question, read_at, read_by, replied_at, snoozed_until, created_at from`;

type NewItem = Omit<InboxItem, "pushes" | "read" | "replied" | keyof ItemState> & {
  /** The id of the first ask of the item's thread; null if the item has no thread. */
  readonly thread: string | null;
};

export function insert(tx: Tx, item: NewItem): number {
  return tx.insert(
    `insert into inbox_items
       (item_id, kind, from_name, from_peer_id, voice, correlation_id, thread, text, attachments,
        question, created_at)
     values (:item_id, :kind, :from, :from_peer_id, :voice, :correlation_id, :thread, :text,
             :attachments, :question, :created_at)`,
    {
      ...item,
      attachments: JSON.stringify(toWire(item.attachments)),
      question: item.question && JSON.stringify(item.question),
    },
  );
}

/** The first ids that begin with `short`. */
export const idsFrom = idsOf("inbox_items", "item_id");

export function get(db: Reader, item_id: string): InboxItem | undefined {
  return items(db, `${SELECT_ITEM} inbox_items where item_id = :item_id`, { item_id })[0];
}

/** The newest items, newest first. */
export function list(
  db: Reader,
  { unread, limit }: { unread: boolean; limit: number },
): InboxItem[] {
  const condition = unread ? "where read_at is null" : "";
  return items(db, `${SELECT_ITEM} inbox_items ${condition} order by seq desc limit :limit`, {
    limit,
  });
}

/** Items whose ask is open, and then unread items, the newest of each first. */
export function open(db: Reader, limit: number): InboxItem[] {
  return items(
    db,
    `with waiting as (
       select item.seq from messages indexed by messages_open
         join inbox_items as item on item.correlation_id = messages.correlation_id
       where ask_state = 'open' and item.kind = 'ask')
     ${SELECT_ITEM} inbox_items
     where seq in (select seq from waiting
                   union all select seq from inbox_items where read_at is null)
     order by seq in waiting desc, seq desc limit :limit`,
    { limit },
  );
}

/**
 * Items that a surface has shown, the highest ref first. Refs are numbers of any length, so they
 * are ordered by the number of digits, then by the digits. Other refs come last, newest first.
 * `digits`, a decimal number without leading zeros, limits the items to refs up to this number.
 */
export function rendered(
  db: Reader,
  { surface, unread, limit, digits }: {
    surface: string;
    unread: boolean;
    limit: number;
    digits: string | null;
  },
): InboxItem[] {
  const condition = digits === null ? "" : "and (ref_length, ref_digits) <= (:length, :digits)";
  return items(
    db,
    `${SELECT_ITEM}
       (select item_id, seq as push_seq, ref_length, ref_digits from pushes
        where surface = :surface and status = 'pushed' ${condition})
       join inbox_items using (item_id)
     where not :unread or read_at is null
     order by ref_length desc, ref_digits desc, push_seq desc limit :limit`,
    { surface, unread: unread ? 1 : 0, limit, digits, length: digits?.length ?? null },
  );
}

export function itemOfAsk(db: Reader, correlation_id: string): InboxItem | undefined {
  return items(
    db,
    `${SELECT_ITEM} inbox_items
     where correlation_id = :correlation_id and kind = 'ask' order by seq desc limit 1`,
    { correlation_id },
  )[0];
}

/** The id of the thread that an ask's inbox items share. */
export function threadOf(db: Reader, correlation_id: string): string | null {
  return db.value(
    z.string(),
    `select thread from inbox_items
     where correlation_id = :correlation_id and thread is not null limit 1`,
    { correlation_id },
  ) ?? null;
}

/** Sets the thread of a notification's item when the human asks about it. */
export function setThread(tx: Tx, item_id: string, thread: string): void {
  tx.run(
    "update inbox_items set thread = :thread where item_id = :item_id and thread is null",
    { item_id, thread },
  );
}

export function markRead(tx: Tx, item_id: string, by: string | null, at: number): number {
  return tx.run(
    `update inbox_items set read_at = :at, read_by = :by
     where item_id = :item_id and read_at is null`,
    { item_id, by, at },
  );
}

/** The texts of the unread notifications by a sender that is no peer. */
export function unreadNotices(db: Reader, from: string): string[] {
  return db.values(
    z.string(),
    `select text from inbox_items
     where read_at is null and kind = 'notify' and from_peer_id is null and from_name = :from`,
    { from },
  );
}

/** The items of notifications by a sender that is no peer, whose text contains `about`. */
export function noticesAbout(db: Reader, from: string, about: string): InboxItem[] {
  return items(
    db,
    `${SELECT_ITEM} inbox_items
     where kind = 'notify' and from_peer_id is null and from_name = :from
       and instr(text, :about) > 0`,
    { from, about },
  );
}

export function markUnread(tx: Tx, item_id: string): number {
  return tx.run(
    `update inbox_items set read_at = null, read_by = null
     where item_id = :item_id and replied_at is null`,
    { item_id },
  );
}

export function snooze(tx: Tx, item_id: string, until: number | null): number {
  return tx.run(
    "update inbox_items set snoozed_until = :until where item_id = :item_id",
    { item_id, until },
  );
}

export function markReplied(tx: Tx, item_id: string, at: number): number {
  return tx.run(
    "update inbox_items set replied_at = :at where item_id = :item_id and replied_at is null",
    { item_id, at },
  );
}

const Old = z.object({
  seq: z.number(),
  item_id: z.string(),
  kind: z.string(),
  correlation_id: z.string().nullable(),
});

/** Items read before an instant, with row numbers above `after`, lowest number first. */
export function readBefore(
  db: Reader,
  part: { before: number; after: number; limit: number },
): z.output<typeof Old>[] {
  return db.all(
    Old,
    `select seq, item_id, kind, correlation_id from inbox_items
     where read_at < :before and seq > :after order by seq limit :limit`,
    part,
  );
}

/** Deletes an item with its pushes. */
export function remove(tx: Tx, item_id: string): void {
  tx.run("delete from inbox_items where item_id = :item_id", { item_id });
}

const StateRow = rowOf(ItemState);
/** The state of an item without an ask. If the ask was deleted, only `state` differs. */
const NO_STATE: ItemState = {
  state: null,
  close_reason: null,
  outcome: null,
  option_id: null,
  responder: null,
  closed_at: null,
  expires_at: null,
};

/** The present state of an item's ask. */
function stateOf(
  db: Reader,
  { kind, correlation_id }: { kind: InboxItem["kind"]; correlation_id: string | null },
): ItemState {
  if (kind !== "ask" || correlation_id === null) return NO_STATE;
  const found = db.get(
    StateRow,
    `select ask_state as state, close_reason, outcome, answer ->> 'option_id' as option_id,
       responder, closed_at, ${EXPIRES_AT} as expires_at
     from messages where ${WHERE_ID} and kind = 'ask' and correlation_id = :id`,
    idParams(correlation_id),
  );
  return found ?? { ...NO_STATE, state: "closed" };
}

function items(
  db: Reader,
  sql: string,
  params: Record<string, string | number | null>,
): InboxItem[] {
  return db.all(Row, sql, params).map(({ from_name, ...item }) => ({
    ...item,
    from: from_name,
    read: item.read_at !== null,
    replied: item.replied_at !== null,
    ...stateOf(db, item),
    pushes: pushes.ofItem(db, item.item_id),
  }));
}
