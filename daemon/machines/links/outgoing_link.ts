/**
 * Publishes the entries for one machine in order, one batch at a time, with confirmations of the
 * entries of that machine.
 *
 * Batches form a chain: each names the entry before its first entry, so that the receiver notices a
 * lost batch and asks to resend. At the start, a chain begins after the last confirmed entry, so
 * that each gap is noticed, even if the receiver's database went back in the meantime. After a
 * request to resend, it begins after the last entry that the receiver has applied.
 *
 * A probe finds a loss when nothing else is sent: a batch without entries that names the last
 * published entry. The receiver confirms it or asks to resend. A probe costs 300 bytes, and the
 * entries are not sent again for each reconnection: a machine that is off for a week finds them in
 * the stream once. The next probe also notices a bus that lost its store.
 */

import { messageOf } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { BusError, type BusFailure } from "../bus.ts";
import { type Batch, BATCH_ENTRIES_MAX, encodeBatch } from "./batch.ts";
import { callHandler, type LinksDeps } from "./handlers.ts";
import { ownEntries, readPortion, toLinkEntry } from "./reading.ts";
import * as store from "./store.ts";
import { atMostEvery, RetryTimer } from "kit/core/timeout.ts";

/** Delay of a confirmation, so that several share a batch or travel with entries. */
const ANSWER_MS = 20;
const RETRY_MS = { first: 1000, max: 60_000 };
/** A week of probes is 200 batches; an entry that the bus lost is late by an hour at most. */
export const PROBE_MS = { first: 30_000, max: 3_600_000 };
/** Number of times that a run reports its position, and the pause between two reports. */
const POSITIONS = 3;
const POSITION_MS = 40_000;
/** Minimum time between two resends: each batch behind a lost batch causes a request. */
const RESEND_MS_MIN = 5000;

/** The reasons to send a batch besides entries. */
const NOTHING = { resend: false, confirmation: false, probe: false, position: false, lost: false };

/** Batches in which each continues the previous batch. */
interface Chain {
  /** The last entry that was published; 0 if none was, and all that wait are to be. */
  published: number;
  /** The tag of the last published entry, or of the entry after which the chain begins. */
  previous: string | null;
}

interface PendingBatch {
  readonly id: string;
  readonly bytes: Uint8Array;
  readonly chain: Chain;
  readonly entries: readonly store.StoredEntry[];
  readonly resend: boolean;
}

export class OutgoingLink {
  readonly #daemonId: string;
  readonly #deps: LinksDeps;
  /** Begins with the first batch of a run: earlier confirmations are not a part of it. */
  #chain: Chain | undefined;
  /** The batch that is being published, or is published again after an unclear attempt. */
  #pending: PendingBatch | undefined;
  /** The last entry of a batch since the start. */
  #handed = 0;
  #isPublishing = false;
  #isConnected = false;
  readonly #retry: RetryTimer;
  readonly #probe: RetryTimer;
  #due = { ...NOTHING };
  /** Number of position reports in this run. */
  #positions = 0;
  #cancelPosition: (() => void) | undefined;
  #cancelAnswer: (() => void) | undefined;
  readonly #mayResend: () => boolean;
  /** Less than usual after the bus found a batch too large, or had no room for it. */
  #entriesMax = BATCH_ENTRIES_MAX;

