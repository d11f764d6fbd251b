/**
 * Takes batches of one machine: applies each entry once and in order, and removes the entries that
 * the other machine has confirmed.
 *
 * The entries with receipts are always the oldest entries of the other machine, without a gap. A
 * batch is therefore in order if the entry before it has a receipt, even if it repeats entries.
 */

import type { Monotonic } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { Refusal } from "kit/core/problem.ts";
import { isProblem, toPublicCode } from "protocol/problems.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import { atMostEvery } from "kit/core/timeout.ts";
import { type Batch, type BatchEntry, REFUSED, RefusedBody } from "./batch.ts";
import { type ClockAhead, toOwnClock } from "../other_clock.ts";
import { callHandler, EntryRefused, type LinksDeps } from "./handlers.ts";
import type { OutgoingLink } from "./outgoing_link.ts";
import { isOwn, ownEntries, readPortion, toLinkEntry } from "./reading.ts";
import * as store from "./store.ts";

/**
 * Maximum age of an entry that is sent or applied. An entry may be ahead of this machine's clock by
 * the same time: one of the two clocks may have been set back since it was written, and reports of
 * a state are not repeated.
 */
export const ENTRY_MS_MAX = 30 * DAY_MS;

/** Maximum time by which a receipt may be ahead of this machine's clock. */
const RECEIPT_AHEAD_MS_MAX = 365 * DAY_MS;
/** An unmeasured clock is trusted while its entries differ by at most this time. */
const UNMEASURED_MS_MAX = 60_000;

/**
 * Limits of repairs: number within `LOSSES_MS`, and number of entries that may wait at that time. A
 * machine can claim any loss, and an old batch that the bus repeats looks like a loss.
 */
const LOSSES_MAX = 20;
const LOSSES_MS = 60_000;
const LOSS_ENTRIES_MAX = 10_000;
/** Margin before the start of a loss that a machine reports: clocks are compared only roughly. */
const LOST_MARGIN_MS = 600_000;
/** Maximum number of refusals that are repeated after a loss, newest first. */
const REFUSED_AGAIN_MAX = 10_000;

/** Minimum time between two logs that an entry of the machine is refused. */
const LOG_MS = 10_000;

/** Sends answers to the other machine. */
interface Answers {
  readonly outgoing: OutgoingLink;
  /** Appends the report of a refused entry. */
  appendRefusal(tx: Tx, refusal: RefusedBody): void;
}

export class IncomingLink {
  readonly #daemonId: string;
  readonly #deps: LinksDeps;
  readonly #answers: Answers;
  /** A machine can send thousands of entries in a second that are refused. */
  readonly #mayLog: () => boolean;
  /** Times of the last repairs of losses. */
  #losses: Monotonic[] = [];

  constructor(daemonId: string, deps: LinksDeps, answers: Answers) {
    this.#daemonId = daemonId;
    this.#deps = deps;
    this.#answers = answers;
    this.#mayLog = atMostEvery(deps.clock, LOG_MS);
  }

