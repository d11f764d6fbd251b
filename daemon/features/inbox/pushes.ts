/** SQL of surfaces, pushes and refs, one statement per function. */

import * as z from "zod";
import { type Reader, rowOf, toValues, type Tx } from "kit/data/sqlite.ts";
import { Push } from "protocol/inbox.ts";

/** A stored push. `delivery_id` is the delivery of the item to the surface, if there is one. */
const StoredPush = Push.extend({ item_id: z.string(), delivery_id: z.string().nullable() });
export type StoredPush = z.output<typeof StoredPush>;
const Row = rowOf(StoredPush);

const columns = Object.keys(StoredPush.shape);
const SELECT = `select ${columns.join(", ")} from pushes`;

/** Pushes to devices (`push/`), with the columns of those to surfaces. */
const DEVICE_PUSHES = `select 'push:' || subscription_id,
    case when state in ('queued', 'sending') then 'pending'
      when state in ('failed', 'dropped') then 'failed' else 'pushed' end,
    push_id, json_array(push_id), state in ('shown', 'opened', 'dismissed'),
    case when state in ('failed', 'dropped') then reason end, changed_at, item_id, null, 1, seq
  from push_messages where item_id = :item_id and kind = 'item'`;

/** The pushes of an item to surfaces, and then to devices, in the order of their creation. */
export function ofItem(db: Reader, item_id: string): Push[] {
  return db.all(
    Row,
    `select ${columns.join(", ")}, 0 as to_device, seq from pushes where item_id = :item_id
     union all ${DEVICE_PUSHES} order by to_device, seq`,
    { item_id },
  )
    .map(({ item_id: _item, delivery_id: _id, ...push }) => push);
}

export function get(db: Reader, item_id: string, surface: string): StoredPush | undefined {
  const statement = `${SELECT} where item_id = :item_id and surface = :surface`;
  return db.get(Row, statement, { item_id, surface });
}

export function upsert(tx: Tx, push: StoredPush): void {
  const updates = columns.map((column) => `${column} = excluded.${column}`);
  tx.run(
    `insert into pushes ${toValues(columns)}
     on conflict (item_id, surface) do update set ${updates.join(", ")}`,
    z.encode(Row, push),
  );
}

const PendingItem = z.object({ item_id: z.string(), delivery_id: z.string().nullable() });

/**
 * Items created since `since` that a surface has not shown yet, oldest first. An unread item that
 * was never pushed to the surface counts as pending (contract 4).
 */
export function unpushedSince(
  db: Reader,
  surface: string,
  since: number,
): z.output<typeof PendingItem>[] {
  return db.all(
    PendingItem,
    `select item.item_id, item.seq, delivery_id from pushes
       join inbox_items as item using (item_id)
     where surface = :surface and status <> 'pushed' and created_at >= :since
     union all
     select item.item_id, item.seq, null from inbox_items as item indexed by inbox_unread
     where read_at is null and created_at >= :since and not exists
       (select 1 from pushes where pushes.item_id = item.item_id and surface = :surface)
     order by 2`,
    { surface, since },
  );
}

/** Asks that a surface has shown, created and closed since these times, oldest first. */
export function closedAsksShown(
  db: Reader,
  filter: { surface: string; since: number; closed_after: number },
): string[] {
  return db.values(
    z.string(),
    `select item.item_id from messages indexed by messages_closed
       join inbox_items as item on item.correlation_id = messages.correlation_id
       join pushes on pushes.item_id = item.item_id and surface = :surface and status = 'pushed'
     where messages.closed_at >= :closed_after and messages.kind = 'ask'
       and item.created_at >= :since and item.kind = 'ask'
     order by item.seq`,
    filter,
  );
}

/** The surface's ref of the latest earlier item of the thread; null if none of them has a ref. */
export function previousRefInThread(db: Reader, surface: string, item_id: string): string | null {
  return db.value(
    z.string(),
    `select surface_ref from inbox_items as item
       join inbox_items as earlier on earlier.thread = item.thread and earlier.seq < item.seq
       join pushes on pushes.item_id = earlier.item_id
     where item.item_id = :item_id and surface = :surface and surface_ref is not null
     order by earlier.seq desc limit 1`,
    { surface, item_id },
  ) ?? null;
}

/** Stores the item of a surface's ref. A reused ref stands for the newer item. */
export function saveRef(tx: Tx, surface: string, ref: string, item_id: string): void {
  tx.run(
    `insert into push_refs (surface, ref, item_id) values (:surface, :ref, :item_id)
     on conflict (surface, ref) do update set item_id = excluded.item_id`,
    { surface, ref, item_id },
  );
}

/** The item of a ref. An exact match comes before a ref with the same decimal digits. */
export function byRef(
  db: Reader,
  { surface, ref, digits }: { surface: string; ref: string; digits: string | null },
): string | undefined {
  return db.value(
    z.string(),
    `select item_id, ref = :ref as exact from push_refs where surface = :surface and ref = :ref
     union all
     select item_id, 0 as exact from push_refs where surface = :surface and digits = :digits
     order by exact desc limit 1`,
    { surface, ref, digits },
  );
}

const Surface = z.object({ surface: z.string(), peer_id: z.string(), seen_at: z.number() });
type Surface = z.output<typeof Surface>;

/** Surfaces that were connected since `since`, without bridges. */
export function recentSurfaces(db: Reader, since: number): Surface[] {
  return db.all(
    Surface,
    `select surface, peer_id, seen_at from surfaces where bridge = 0 and seen_at >= :since
     order by surface`,
    { since },
  );
}

export function getSurface(db: Reader, surface: string): Surface | undefined {
  const statement = "select surface, peer_id, seen_at from surfaces where surface = :surface";
  return db.get(Surface, statement, { surface });
}

/** Stores a surface, in place of one of the same name or peer: each peer has one surface. */
export function upsertSurface(
  tx: Tx,
  { bridge, ...surface }: Surface & { readonly bridge: boolean },
): void {
  tx.run(
    `insert or replace into surfaces (surface, peer_id, bridge, seen_at)
     values (:surface, :peer_id, :bridge, :seen_at)`,
    { ...surface, bridge: bridge ? 1 : 0 },
  );
}

export function markSeen(tx: Tx, surface: string, at: number): void {
  tx.run("update surfaces set seen_at = :at where surface = :surface", { surface, at });
}