  constructor(daemonId: string, deps: LinksDeps) {
    this.#daemonId = daemonId;
    this.#deps = deps;
    this.#mayResend = atMostEvery(deps.clock, RESEND_MS_MIN);
    this.#retry = new RetryTimer(deps.clock, RETRY_MS, () => this.wake());
    this.#probe = new RetryTimer(deps.clock, PROBE_MS, () => {
      this.#due.probe = true;
      this.wake();
    });
  }

  /** The bus can be reached. It may have lost stored batches. */
  connect(): void {
    this.#isConnected = true;
    this.#due.probe = true;
    this.#retry.reset();
    this.wake();
  }

  /**
   * Reports the last applied entry to the other machine in each run. Repeats the report, because
   * the bus may lose or reorder batches, and no later entry would reveal the loss.
   */
  tellPosition(): void {
    if (this.#positions === 0) this.#repeatPosition();
  }

  /**
   * Reports that this machine's own database went back: the other machine has applied entries that
   * this one does not know.
   */
  tellLoss(): void {
    this.#due.lost = true;
    this.wake();
  }

  #repeatPosition(): void {
    this.#due.position = true;
    if (++this.#positions >= POSITIONS) return;
    this.#cancelPosition = this.#deps.clock.setTimer(POSITION_MS, () => {
      this.#repeatPosition();
      this.wake();
    });
  }

  disconnect(): void {
    this.#isConnected = false;
    this.#retry.reset();
  }

  /** Ends the link for good. A batch that is being published then counts as unclear. */
  stop(): void {
    this.disconnect();
    this.#probe.reset();
    this.#cancelAnswer?.();
    this.#cancelAnswer = undefined;
    this.#cancelPosition?.();
  }

  /** True if an entry may have been handed to the bus since the start. */
  wasHanded(entry_id: number): boolean {
    return entry_id <= this.#handed;
  }

  /** Publishes due entries, unless it waits after a failed attempt. */
  wake(): void {
    if (this.#isConnected && !this.#isPublishing && !this.#retry.isWaiting) {
      void this.#publishAll();
    }
  }

  /** Reports soon to the other machine what was applied, or that entries are missing. */
  answer(what: "confirmation" | "resend"): void {
    this.#due[what] = true;
    this.#cancelAnswer ??= this.#deps.clock.setTimer(ANSWER_MS, () => {
      this.#cancelAnswer = undefined;
      this.wake();
    });
  }

  /**
   * The other machine misses entries after this one, the last that it has applied. The repeat
   * begins there, and not after the last confirmed entry. This ends the requests also if the two
   * differ.
   */
  resend(applied: string | null): void {
    if (!this.#mayResend()) return;
    const { db } = this.#deps;
    const published = applied === null ? undefined : store.idOfTag(db, this.#daemonId, applied);
    this.#chain = { published: published ?? 0, previous: applied };
    this.wake();
  }

  /** The other machine has confirmed entries, so it is there. */
  progressed(): void {
    if (!this.#probe.isWaiting) return;
    this.#probe.reset();
    this.#probe.wait();
  }

  async #publishAll(): Promise<void> {
    this.#isPublishing = true;
    try {
      while (this.#isConnected) {
        const batch = this.#pending ?? this.#build();
        if (!batch) break;
        // The batch may hold answers of a transaction that still fails. The other machine then asks
        // for them again, as it repeats its batches.
        await this.#deps.db.whenDurable();
        if (!this.#isConnected) break;
        this.#pending = batch;
        await this.#publish(batch);
      }
    } catch (error) {
      this.#failed(error);
    }
    this.#isPublishing = false;
  }

  #build(): PendingBatch | undefined {
    const { db, ids, sealing } = this.#deps;
    const daemon_id = this.#daemonId;
    const chain = this.#chain ??= {
      published: 0,
      previous: store.confirmedTag(db, daemon_id) ?? null,
    };
    const after = chain.published;
    const entries = readPortion(db, { daemon_id, after, entries_max: this.#entriesMax });
    const due = this.#due;
    const confirm = due.position ||
      entries.length === 0 && due.probe && this.#isUnconfirmed(chain);
    const isAnswerDue = !this.#cancelAnswer && (due.confirmation || due.resend);
    if (entries.length === 0 && !confirm && !isAnswerDue && !due.lost) return undefined;
    const position = this.#applied(entries.at(-1)?.entry_id ?? after);
    // The other machine resends from the position in the batch.
    const resend = due.resend && position.applied_at !== undefined;
    const batch: Batch = {
      previous: chain.previous,
      entries: entries.map(toLinkEntry),
      ...position,
      resend,
      lost: due.lost,
      confirm,
    };
    this.#handed = Math.max(this.#handed, entries.at(-1)?.entry_id ?? 0);
    const bytes = sealing.seal(daemon_id, encodeBatch(batch));
    if (!bytes) throw new Error(`No key of ${daemon_id} is known, so nothing is sealed for it`);
    this.#due = { ...NOTHING, resend: due.resend && !resend };
    this.#cancelAnswer?.();
    this.#cancelAnswer = undefined;
    // The id is random, because a batch of a new chain may equal a batch that the receiver has
    // dropped. The bus must not take it for a repeat.
    return { id: ids.hex(16), bytes, chain, entries, resend: batch.resend };
  }

  /**
   * The last tag that was applied from the other machine; null while a refusal waits that this
   * batch does not hold, because a confirmation covers all entries before it.
   */
  #applied(last: number): Pick<Batch, "applied" | "applied_at"> {
    const { db } = this.#deps;
    if (store.hasRefusalAfter(db, this.#daemonId, last)) return { applied: null };
    const applied = store.lastTag(db, this.#daemonId) ?? null;
    return { applied, applied_at: store.lastAppliedAt(db, this.#daemonId) };
  }

  #isUnconfirmed({ published }: Chain): boolean {
    const oldest = store.oldestId(this.#deps.db, this.#daemonId);
    return oldest !== undefined && oldest <= published;
  }

  async #publish({ id, bytes, chain, entries }: PendingBatch): Promise<void> {
    const { db } = this.#deps;
    await this.#deps.prepare(this.#daemonId, ownEntries(entries));
    await this.#deps.send(this.#daemonId, id, bytes);
    if (!this.#isConnected) return;
    const last = entries.at(-1);
    if (last) {
      // Nobody waits for this: after a crash, the entries are published again.
      db.transactLazily((tx) => this.#storePublished(tx, entries));
      chain.published = last.entry_id;
      chain.previous = last.tag;
    }
    this.#pending = undefined;
    this.#entriesMax = Math.min(this.#entriesMax * 2, BATCH_ENTRIES_MAX);
    this.#retry.reset();
    if (!this.#probe.isWaiting && this.#isUnconfirmed(chain)) this.#probe.wait();
  }

  /** Entries that were confirmed before the bus has answered are not reported as published. */
  #storePublished(tx: Tx, entries: readonly store.StoredEntry[]): void {
    const oldest = store.oldestId(tx, this.#daemonId) ?? Infinity;
    const left = ownEntries(entries.filter(({ entry_id }) => entry_id >= oldest));
    if (left.length > 0) callHandler(this.#deps, "published", this.#daemonId, left);
  }

  #failed(error: unknown): void {
    const { log } = this.#deps;
    if (!this.#retry.isFailing) {
      log.warn("A batch was not published", {
        daemon_id: this.#daemonId,
        reason: error instanceof BusError ? error.reason : "failed",
        detail: messageOf(error),
      });
    }
    if (error instanceof BusError) this.#splitPending(error.reason);
    if (this.#isConnected) this.#retry.wait();
  }

  /**
   * Makes smaller batches of a batch that the bus refuses: a full bus may have room for a part, and
   * may never have room for the whole. A single entry waits for room, but is refused if it is too
   * large.
   */
  #splitPending(reason: BusFailure): void {
    const pending = this.#pending;
    if (!pending || (reason !== "too_large" && reason !== "full")) return;
    const [first, ...rest] = pending.entries;
    if (reason === "full" && rest.length === 0) return;
    this.#pending = undefined;
    this.#due.resend ||= pending.resend;
    if (!first) return;
    this.#entriesMax = Math.ceil((rest.length + 1) / 2);
    if (rest.length === 0) this.#refuse(first);
  }

  #refuse(entry: store.StoredEntry): void {
    this.#deps.db.failures.repeatUntilStored((tx) => {
      if (store.idOfTag(tx, this.#daemonId, entry.tag) === undefined) return;
      store.deleteEntry(tx, entry.entry_id);
      callHandler(this.#deps, "refused", this.#daemonId, toLinkEntry(entry), "too_large");
    });
  }
}
