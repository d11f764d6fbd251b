/**
 * The database goes back to an earlier copy, while clients, processes and panes go on. Ids of the
 * lost time are never given again.
 */

import assert from "node:assert/strict";
import { identOf, type Snapshot, takeSnapshot } from "./snapshot.ts";
import { type Receipts, receiptsOf } from "./receipts.ts";
import type { Storm } from "./storm.ts";

/** Number of earlier moments that a restore may choose from. */
const COPIES_MAX = 3;
const PROVED = new Set(["accepted", "seen"]);

/** Copies the database, as `mesh backup` does. */
export function copyDatabase(storm: Storm): Promise<void> {
  const { copies, runs, last_event, ended, received } = storm;
  const receipts = receiptsOf(received);
  copies.push({ image: runs.files.read(), last_event, ended: new Map(ended), receipts });
  copies.splice(0, copies.length - COPIES_MAX);
  return Promise.resolve();
}

/** Replaces the database by a copy, which lacks all later changes. */
export async function goBack(storm: Storm): Promise<void> {
  const { copies, runs, chance, leases, actors } = storm;
  if (copies.length === 0) return await copyDatabase(storm);
  const copy = chance.pick(copies);
  const lost = takeSnapshot(storm.w.daemon);
  const lostEvents = storm.w.daemon.ctx.events.read({ since: copy.last_event, limit: 100_000 });
  for (const actor of actors) actor.stopListening();
  const old = runs.goBack(copy.image);
  storm.last_event = copy.last_event;
  storm.ended.clear();
  for (const [id, reason] of copy.ended) storm.ended.set(id, reason);
  const lateLeases = [...leases];
  storm.startAgain();
  leases.push(...lateLeases); // Their receipts still come.
  await old[Symbol.asyncDispose]();
  const now = takeSnapshot(storm.w.daemon);
  for (const { id } of lostEvents) storm.lost.add(`event ${id}`);
  for (const id of idsOf(lost)) storm.lost.add(id);
  // A copy may be newer than the state before it, and bring back what an earlier restore removed.
  for (const id of idsOf(now)) storm.lost.delete(id);
  for (const { id } of storm.w.daemon.ctx.events.read({ since: 0, limit: 1_000_000 })) {
    if (id <= copy.last_event) storm.lost.delete(`event ${id}`);
  }
  forgetLost(storm, now, copy.receipts);
  storm.before = now;
}

/** Forgets records that the restore itself has removed: they are no loss. */
function forgetLost(
  storm: Storm,
  { byIdent }: Snapshot,
  receipts: Receipts,
): void {
  const { accepted, keyed, received, written } = storm;
  for (const ident of accepted.keys()) if (!byIdent.has(ident)) accepted.delete(ident);
  for (const request of keyed) {
    if (request.id !== undefined && !byIdent.has(identOf(request.id))) request.id = undefined;
  }
  for (const [peer_id, { texts, plain, lateIds, receipted }] of received) {
    plain.clear();
    for (const id of receipts.get(peer_id) ?? []) receipted.add(id);
    for (const id of receipted) {
      if (!PROVED.has(byIdent.get(identOf(id))?.state ?? "")) receipted.delete(id);
    }
    for (const id of texts.keys()) {
      if (byIdent.has(identOf(id))) lateIds.add(id);
      else texts.delete(id);
    }
  }
  written.clear();
}

/** The ids that a daemon has given. A peer that is lost may register under its id again. */
function idsOf({ messages, inboxItems, jobs, attempts, templates }: Snapshot): Set<string> {
  return new Set([
    ...messages.map(({ ident }) => ident),
    ...inboxItems.map(({ item_id }) => item_id),
    ...jobs.keys(),
    ...attempts.map(({ attempt_id }) => attempt_id),
    ...templates.keys(),
  ]);
}

/** Checks that no id of the lost time is given again. */
export function checkLost(storm: Storm, now: Snapshot): void {
  if (storm.lost.size === 0) return;
  for (const id of idsOf(now)) assert.ok(!storm.lost.has(id), `${id} is given twice`);
  for (const { id } of storm.w.daemon.ctx.events.read({ since: 0, limit: 1_000_000 })) {
    assert.ok(!storm.lost.has(`event ${id}`), `Event ${id} is given twice`);
  }
}
