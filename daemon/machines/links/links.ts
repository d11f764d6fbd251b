/**
 * Links to other machines: entries that reach each of them once and in order, even if the bus
 * repeats, loses or reorders batches.
 */

import { Problem } from "protocol/problems.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import { atMostEvery } from "kit/core/timeout.ts";
import {
  type Batch,
  decodeBatch,
  ENTRY_BYTES_MAX,
  fitsEntry,
  isKind,
  REFUSED,
  type RefusedBody,
} from "./batch.ts";
import { callHandler, type LinksDeps } from "./handlers.ts";
import { ENTRY_MS_MAX, IncomingLink } from "./incoming_link.ts";
import { OutgoingLink } from "./outgoing_link.ts";
import { isOwn, toLinkEntry } from "./reading.ts";
import * as store from "./store.ts";

/** Longer than entries are sent, because the clocks of two machines may differ by some hours. */
const RECEIPT_MS_MAX = ENTRY_MS_MAX + 86_400_000;
/** Maximum number of receipts and of entries, up to 1 MB each, that one clean-up deletes. */
const RECEIPTS_REMOVED_MAX = 1000;
const ENTRIES_REMOVED_MAX = 16;
/** Maximum number of unconfirmed refusals of a machine: each is a row for 30 days. */
export const REFUSALS_MAX = 10_000;
/** Minimum time between two logs that batches of a machine cannot be read. */
const UNREADABLE_MS = 60_000;

interface Link {
  readonly outgoing: OutgoingLink;
  readonly incoming: IncomingLink;
}

export class Links {
  readonly #deps: LinksDeps;
  readonly #links = new Map<string, Link>();
  /** The last entry of earlier runs, which may have been handed to the bus. */
  readonly #before: number;
  #isConnected = false;
  #isStopped = false;
  readonly #mayLog: () => boolean;

  constructor(deps: LinksDeps) {
    this.#deps = deps;
    this.#before = store.lastEntryId(deps.db);
    this.#mayLog = atMostEvery(deps.clock, UNREADABLE_MS);
  }

  /**
   * Stores an entry for another machine, which gets it once, after all earlier ones. The body is
   * stored as JSON. Returns the tag of the entry. Throws `body_too_large` above 1 MB.
   */
  append(tx: Tx, daemonId: string, kind: string, body: object): string {
    if (!isOwn({ kind }) || !isKind(kind)) throw new Error(`Not a kind of entry: ${kind}`);
    return this.#append(tx, daemonId, kind, body);
  }

