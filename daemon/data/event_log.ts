/** The event log. Events are written inside of a transaction and published after its commit. */

import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { bulkInsert } from "kit/data/deferred_inserts.ts";
import { followerOf, numberBefore, RunNumbers } from "./run_numbers.ts";
import type { Database } from "kit/data/sqlite.ts";
import {
  type DeliveryStep,
  EVENTS,
  type EventType,
  type MeshEvent,
  type TurnChange,
} from "protocol/events.ts";

export interface Listener {
  event?(event: MeshEvent): void;
  delivery?(step: DeliveryStep): void;
  turn?(change: TurnChange): void;
}

const Row = z.object({
  id: z.number(),
  at: z.number(),
  type: z.enum(Object.keys(EVENTS) as [EventType, ...EventType[]]),
  data: z.string(),
});
const INSERT = bulkInsert("events", ["id", "at", "type", "data"]);
const Bounds = z.object({ oldest: z.number().nullable(), last: z.number().nullable() });

/** Selects a part of the log: at most `limit` events after the id `since`. `type` is a filter. */
export interface Range {
  readonly since: number;
  readonly limit: number;
  readonly type?: string | undefined;
}

/** Number of events that a search reads before other requests run. It takes 5 to 10 ms. */
const SEARCH_STEP_EVENTS = 10_000;

/** After a pass that has deleted all old events, `prune` pauses for this time. */
const PRUNE_INTERVAL_MS = 60_000;

export class EventLog {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();
  /** The id of the last event that is on the disk. Readers see no later events. */
  #lastCommittedId: number;
  /** Gives the ids of this run, which no other run of this daemon uses. */
  readonly #numbers: RunNumbers;
  /** `prune` does nothing before this time. */
  #nextPruneAt = 0;

  constructor(db: Database, clock: Clock, ids: Pick<Ids, "distance" | "renew">, log: Log) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#lastCommittedId = this.#bounds().last ?? 0;
    const used = db.value(z.number(), "select seq from sqlite_sequence where name = 'events'");
    const last = Math.max(used ?? 0, this.#lastCommittedId);
    this.#numbers = new RunNumbers({ db, clock, ids }, "events", last);
  }

  /** The id of the last committed event; 0 if there is none. */
  get last(): number {
    return this.#lastCommittedId;
  }

  /** The id of the oldest event in the log; 0 if the log is empty. */
  get oldest(): number {
    return this.#bounds().oldest ?? 0;
  }

  /** True if no event after this id was deleted, and no restored database has lost the id. */
  continuesAfter(id: number): boolean {
    if (id === this.#lastCommittedId) return true;
    const follower = followerOf(this.#db, "events", id);
    if (follower > this.#lastCommittedId) return false;
    const exists = "select 1 from events where id = :follower";
    return this.#db.value(z.number(), exists, { follower }) !== undefined;
  }

  /** The last id before the newest `count` events. */
  idBefore(count: number): number {
    return numberBefore(this.#db, "events", { newest: this.#lastCommittedId, count });
  }

  append<T extends EventType>(type: T, fields: z.input<(typeof EVENTS)[T]>): void {
    const at = this.#clock.now();
    const data = EVENTS[type].parse(fields);
    const id = this.#db.transact((tx) => {
      const id = this.#numbers.next(tx);
      this.#db.afterRollback(() => this.#numbers.takeBack(id));
      tx.insertLater(INSERT, [id, at, type, JSON.stringify(data)]);
      return id;
    });
    const event = { id, type, at, data } as MeshEvent;
    this.#db.afterCommit(() => {
      this.#lastCommittedId = Math.max(this.#lastCommittedId, event.id);
      this.#notify((listener) => listener.event?.(event));
    });
  }

  /** Publishes a step of a delivery after the transaction commits. */
  step(step: DeliveryStep): void {
    if (this.#listeners.size === 0) return;
    this.#db.afterCommit(() => this.#notify((listener) => listener.delivery?.(step)));
  }

  /** Publishes what a peer does now. Called after the commit. */
  turn(change: TurnChange): void {
    this.#notify((listener) => listener.turn?.(change));
  }

  /** Returns committed events in order. */
  read(range: Range): MeshEvent[] {
    return this.#readUntil(this.#lastCommittedId, range);
  }

  /** As `read`, in steps: no index finds a type, and millions of other events may lie between. */
  async search({ since, limit, type }: Range): Promise<MeshEvent[]> {
    const found: MeshEvent[] = [];
    const last = this.#lastCommittedId;
    for (let from = Math.max(since, this.oldest - 1); from < last;) {
      const to = Math.min(last, from + SEARCH_STEP_EVENTS);
      found.push(...this.#readUntil(to, { since: from, limit: limit - found.length, type }));
      if (found.length >= limit) break;
      from = Math.max(to, this.#firstAfter(to, last) - 1); // Each run skips many ids.
      if (from < last) await this.#clock.sleep(0);
    }
    return found;
  }

  subscribe(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Deletes at most `limit` events older than `before`; returns how many were deleted. */
  prune(before: number, limit: number): number {
    const now = this.#clock.monotonic();
    if (now < this.#nextPruneAt) return 0;
    const deleted = this.#db.transact((tx) =>
      tx.run(
        `delete from events where id in
           (select id from (select id, at from events order by id limit :limit)
            where at < :before)`,
        { before, limit },
      )
    );
    if (deleted < limit) this.#nextPruneAt = now + PRUNE_INTERVAL_MS;
    return deleted;
  }

  /** Two searches: SQLite reads the whole log for a statement with both `min` and `max`. */
  #bounds() {
    const found = this.#db.get(
      Bounds,
      "select (select min(id) from events) as oldest, (select max(id) from events) as last",
    );
    return found ?? { oldest: null, last: null };
  }

  #firstAfter(id: number, last: number): number {
    const first = "select min(id) from events where id > :id";
    return this.#db.value(z.number().nullable(), first, { id }) ?? last + 1;
  }

  #readUntil(last: number, { since, limit, type }: Range): MeshEvent[] {
    const rows = this.#db.all(
      Row,
      `select id, at, type, data from events
       where id > :since and id <= :last and (:type is null or type = :type)
       order by id limit :limit`,
      { since, last, limit, type: type ?? null },
    );
    return rows.map(({ data, ...rest }) => ({ ...rest, data: JSON.parse(data) }) as MeshEvent);
  }

  /** If a listener throws, logs the error and still calls the other listeners. */
  #notify(deliver: (listener: Listener) => void): void {
    for (const listener of this.#listeners) {
      try {
        deliver(listener);
      } catch (error) {
        this.#log.error("A listener failed", { error });
      }
    }
  }
}