  /** Takes a batch in one transaction. Throws `storage_failed` if nothing of it was stored. */
  take(tx: Tx, batch: Batch): void {
    const { db } = this.#deps;
    const { outgoing } = this.#answers;
    this.#compare(tx, batch);
    if (this.#isInOrder(tx, batch.previous)) {
      if (!this.#applyNew(tx, batch)) this.#goBack(tx, batch);
      if (batch.applied !== null) this.#confirm(tx, batch.applied);
      if (batch.entries.length > 0 || batch.confirm) {
        db.afterCommit(() => outgoing.answer("confirmation"));
      }
    } else if (!batch.resend) {
      // A request to resend is never answered by a request: two machines that both miss entries
      // would ask each other for ever. The next batch with entries, or a probe, finds the loss.
      db.afterCommit(() => outgoing.answer("resend"));
    }
    if (batch.resend) db.afterCommit(() => outgoing.resend(batch.applied));
  }

  /** True if a batch needs no answer. */
  onlyConfirms(db: Reader, { previous, entries, confirm, resend, lost }: Batch): boolean {
    if (entries.length > 0 || confirm || resend || lost) return false;
    return this.#isInOrder(db, previous);
  }

  /**
   * Compares the last entry that the other machine applied with the last one that it confirmed. An
   * unknown entry shows that the database of one of the two went back, so both repair the loss.
   */
  #compare(tx: Tx, { applied, applied_at, lost }: Batch): void {
    if (applied_at === undefined) return;
    const daemon_id = this.#daemonId;
    const isKnown = (store.confirmedTag(tx, daemon_id) ?? null) === applied ||
      (applied !== null && store.idOfTag(tx, daemon_id, applied) !== undefined);
    if (isKnown && !lost || !this.#makeGood(tx, applied_at) || isKnown) return;
    this.#setConfirmed(tx, applied);
    this.#deps.db.afterCommit(() => this.#answers.outgoing.tellLoss());
  }

  /** Has lost messages sent again. Returns false if that happened too often. */
  #makeGood(tx: Tx, applied_at: number | null): boolean {
    const { clock, log } = this.#deps;
    const daemon_id = this.#daemonId;
    const now = clock.monotonic();
    this.#losses = this.#losses.filter((at) => now - at < LOSSES_MS);
    if (this.#losses.push(now) > LOSSES_MAX) return false;
    const waiting = store.countEntries(tx, daemon_id);
    if (waiting > LOSS_ENTRIES_MAX) return false;
    log.warn("The database of one of two machines went back", { daemon_id, applied_at });
    const since = this.#startOfLoss(tx, applied_at);
    this.#refuseAgain(tx, store.refusalsSince(tx, { daemon_id, since, limit: REFUSED_AGAIN_MAX }));
    callHandler(this.#deps, "wentBack", daemon_id, since);
    const sent_again = store.countEntries(tx, daemon_id) - waiting;
    store.setPosition(tx, daemon_id, { lost_at: clock.now(), sent_again });
    return true;
  }

  /**
   * Start of a loss. The other machine has the entries that it applied before this time. An entry
   * that it applied after its last known confirmation is unknown here because this database went
   * back. Then its time does not limit an earlier loss there, and everything counts as lost.
   */
  #startOfLoss(db: Reader, applied_at: number | null): number {
    const daemon_id = this.#daemonId;
    const at = toOwnClock(applied_at ?? 0, this.#deps.clockAheadOf(daemon_id));
    const isBefore = at < (store.confirmedAt(db, daemon_id) ?? Infinity);
    const since = applied_at !== null && isBefore ? at - LOST_MARGIN_MS : 0;
    return Math.max(since, this.#deps.clock.now() - ENTRY_MS_MAX);
  }

  #setConfirmed(tx: Tx, confirmed_tag: string | null): void {
    const confirmed_at = this.#deps.clock.now();
    store.setPosition(tx, this.#daemonId, { confirmed_tag, confirmed_at });
  }

  /** True if the times in a batch can be judged only once the other machine's clock is measured. */
  isInDoubt({ entries }: Batch): boolean {
    if (this.#deps.clockAheadOf(this.#daemonId) !== null) return false;
    const now = this.#deps.clock.now();
    return entries.some(({ at }) => Math.abs(at - now) > UNMEASURED_MS_MAX);
  }

  #isInOrder(db: Reader, previous: string | null): boolean {
    if (previous === null) return true;
    // The last entry may be so old that its receipt was deleted.
    if (store.lastTag(db, this.#daemonId) === previous) return true;
    return store.knownTags(db, this.#daemonId, [previous]).has(previous);
  }

  /** Returns true if any entry was new. */
  #applyNew(tx: Tx, batch: Batch): boolean {
    const { clock } = this.#deps;
    const { entries } = batch;
    const ahead_ms = this.#deps.clockAheadOf(this.#daemonId);
    const tags = entries.map(({ tag }) => tag);
    const known = store.knownTags(tx, this.#daemonId, tags);
    if (known.size > 0) this.#refuseAgain(tx, store.refusalsOf(tx, this.#daemonId, tags));
    const isNew = entries.some(({ tag }) => !known.has(tag));
    if (isNew && this.#hasForgotten(tx, batch, known)) this.#makeGood(tx, batch.applied_at ?? null);
    let lastApplied: string | undefined;
    for (const entry of entries) {
      if (known.has(entry.tag)) continue;
      known.add(entry.tag);
      store.insertReceipt(tx, this.#daemonId, entry.tag, receiptTime(entry.at, clock.now()));
      if (entry.kind === REFUSED) this.#takeRefusal(tx, entry);
      // The receipt of an older entry may have been deleted, so it may have been applied before.
      else if (!isInTime(entry.at, ahead_ms, clock.now())) {
        this.#refuse(tx, { tag: entry.tag, reason: "expired" });
        continue;
      } else this.#apply(tx, entry);
      lastApplied = entry.tag;
    }
    if (lastApplied) store.setPosition(tx, this.#daemonId, { last_tag: lastApplied });
    return isNew;
  }

  /**
   * True if the new entries of a batch do not follow the last applied entry: the sender has lost
   * the entries in between, because its database was restored. Earlier versions, which do not send
   * `applied_at`, begin each chain with null.
   */
  #hasForgotten(tx: Tx, batch: Batch, known: ReadonlySet<string>): boolean {
    const { previous, entries, applied_at } = batch;
    const before = entries.findLast(({ tag }) => known.has(tag))?.tag ?? previous;
    const last = store.lastTag(tx, this.#daemonId);
    if (last === undefined || before === last) return false;
    // An entry that was too old does not count as applied.
    if (before !== null) return !store.wasTooOld(tx, this.#daemonId, before);
    return applied_at !== undefined;
  }

  /**
   * Called if all entries of a batch were applied before. Perhaps the sender's database was
   * restored, and it does not know the last applied entry. Then confirms the last entry that it
   * knows. A batch that the bus repeats looks the same; the next entry or probe corrects this.
   */
  #goBack(tx: Tx, { previous, entries, confirm, applied_at = null }: Batch): void {
    const last = entries.at(-1)?.tag ?? previous;
    const current = store.lastTag(tx, this.#daemonId);
    const isChain = previous === null || previous === current || confirm;
    if (last === null || last === current || !isChain) return;
    store.setPosition(tx, this.#daemonId, { last_tag: last });
    this.#makeGood(tx, applied_at);
  }

  #apply(tx: Tx, entry: BatchEntry): void {
    const { db, log, handlers } = this.#deps;
    try {
      db.transactNested((nested) => handlers().apply(nested, this.#daemonId, entry));
    } catch (error) {
      if (isProblem(error, "storage_failed")) throw error;
      const reason = reasonOf(error);
      if (this.#mayLog()) {
        log.warn("An entry of another machine was refused", {
          daemon_id: this.#daemonId,
          kind: entry.kind,
          reason,
          error,
        });
      }
      this.#refuse(tx, { tag: entry.tag, reason });
    }
  }

  /** Refuses an entry that has a receipt, and keeps the reason for repeats of the entry. */
  #refuse(tx: Tx, refusal: RefusedBody): void {
    store.setRefused(tx, this.#daemonId, refusal);
    this.#answers.appendRefusal(tx, refusal);
  }

  /**
   * Repeats refusals that the other machine has lost. Without them, the next confirmation would
   * cover the refused entries.
   */
  #refuseAgain(tx: Tx, refusals: readonly RefusedBody[]): void {
    for (const refusal of refusals) this.#answers.appendRefusal(tx, refusal);
  }

  /**
   * The other machine refuses one of our entries. The entry keeps its place until it is confirmed:
   * the other machine may name it as its last entry, or refuse earlier entries later, because
   * repeated refusals come in any order. A malformed refusal gets no refusal.
   */
  #takeRefusal(tx: Tx, { body }: BatchEntry): void {
    const refusal = RefusedBody.safeParse(body).data;
    const refused = refusal && store.entryByTag(tx, this.#daemonId, refusal.tag);
    if (!refused || !isOwn(refused)) return;
    // The other machine never names an entry that was too old as its last one.
    if (refusal.reason === "expired") store.deleteEntry(tx, refused.entry_id);
    else store.endEntry(tx, refused.entry_id);
    callHandler(this.#deps, "refused", this.#daemonId, toLinkEntry(refused), refusal.reason);
  }

  /** A tag that is not found was confirmed before. */
  #confirm(tx: Tx, applied: string): void {
    const last = store.idOfTag(tx, this.#daemonId, applied);
    if (last !== undefined) this.#removeThrough(tx, last);
  }

  /** Removes confirmed entries, one portion after the other. */
  #removeThrough(tx: Tx, last: number): void {
    const { db } = this.#deps;
    const daemon_id = this.#daemonId;
    for (;;) {
      const confirmed = readPortion(tx, { daemon_id, after: 0, last });
      const lastConfirmed = confirmed.at(-1);
      if (!lastConfirmed) break;
      store.deleteThrough(tx, daemon_id, lastConfirmed.entry_id);
      this.#setConfirmed(tx, lastConfirmed.tag);
      callHandler(this.#deps, "confirmed", daemon_id, ownEntries(confirmed));
    }
    db.afterCommit(() => this.#answers.outgoing.progressed());
  }
}

/**
 * A receipt is kept a day longer than any clock could make its entry acceptable: for example, if
 * the other machine's clock was ahead when it wrote the entry, and is right when the bus repeats
 * it.
 */
function receiptTime(at: number, now: number): number {
  return Math.min(Math.max(at, now), now + RECEIPT_AHEAD_MS_MAX);
}

function isInTime(at: number, ahead_ms: ClockAhead, now: number): boolean {
  return Math.abs(now - toOwnClock(at, ahead_ms)) <= ENTRY_MS_MAX;
}

function reasonOf(error: unknown): string {
  if (error instanceof EntryRefused) return error.reason;
  return error instanceof Refusal ? toPublicCode(error.code) : "internal";
}