  /**
   * Removes an entry that was not handed to the bus. Returns false if the bus may have it, and for
   * each entry of an earlier run, because nothing records which of them were handed over.
   */
  withdraw(tx: Tx, daemonId: string, tag: string): boolean {
    const entry_id = store.idOfTag(tx, daemonId, tag);
    if (entry_id === undefined || entry_id <= this.#before) return false;
    if (this.#links.get(daemonId)?.outgoing.wasHanded(entry_id)) return false;
    store.deleteEntry(tx, entry_id);
    return true;
  }

  /**
   * Takes a batch from the bus. Rejects only if it could not be stored, so that the bus repeats it.
   * An unreadable batch is dropped. Entries are on the disk when it resolves.
   */
  async receive(from: string, bytes: Uint8Array): Promise<void> {
    if (this.#isStopped) throw new Problem("shutting_down", {});
    const batch = this.#read(from, bytes);
    if (!batch) return;
    const { db } = this.#deps;
    const { incoming } = this.#linkTo(from);
    const take = (tx: Tx) => incoming.take(tx, batch);
    // A confirmation may be lost in a crash: the next one, or the answer to a probe, covers it.
    if (incoming.onlyConfirms(db, batch)) return db.transactLazily(take);
    if (incoming.isInDoubt(batch)) await this.#deps.measureClock(from);
    await this.#deps.fetch(from, batch.entries);
    db.transact(take);
    await db.whenDurable();
  }

  /** The bus can be reached, from the start or again. It may have lost stored batches. */
  busConnected(): void {
    if (this.#isStopped) return;
    this.#isConnected = true;
    for (const { outgoing } of this.#links.values()) outgoing.connect();
    // Reading stores what other transactions have deferred, for which the disk may have no room.
    this.#deps.db.failures.repeatUntilStored((tx) => {
      for (const daemonId of store.machinesWithEntries(tx)) this.#linkTo(daemonId);
    });
  }

  busLost(): void {
    this.#isConnected = false;
    for (const { outgoing } of this.#links.values()) outgoing.disconnect();
  }

  /** Tries at once what is waiting: for a machine whose key became known, or that is seen again. */
  wake(daemonId: string): void {
    if (!this.#isConnected) return;
    const { outgoing } = this.#linkTo(daemonId);
    outgoing.tellPosition();
    outgoing.connect();
  }

  /** Number of entries that the other machine has not confirmed, and the time of the oldest. */
  waiting(db: Reader, daemonId: string): { entries: number; oldest_at: number | null } {
    return {
      entries: store.countEntries(db, daemonId),
      oldest_at: store.oldestAtOf(db, daemonId) ?? null,
    };
  }

  /** The last time at which one of the two databases went back, and the entries sent again. */
  lossOf(db: Reader, daemonId: string): { at: number; sent_again: number } | null {
    return store.lossOf(db, daemonId) ?? null;
  }

  /** Number of entries that any other machine has not confirmed. */
  waitingForAll(db: Reader): number {
    return store.countAllEntries(db);
  }

  /** Drops the entries that wait for a machine. Receipts stay: the bus may still repeat batches. */
  forget(tx: Tx, daemonId: string): void {
    store.deleteEntriesOf(tx, daemonId);
    store.deletePosition(tx, daemonId);
    this.#deps.db.afterCommit(() => {
      this.#links.get(daemonId)?.outgoing.stop();
      this.#links.delete(daemonId);
    });
  }

  /**
   * Drops some entries older than 30 days, and old receipts. Costs two reads if there are none.
   * A clock that was set back only delays this.
   */
  removeExpired(): void {
    const { db, clock } = this.#deps;
    const now = clock.now();
    const oldest = store.oldestAt(db);
    const isDue = (oldest !== undefined && now - oldest > ENTRY_MS_MAX) ||
      store.hasReceiptsBefore(db, now - RECEIPT_MS_MAX);
    if (!isDue) return;
    db.transactLazily((tx) => {
      store.deleteReceiptsBefore(tx, now - RECEIPT_MS_MAX, RECEIPTS_REMOVED_MAX);
      for (const entry of store.oldestEntries(tx, ENTRIES_REMOVED_MAX)) {
        if (now - entry.created_at <= ENTRY_MS_MAX) break;
        this.#expire(tx, entry);
      }
    });
  }

  /** Drops the entries that were appended before a time. Their owner gets the reason. */
  leaveBefore(at: number, reason: string): void {
    for (let isMore = true; isMore;) {
      isMore = this.#deps.db.transact((tx) => {
        const oldest = store.oldestEntries(tx, ENTRIES_REMOVED_MAX);
        const entries = oldest.filter(({ created_at }) => created_at < at);
        for (const entry of entries) {
          store.deleteEntry(tx, entry.entry_id);
          if (!isOwn(entry)) continue;
          callHandler(this.#deps, "refused", entry.daemon_id, toLinkEntry(entry), reason);
        }
        return entries.length > 0;
      });
    }
  }

  /** Publishes no more. A batch that is being published then counts as unclear. */
  stop(): void {
    this.#isStopped = true;
    this.#isConnected = false;
    for (const { outgoing } of this.#links.values()) outgoing.stop();
  }

  #append(tx: Tx, daemon_id: string, kind: string, body: object): string {
    const { db, clock, ids } = this.#deps;
    const json = JSON.stringify(body);
    if (!fitsEntry(json)) throw new Problem("body_too_large", { bytes_max: ENTRY_BYTES_MAX });
    const tag = ids.hex(8);
    store.insertEntry(tx, { daemon_id, tag, kind, json, created_at: clock.now() });
    db.afterCommit(() => this.#linkTo(daemon_id).outgoing.wake());
    return tag;
  }

  #expire(tx: Tx, entry: store.StoredEntry): void {
    store.deleteEntry(tx, entry.entry_id);
    if (isOwn(entry)) callHandler(this.#deps, "expired", entry.daemon_id, [toLinkEntry(entry)]);
  }

  #read(from: string, bytes: Uint8Array): Batch | undefined {
    const { sealing, log } = this.#deps;
    const opened = sealing.open(from, bytes);
    const batch = opened ? decodeBatch(opened) : undefined;
    if (batch) return batch;
    if (this.#mayLog()) {
      const reason = opened ? "not_a_batch" : "not_opened";
      log.warn("A batch of another machine was dropped", { daemon_id: from, reason });
    }
    return undefined;
  }

  #linkTo(daemonId: string): Link {
    return this.#links.getOrInsertComputed(daemonId, () => {
      const outgoing = new OutgoingLink(daemonId, this.#deps);
      const appendRefusal = (tx: Tx, refusal: RefusedBody) => {
        if (store.hasRefusals(tx, daemonId, REFUSALS_MAX)) return;
        this.#append(tx, daemonId, REFUSED, refusal);
      };
      const incoming = new IncomingLink(daemonId, this.#deps, { outgoing, appendRefusal });
      if (this.#isConnected) outgoing.connect();
      return { outgoing, incoming };
    });
  }
}
