/** SQL of surfaces, pushes and refs, one statement per function. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Push } from "./contract.ts";

/** A stored push. `delivery_id` is the delivery of the item to the surface, if there is one. */
const StoredPush = Push.extend({ item_id: z.string(), delivery_id: z.string().nullable() });
export type StoredPush = z.output<typeof StoredPush>;
const Row = rowOf(StoredPush);

const COLUMNS = `item_id, surface, status, surface_ref, surface_refs, verified, error_class, at,
  delivery_id`;

/** The pushes of an item, in the order of their creation. */
export function ofItem(db: Reader, item_id: string): Push[] {
  return db.all(Row, `select ${COLUMNS} from pushes where item_id = :item_id order by seq`, {
    item_id,
  }).map(({ item_id: _item, delivery_id: _id, ...push }) => push);
}

export function get(db: Reader, item_id: string, surface: string): StoredPush | undefined {
  return db.get(
    Row,
    `select ${COLUMNS} from pushes where item_id = :item_id and surface = :surface`,
    { item_id, surface },
  );
}

export function upsert(tx: Tx, push: StoredPush): void {
  tx.run(
    `insert into pushes (item_id, surface, status, surface_ref, surface_refs, verified,
       error_class, at, delivery_id)
     values (:item_id, :surface, :status, :surface_ref, :surface_refs, :verified, :error_class,
             :at, :delivery_id)
     on conflict (item_id, surface) do update set status = excluded.status,
       surface_ref = excluded.surface_ref, surface_refs = excluded.surface_refs,
       verified = excluded.verified, error_class = excluded.error_class, at = excluded.at,
       delivery_id = excluded.delivery_id`,
    z.encode(Row, push),
  );
}

/**
 * The pushes that a surface has not shown yet, of items created since `since`, oldest item first.
 */
export function unpushedSince(db: Reader, surface: string, since: number): StoredPush[] {
  return db.all(
    Row,
    `select ${COLUMNS} from pushes join
       (select item_id, seq as item_seq from inbox_items where created_at >= :since)
       using (item_id)
     where surface = :surface and status <> 'pushed' order by item_seq`,
    { surface, since },
  );
}

const Ref = z.object({ surface_ref: z.string().nullable() });

/**
 * The surface's ref of the latest item that precedes this item in its thread; null if there is
 * none.
 */
export function previousRefInThread(db: Reader, surface: string, item_id: string): string | null {
  const found = db.get(
    Ref,
    `select surface_ref from inbox_items as item
       join inbox_items as earlier on earlier.thread = item.thread and earlier.seq < item.seq
       join pushes on pushes.item_id = earlier.item_id
     where item.item_id = :item_id and surface = :surface and surface_ref is not null
     order by earlier.seq desc limit 1`,
    { surface, item_id },
  );
  return found?.surface_ref ?? null;
}

/**
 * Stores which item a surface's ref stands for. If the surface reuses the ref, it stands for the
 * newer item.
 */
export function saveRef(tx: Tx, surface: string, ref: string, item_id: string): void {
  tx.run(
    `insert into push_refs (surface, ref, item_id) values (:surface, :ref, :item_id)
     on conflict (surface, ref) do update set item_id = excluded.item_id`,
    { surface, ref, item_id },
  );
}

const ItemId = z.object({ item_id: z.string() });

/**
 * The item that a ref stands for. An exact match comes before a ref with the same decimal digits.
 */
export function byRef(
  db: Reader,
  { surface, ref, digits }: { surface: string; ref: string; digits: string | null },
): string | undefined {
  return db.get(
    ItemId,
    `select item_id, ref = :ref as exact from push_refs where surface = :surface and ref = :ref
     union all
     select item_id, 0 as exact from push_refs where surface = :surface and digits = :digits
     order by exact desc limit 1`,
    { surface, ref, digits },
  )?.item_id;
}

const Surface = z.object({ surface: z.string(), peer_id: z.string() });
export type Surface = z.output<typeof Surface>;

/** Surfaces that were connected since `since`, without bridges. */
export function recentSurfaces(db: Reader, since: number): Surface[] {
  return db.all(
    Surface,
    `select surface, peer_id from surfaces where bridge = 0 and seen_at >= :since
     order by surface`,
    { since },
  );
}

export function getSurface(db: Reader, surface: string): Surface | undefined {
  return db.get(Surface, "select surface, peer_id from surfaces where surface = :surface", {
    surface,
  });
}

/**
 * Stores a surface. Replaces rows with the same name or peer, because each peer has one surface.
 */
export function upsertSurface(
  tx: Tx,
  { surface, peer_id, bridge, at }: {
    surface: string;
    peer_id: string;
    bridge: boolean;
    at: number;
  },
): void {
  tx.run(
    `insert or replace into surfaces (surface, peer_id, bridge, seen_at)
     values (:surface, :peer_id, :bridge, :at)`,
    { surface, peer_id, bridge: bridge ? 1 : 0, at },
  );
}

export function markSeen(tx: Tx, surface: string, at: number): void {
  tx.run("update surfaces set seen_at = :at where surface = :surface", { surface, at });
}
