/** Leases: a port or another resource that a process has for itself, until its end is proved. */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Boottime, Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import type { ProcessId, ProcessTable } from "../../host/processes.ts";
import type { PortTable } from "../../host/sockets/ports.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { leaseHolder, leaseVariable, leaseWords } from "protocol/holdings/lease_words.ts";
import { type Lease, PORT } from "protocol/holdings/leases.ts";
import { Problem } from "protocol/problems.ts";
import { recordedProcess } from "../peers/identity/known_peer.ts";
import * as peers from "../peers/store.ts";
import * as store from "./store.ts";
import type { StoredLease } from "./store.ts";

/** Maximum leases at a time. */
const LEASES_MAX = 1_000;
/** The interval at which processes of leases are looked at. */
const CHECK_MS = 5_000;
/** Time for a spawned agent's process to start. */
const START_MS_MAX = 60_000;

interface LeasesDeps {
  readonly machine: string;
  readonly processes: Pick<ProcessTable, "isAlive" | "startTimeOf">;
  /** The ports to lease. */
  readonly range: { readonly first: number; readonly last: number };
  readonly ports: Pick<PortTable, "isFree">;
}

/** The subject of a lease. */
type Wanted = Pick<Lease, "resource" | "name">;

/** The holder of a lease: a running process, or an agent that is being started. */
type Holder =
  & Pick<StoredLease, "peer_id">
  & ({ readonly process: ProcessId; readonly of_agent: boolean } | { readonly start_id: string });

export class Leases {
  readonly #ctx: Context;
  readonly #deps: LeasesDeps;
  /** When this daemon first saw each start, by a clock that nobody sets. */
  readonly #starts = new Map<string, Boottime>();
  #checked_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: LeasesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  list(): { leases: Lease[] } {
    return { leases: this.#held().map((lease) => this.#toLease(lease)) };
  }

  /** The number of leases by kind. */
  counts(): Record<"port" | "other", number> {
    const held = this.#held(), ports = held.filter(({ port }) => port !== null).length;
    return { port: ports, other: held.length - ports };
  }

  ofPeer(peer_id: string): StoredLease[] {
    return this.#held().filter((lease) => lease.peer_id === peer_id);
  }

  ofPort(port: number): Lease | null {
    const found = this.#held().find((lease) => lease.port === port);
    return found ? this.#toLease(found) : null;
  }

