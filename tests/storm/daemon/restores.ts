/**
 * The database goes back to an earlier copy, while clients, processes and panes go on. Ids of the
 * lost time are never given again.
 */

import type { DatabaseCopy } from "./expectations.ts";
import { receiptsOf } from "./receipts.ts";
import { identOf, takeSnapshot } from "./snapshot.ts";
import type { Storm } from "./storm.ts";

/** Number of earlier moments that a restore may choose from. */
const COPIES_MAX = 3;
const PROVED = new Set(["accepted", "seen"]);

/** Copies the database, as `mesh backup` does. */
export function copyDatabase(storm: Storm): Promise<void> {
  const { copies, runs, ids, event_ids, ended, received } = storm;
  copies.push({
    image: runs.files.read(),
    ids,
    event_ids: [...event_ids],
    ended: new Map(ended),
    receipts: receiptsOf(received),
  });
  copies.splice(0, copies.length - COPIES_MAX);
  return Promise.resolve();
}

/** Replaces the database by a copy, which lacks all later changes. */
export async function goBack(storm: Storm): Promise<void> {
  const { copies, runs, chance, leases, actors } = storm;
  if (copies.length === 0) return await copyDatabase(storm);
  const copy = chance.pick(copies);
  for (const actor of actors) actor.stopListening();
  const old = runs.goBack(copy.image);
  const lateLeases = [...leases];
  storm.startAgain();
  leases.push(...lateLeases); // Their receipts still come.
  // Before the new daemon has done anything: its own work must not be forgotten.
  forgetLost(storm, copy);
  await old[Symbol.asyncDispose]();
}

/** Forgets what the restore itself has removed: it is no loss. */
function forgetLost(storm: Storm, copy: DatabaseCopy): void {
  const { accepted, keyed, received, writtenDeliveries: written, ended, gone_ids } = storm;
  const now = storm.before = takeSnapshot(storm.w.daemon);
  const { byIdent } = now;
  for (const id of storm.ids) gone_ids.add(id);
  // A copy brings back what was removed, or what an earlier restore has lost.
  for (const id of copy.ids) gone_ids.delete(id);
  storm.ids = copy.ids;
  storm.event_ids = [...copy.event_ids];
  ended.clear();
  for (const [id, reason] of copy.ended) ended.set(id, reason);
  for (const ident of accepted.keys()) if (!byIdent.has(ident)) accepted.delete(ident);
  for (const request of keyed) {
    if (request.id !== undefined && !byIdent.has(identOf(request.id))) request.id = undefined;
  }
  for (const [peer_id, { texts, plain, lateIds, receipted }] of received) {
    plain.clear();
    for (const id of copy.receipts.get(peer_id) ?? []) receipted.add(id);
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
