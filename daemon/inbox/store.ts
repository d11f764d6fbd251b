/** SQL for the human inbox. Each function is one statement; no decision is taken here. */

import { z } from "zod";
import { type Database, rowOf } from "kit/sqlite.ts";
import { toWire } from "../attachments/contract.ts";
import { InboxItem, Push } from "./contract.ts";

/** What is stored of an item: the record without its pushes and what its instants say. */
const StoredItem = InboxItem.omit({ pushes: true, read: true, replied: true, from: true }).extend({
  seq: z.number().int(),
  from_name: z.string(),
});
const Row = rowOf(StoredItem);
const StoredPush = Push.extend({ item_id: z.string() });
const PushRow = rowOf(StoredPush);

const COLUMNS = `seq, item_id, kind, from_name, from_peer_id, correlation_id, text, attachments,
  question, read_at, read_by, replied_at, created_at`;

export function insert(db: Database, item: Omit<InboxItem, "pushes" | "read" | "replied">): number {
  const { item_id, kind, from, from_peer_id, correlation_id, text, created_at } = item;
  return db.insert(
    `insert into inbox_items
       (item_id, kind, from_name, from_peer_id, correlation_id, text, attachments, question,
        created_at)
     values (:item_id, :kind, :from_name, :from_peer_id, :correlation_id, :text, :attachments,
             :question, :created_at)`,
    {
      ...{ item_id, kind, from_name: from, from_peer_id, correlation_id, text, created_at },
      attachments: JSON.stringify(toWire(item.attachments)),
      question: item.question && JSON.stringify(item.question),
    },
  );
}

export function get(db: Database, item_id: string): InboxItem | undefined {
  const row = db.get(Row, `select ${COLUMNS} from inbox_items where item_id = :item_id`, {
    item_id,
  });
  return row && toItem(db, row);
}

/** Newest first; `before` is the seq of the last page's end. */
export function list(db: Database, unread: boolean, limit: number): InboxItem[] {
  return db.all(
    Row,
    `select ${COLUMNS} from inbox_items where (:unread = 0 or read_at is null)
     order by seq desc limit :limit`,
    { unread: unread ? 1 : 0, limit },
  ).map((row) => toItem(db, row));
}

/** Items that were pushed to a surface; the order of their refs is the desk's to make. */
export function pushedTo(db: Database, surface: string): InboxItem[] {
  return db.all(
    Row,
    `select ${COLUMNS} from inbox_items
     where item_id in (select item_id from pushes where surface = :surface and status = 'pushed')
     order by seq desc`,
    { surface },
  ).map((row) => toItem(db, row));
}

export function askItem(db: Database, correlation_id: string): InboxItem | undefined {
  const row = db.get(
    Row,
    `select ${COLUMNS} from inbox_items
     where correlation_id = :correlation_id and kind = 'ask' order by seq desc limit 1`,
    { correlation_id },
  );
  return row && toItem(db, row);
}

/** Item ids that a surface rendered, in whole or in part, as this message. */
export function byRef(db: Database, surface: string, ref: string): string | undefined {
  return db.get(
    z.object({ item_id: z.string() }),
    `select item_id from pushes
     where surface = :surface and (surface_ref = :ref or exists
       (select 1 from json_each(surface_refs) where value = :ref))
     order by at desc limit 1`,
    { surface, ref },
  )?.item_id;
}

export function markRead(db: Database, item_id: string, by: string, at: number): number {
  return db.run(
    `update inbox_items set read_at = :at, read_by = :by
     where item_id = :item_id and read_at is null`,
    { item_id, by, at },
  );
}

export function markReplied(db: Database, item_id: string, at: number): number {
  return db.run(
    "update inbox_items set replied_at = :at where item_id = :item_id and replied_at is null",
    { item_id, at },
  );
}

export function upsertPush(db: Database, item_id: string, push: Push): void {
  db.run(
    `insert into pushes (item_id, surface, status, surface_ref, surface_refs, verified,
       error_class, at)
     values (:item_id, :surface, :status, :surface_ref, :surface_refs, :verified, :error_class, :at)
     on conflict (item_id, surface) do update set status = excluded.status,
       surface_ref = excluded.surface_ref, surface_refs = excluded.surface_refs,
       verified = excluded.verified, error_class = excluded.error_class, at = excluded.at`,
    z.encode(PushRow, { item_id, ...push }),
  );
}

/** Items of the last while that a surface should have and has not: oldest first. */
export function unpushed(db: Database, surface: string, since: number): InboxItem[] {
  return db.all(
    Row,
    `select ${COLUMNS} from inbox_items
     where created_at >= :since and item_id in
       (select item_id from pushes where surface = :surface and status in ('pending', 'failed'))
     order by seq`,
    { surface, since },
  ).map((row) => toItem(db, row));
}

const Old = z.object({
  seq: z.number(),
  item_id: z.string(),
  kind: z.string(),
  correlation_id: z.string().nullable(),
});

/** Items that were read before an instant, in their order. */
export function readBefore(
  db: Database,
  part: { before: number; after: number; limit: number },
): z.output<typeof Old>[] {
  return db.all(
    Old,
    `select seq, item_id, kind, correlation_id from inbox_items
     where read_at < :before and seq > :after order by seq limit :limit`,
    part,
  );
}

/** Forgets an item, with its pushes. */
export function forget(db: Database, item_id: string): void {
  db.run("delete from inbox_items where item_id = :item_id", { item_id });
}

const Ref = z.object({ surface_ref: z.string().nullable() });

/** What a surface rendered last of a thread. */
export function lastRef(db: Database, surface: string, correlation_id: string): string | null {
  const found = db.get(
    Ref,
    `select surface_ref from pushes join inbox_items using (item_id)
     where surface = :surface and correlation_id = :correlation_id and surface_ref is not null
     order by inbox_items.seq desc limit 1`,
    { surface, correlation_id },
  );
  return found?.surface_ref ?? null;
}

function toItem(db: Database, row: z.output<typeof StoredItem>): InboxItem {
  const { seq: _, from_name, ...item } = row;
  const pushes = db.all(
    PushRow,
    `select item_id, surface, status, surface_ref, surface_refs,
    verified, error_class, at from pushes where item_id = :item_id order by seq`,
    {
      item_id: item.item_id,
    },
  ).map(({ item_id: _, ...push }) => push);
  return {
    ...item,
    from: from_name,
    read: item.read_at !== null,
    replied: item.replied_at !== null,
    pushes,
  };
}
