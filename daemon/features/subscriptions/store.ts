/** SQL of subscriptions: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { idsOf } from "../../data/short_ids.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { Subscription } from "protocol/subscriptions/contract.ts";

/** A subscription as stored: the public record and internal fields. */
export const StoredSubscription = Subscription.extend({
  /** The subscriber as the request named it. */
  from_peer: z.string(),
  kind: z.enum(["peer", "job", "ask", "file"]),
  expected: z.string(),
  glob: z.string().nullable(),
  /** For files: the folder of the peer when the subscription was created. */
  folder: z.string().nullable(),
  /** True if the request named the circle. Then no other circle is searched. */
  circle_given: z.boolean(),
  /** True if the text and the recipient have a proven human origin. */
  proven_human: z.boolean(),
  /** True if the caller was not proved to be the sender (contract 11). */
  unverified: z.boolean(),
  /** True if the condition held at its last check. */
  holds: z.boolean(),
  /** Number of occurrences that are not reported yet, and the proof of the last one. */
  pending: z.number().int(),
  pending_proof: z.string().nullable(),
  /** The time at which the pending occurrences are reported. */
  due_at: Instant.nullable(),
  /** For files: edits up to this time are reported, and the time of the next scan. */
  files_since: Instant.nullable(),
  scan_at: Instant.nullable(),
  settled_at: Instant.nullable(),
});
export type StoredSubscription = z.output<typeof StoredSubscription>;

const table = tableOf("subscriptions", StoredSubscription, "subscription_id");
export const { insert, update, get, remove } = table;

/** The first ids that begin with `short`. */
export const idsFrom = idsOf("subscriptions", "subscription_id");

/** The active subscriptions for states of peers, jobs and asks, which each tick checks. */
export function active(db: Reader): StoredSubscription[] {
  return table.all(db, "where state = 'active' and kind <> 'file' order by seq");
}

/** Active subscriptions with unreported occurrences, the longest overdue first. */
export function due(db: Reader, now: number, limit: number): StoredSubscription[] {
  const rest = "where state = 'active' and due_at <= :now order by due_at, seq limit :limit";
  return table.all(db, rest, { now, limit });
}

/** The active subscriptions for one state of a peer. */
export function ofPeer(db: Reader, peer_id: string, expected: string): StoredSubscription[] {
  const rest = `where state = 'active' and kind = 'peer' and subject_id = :peer_id
    and expected = :expected order by seq`;
  return table.all(db, rest, { peer_id, expected });
}

/** The active subscriptions of a subscriber. */
export function ofSubscriber(db: Reader, from_peer_id: string): StoredSubscription[] {
  const rest = "where state = 'active' and from_peer_id = :from_peer_id order by seq";
  return table.all(db, rest, { from_peer_id });
}

/** The next active subscription for files whose scan is due. */
export function nextScan(db: Reader, now: number): StoredSubscription | undefined {
  const rest = "where state = 'active' and scan_at <= :now order by scan_at, seq limit 1";
  return table.all(db, rest, { now })[0];
}

/** Ends delays: scans now, and notifies at `due` at the latest. */
export function bringForward(tx: Tx, { now, due }: { now: number; due: number }): void {
  tx.run(
    `update subscriptions set scan_at = min(scan_at, :now), due_at = min(due_at, :due)
     where state = 'active' and (scan_at > :now or due_at > :due)`,
    { now, due },
  );
}

/** Active subscriptions whose time has passed. */
export function expired(db: Reader, now: number, limit: number): StoredSubscription[] {
  const rest = "where state = 'active' and until <= :now order by until limit :limit";
  return table.all(db, rest, { now, limit });
}

export function activeCount(db: Reader): number {
  const statement = "select count(*) from subscriptions where state = 'active'";
  return db.value(z.number(), statement) ?? 0;
}

/** Number of a subscriber's active subscriptions. One without an id is known by its name. */
export function countOf(
  db: Reader,
  { peer_id, name }: { readonly peer_id: string | null; readonly name: string },
): number {
  const statement = `select count(*) from subscriptions where state = 'active'
    and from_peer_id is :peer_id and (:peer_id is not null or from_peer_name = :name)`;
  return db.value(z.number(), statement, { peer_id, name }) ?? 0;
}

export interface Filter {
  readonly state: string | null;
  readonly from: string | null;
  readonly limit: number;
}

export function list(db: Reader, { state, from, limit }: Filter): StoredSubscription[] {
  const rest = `where (:state is null or state = :state)
    and (:from is null or from_peer_id = :from or from_peer_name = :from)
    order by state <> 'active', seq desc limit :limit`;
  return table.all(db, rest, { state, from, limit });
}

/** Subscriptions that settled before an instant, oldest first. */
export function settledBefore(db: Reader, before: number, limit: number): string[] {
  return db.values(
    z.string(),
    `select subscription_id from subscriptions where settled_at < :before
     order by settled_at limit :limit`,
    { before, limit },
  );
}