  /** Leases something for a process, or returns the lease that it has. */
  take(wanted: Wanted, holder: Holder): Lease {
    if (wanted.resource === PORT && wanted.name === null) throw new Problem("lease_needs_name", {});
    return this.#ctx.db.transact((tx) => {
      const held = this.#held();
      const same = held.filter((lease) => isSame(lease, wanted));
      const own = same.find((lease) => isOf(lease, holder));
      if (own) return this.#toLease(own);
      const [other] = same;
      if (other && wanted.resource !== PORT) throw this.#heldBy(other);
      if (held.length >= LEASES_MAX) throw new Problem("too_many_leases", { leases: held.length });
      const now = this.#ctx.clock.now();
      const lease: StoredLease = {
        lease_id: this.#ctx.ids.next("lease"),
        ...wanted,
        port: wanted.resource === PORT ? this.#freePort(held) : null,
        peer_id: holder.peer_id,
        of_agent: "start_id" in holder || holder.of_agent,
        start_id: "start_id" in holder ? holder.start_id : null,
        starting_at: "start_id" in holder ? now : null,
        pid: "process" in holder ? holder.process.pid : null,
        process_started: "process" in holder ? holder.process.started : null,
        taken_at: now,
      };
      store.insert(tx, lease);
      this.#publish(lease, "taken");
      return this.#toLease(lease);
    });
  }

  /** Takes all leases of an agent before its start, or none of them. Returns its variables. */
  takeForSpawn(start_id: string, wanted: readonly Wanted[]): Record<string, string> {
    if (wanted.length === 0) return {};
    const holder = { peer_id: null, start_id };
    this.#isStarting(start_id);
    const taken = this.#ctx.db.transact(() => wanted.map((each) => this.take(each, holder)));
    return variablesOf(taken);
  }

  /** Binds the leases of a start to the agent's process; without one, ends them. */
  bind(start_id: string, pid: number | undefined): void {
    const own = store.all(this.#ctx.db).filter((lease) => lease.start_id === start_id);
    if (own.length === 0) return;
    const process_started = pid === undefined ? undefined : this.#deps.processes.startTimeOf(pid);
    this.#ctx.db.transact((tx) => {
      for (const lease of own) {
        if (pid === undefined || process_started === undefined) this.#end(tx, lease);
        else store.update(tx, { ...lease, pid, process_started, starting_at: null });
      }
    });
  }

  /** The agent of a start has registered as this peer. */
  registered(start_id: string, peer_id: string): void {
    this.#ctx.db.transact((tx) => {
      for (const lease of store.all(tx)) {
        if (lease.start_id === start_id) store.update(tx, { ...lease, peer_id });
      }
    });
  }

  /** Keeps the leases of a peer for a restart, whose process is bound later. */
  keepForRestart(start_id: string, peer_id: string): void {
    const starting_at = this.#ctx.clock.now();
    this.#isStarting(start_id);
    this.#ctx.db.transact((tx) => {
      for (const lease of this.#held()) {
        if (lease.peer_id === peer_id && lease.of_agent) {
          store.update(tx, { ...lease, start_id, starting_at });
        }
      }
    });
  }

  /** The variables of the leases of a start. */
  environmentOf(start_id: string): Record<string, string> {
    const own = this.#held().filter((lease) => lease.start_id === start_id);
    return variablesOf(own.map((lease) => this.#toLease(lease)));
  }

  /** Ends a lease. `mayEnd` tells if the caller may. */
  release(lease_id: string, mayEnd: (lease: StoredLease) => boolean): void {
    this.#ctx.db.transact((tx) => {
      const lease = store.get(tx, lease_id);
      if (!lease) throw new Problem("unknown_lease", { lease_id });
      if (!mayEnd(lease)) throw new Problem("not_your_lease", { holder: this.#nameOf(lease) });
      store.remove(tx, lease_id);
      this.#publish(lease, "released");
    });
  }

  tick(now: Monotonic): void {
    if (now - this.#checked_at < CHECK_MS) return;
    this.#checked_at = now;
    this.#held();
  }

  /** The leases of running processes. Ends those whose processes have ended. */
  #held(): StoredLease[] {
    const { db } = this.#ctx;
    return store.all(db).flatMap((lease) => {
      const held = this.#isRunning(lease) ? lease : this.#passedOn(lease);
      if (held === lease) return lease;
      db.transact((tx) => held ? store.update(tx, held) : this.#end(tx, lease));
      return held ?? [];
    });
  }

  #isRunning({ pid, process_started, start_id, starting_at }: StoredLease): boolean {
    if (start_id !== null && starting_at !== null) return this.#isStarting(start_id);
    return pid !== null && this.#deps.processes.isAlive(pid, process_started ?? undefined);
  }

  /** Counts from the first call, because the time of day may be set; again in the next daemon. */
  #isStarting(start_id: string): boolean {
    const now = this.#ctx.clock.boottime();
    const began = this.#starts.get(start_id) ?? now;
    setLatest(this.#starts, start_id, began, LEASES_MAX);
    return now - began < START_MS_MAX;
  }

  /** The lease of an agent that goes on in another process. */
  #passedOn(lease: StoredLease): StoredLease | undefined {
    if (!lease.of_agent) return undefined;
    const peer = lease.peer_id === null ? undefined : peers.get(this.#ctx.db, lease.peer_id);
    const process = peer?.machine === this.#deps.machine ? recordedProcess(peer) : null;
    if (!process || !this.#deps.processes.isAlive(process.pid, process.started)) return undefined;
    return { ...lease, pid: process.pid, process_started: process.started, starting_at: null };
  }

  #end(tx: Tx, lease: StoredLease): void {
    store.remove(tx, lease.lease_id);
    this.#publish(lease, "ended");
  }

  #freePort(held: readonly StoredLease[]): number {
    const { range: { first, last }, ports } = this.#deps;
    const leased = new Set(held.map(({ port }) => port));
    for (let port = first; port <= last; port++) {
      if (!leased.has(port) && ports.isFree(port)) return port;
    }
    throw new Problem("no_free_port", { first, last });
  }

  #heldBy(lease: StoredLease): Problem<"lease_held"> {
    const { holder, pid } = this.#toLease(lease);
    return new Problem("lease_held", { lease: leaseWords(lease), holder, pid });
  }

  #publish({ lease_id, resource, name, port, peer_id }: StoredLease, state: string): void {
    this.#ctx.events.append("lease", { lease_id, resource, name, port, peer_id, state });
  }

  #toLease(lease: StoredLease): Lease {
    const { of_agent: _of, start_id: _start, starting_at: _at, ...stored } = lease;
    const { process_started: _started, ...shown } = stored;
    const { resource, name, port } = shown;
    return {
      ...shown,
      holder: this.#nameOf(lease),
      variable: leaseVariable(lease),
      value: port === null ? name ?? resource : String(port),
    };
  }

  #nameOf({ peer_id, pid }: StoredLease): string {
    const peer = peer_id === null ? undefined : peers.get(this.#ctx.db, peer_id);
    return leaseHolder(peer?.name, pid);
  }
}

function isSame(lease: Wanted, { resource, name }: Wanted): boolean {
  return lease.resource === resource && lease.name === name;
}

function isOf({ start_id, pid, process_started }: StoredLease, holder: Holder): boolean {
  return "start_id" in holder
    ? start_id === holder.start_id
    : pid === holder.process.pid && process_started === holder.process.started;
}

function variablesOf(leases: readonly Lease[]): Record<string, string> {
  return Object.fromEntries(leases.map(({ variable, value }) => [variable, value]));
}
