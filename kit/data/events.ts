/** The event log. Events are written inside of a transaction and published after its commit. */

import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { bulkInsert } from "kit/data/deferred_inserts.ts";
import { followerOf, numberBefore, RunNumbers } from "kit/data/run_numbers.ts";
import type { Database } from "kit/data/sqlite.ts";

const id = z.string();
const nullableString = z.string().nullable();
/** The parent is there for a subagent, if its parent is registered. */
const peer = { peer_id: id, name: z.string(), parent_peer_id: id.optional() };
const from = { from_peer_id: nullableString, from: z.string() };
const to = { to_peer_id: id, to: z.string() };
/** Time at which the asker of a blocking question stops waiting. */
const expiry = { expires_at: z.string().optional() };
const restart = { restart_id: id, peer_id: id, stage: id };

/** The fields of each event. Other fields, such as a message's text, are never published. */
export const EVENTS = {
  peer_registered: z.object({ ...peer, circle: id, backend: nullableString, role: id }),
  peer_updated: z.object(peer),
  peer_online: z.object({ ...peer, transport: id }),
  peer_offline: z.object({
    ...peer,
    reason: nullableString,
    source: nullableString,
    detail: nullableString,
    terminal: z.boolean(),
  }),
  peer_retired: z.object(peer),
  peer_removed: z.object(peer),
  peer_contradiction: z.object({ peer_id: id, code: id, severity: id }),
  peer_restart_offline_ignored: z.object({ restart_id: id, peer_id: id }),
  ask: z.object({ correlation_id: id, ...from, ...to, reply_delivery: id, ...expiry }),
  /** An error ended a peer's turn. `error` is its class, such as `rate_limit`. */
  turn_failed: z.object({ peer_id: id, error: id }),
  /** A peer's turn was interrupted; `source` says where this was seen. */
  turn_interrupted: z.object({ peer_id: id, source: id }),
  /** An agent ended its turn, and was reminded of this ask. */
  ask_reminded: z.object({ correlation_id: id, ...from, ...to }),
  ack: z.object({
    correlation_id: id,
    close_reason: id,
    outcome: id,
    ...from,
    to_peer_id: nullableString, // An asker that is not a registered peer has only a name.
    to: z.string(),
  }),
  question: z.object({
    correlation_id: id,
    ...from,
    ...to,
    scope: nullableString,
    kind: id,
    ...expiry,
  }),
  answer: z.object({ correlation_id: id, scope: nullableString, outcome: id }),
  notification: z.object({ delivery_id: id, ...from, ...to, delivery_state: id }),
  broadcast: z.object({ ...from, sent_to: z.number() }),
  deliveries_dropped: z.object({ peer_id: id, count: z.number(), reason: id }),
  peer_not_addressable: z.object({
    peer_id: id,
    closed_asks: z.number(),
    dropped_deliveries: z.number(),
    addressable_reason: nullableString,
  }),
  inbox_item: z.object({
    item_id: id,
    kind: id,
    from: z.string(),
    from_peer_id: nullableString,
    correlation_id: nullableString,
    ...expiry,
  }),
  inbox_updated: z.object({
    item_id: id,
    read: z.boolean(),
    replied: z.boolean(),
    surface: nullableString,
  }),
  chat_turn: z.object({ peer_id: id, role: id, turn_id: nullableString }),
  spawn: z.object({
    spawn_id: id,
    backend: id,
    circle: id,
    pane_id: id,
    peer_id: nullableString,
    registration_state: id,
    seed_state: nullableString,
  }),
  peer_restart_started: z.object(restart),
  peer_restart_launched: z.object(restart),
  peer_restart_restarted: z.object(restart),
  peer_restart_failed: z.object({ ...restart, reason: id }),
  job_state_changed: z.object({
    job_id: id,
    state: id,
    prior_state: nullableString,
    phase: nullableString,
    state_reason: nullableString,
    attempt_id: nullableString,
  }),
  /** What a job reports without a change of state; at most once a second for each job. */
  job_updated: z.object({ job_id: id, state: id, progress: z.number().nullable() }),
  /** A template was created, paused, resumed or cancelled. */
  job_template_changed: z.object({ calendar_id: id, state: id }),
  /** A schedule was created, edited or cancelled. */
  schedule_changed: z.object({ schedule_id: id, state: id }),
  schedule_fired: z.object({
    schedule_id: id,
    kind: id,
    state: id,
    outcome: id,
    error: nullableString,
    message_id: nullableString,
    ...from,
    to: z.string(), // The name that the schedule holds, because the peer may be gone.
  }),
  /** A subscription was created, or has ended. */
  subscription_changed: z.object({ subscription_id: id, state: id }),
  subscription_fired: z.object({
    subscription_id: id,
    state: id,
    outcome: id,
    error: nullableString,
    message_id: nullableString,
    ...from,
    to: z.string(), // The name that the subscription holds, because the peer may be gone.
  }),
  relay_status: z.object({ status: id, url: id, reason: nullableString }),
  bus_status: z.object({ status: id, url: id, reason: nullableString }),
  /** Another machine of the network came online, went offline, joined or was forgotten. */
  machine_changed: z.object({ daemon_id: id, name: z.string(), status: id }),
  surface_pushed: z.object({ surface: z.string(), item_id: id, surface_ref: nullableString }),
} as const;

export type EventType = keyof typeof EVENTS;
type EventData<T extends EventType> = z.output<(typeof EVENTS)[T]>;

/** An event as it is stored and published. Ids are ascending numbers. */
export type MeshEvent = {
  [T in EventType]: { id: number; type: T; at: number; data: EventData<T> };
}[EventType];

/** A step of a delivery. It has no id and is not stored: steps are only sent live (contract 2). */
export interface DeliveryStep {
  readonly delivery_id: string;
  readonly to_peer_id: string;
  readonly state: string;
  readonly transport: string | null;
}

/** A peer began or ended a turn, or waits for its user. Like a step, it is only sent live. */
export interface TurnChange {
  readonly peer_id: string;
  readonly status: string;
  readonly turn_state: string | null;
}

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

/** How many events a search looks at before other requests are read. It takes 5 to 10 ms. */
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

  /**
   * True if the log has every event after this id. False if some were deleted, or if the id is from
   * a time that a restored database has lost.
   */
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

  /** Publishes what a peer does now, after the transaction commits. */
  turn(change: TurnChange): void {
    if (this.#listeners.size === 0) return;
    this.#db.afterCommit(() => this.#notify((listener) => listener.turn?.(change)));
  }

  /** Returns committed events in order. */
  read(range: Range): MeshEvent[] {
    return this.#readUntil(this.#lastCommittedId, range);
  }

  /**
   * As `read`, in steps: no index finds the events of a type, so there may be millions of others
   * between them.
   */
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
