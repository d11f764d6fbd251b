/** The metrics that are read from the database and the process on request. */

import { VERSION } from "kit/core/version.ts";
import type { Metrics } from "kit/http/metrics.ts";
import type { Database } from "kit/data/sqlite.ts";
import type { BusState } from "protocol/machines.ts";
import type { Health } from "protocol/api/events.ts";
import * as rows from "./store.ts";

interface GaugeSources {
  readonly db: Database;
  now(): number;
  /** Milliseconds since the epoch. */
  readonly started_at: number;
  /** Live `/ws` connections. */
  sockets(): number;
  /** Jobs by state. */
  jobs(): Readonly<Record<string, number>>;
  /** Accounts by the state of their limits. */
  limits(): Readonly<Record<string, number>>;
  /** The highest used share of each window, over the accounts of one kind of agent. */
  limitUse(): readonly { backend: string; window: string; used_percent: number }[];
  /** Leases by kind. */
  leases(): Readonly<Record<string, number>>;
  /** The size of the write-ahead log. */
  walBytes(): number;
  memory(): { readonly rss: number; readonly heapUsed: number };
  tunnel(): Health["relay"]["status"];
  /** State of the bus between machines, and the entries that wait for other machines. */
  bus(): { readonly status: BusState; readonly waiting: number };
  /** Spans by outcome; empty without a collector. */
  spans(): Readonly<Record<string, number>>;
  /** The version of the runtime. */
  readonly deno: string;
}

const CONNECTION_STATES = ["connected", "connecting", "down", "disabled"] as const;

export function defineGauges(metrics: Metrics, sources: GaugeSources): void {
  defineMessages(metrics, sources);
  defineWork(metrics, sources);
  defineConnections(metrics, sources);
  defineProcess(metrics, sources);
}

function defineMessages(metrics: Metrics, { db, now }: GaugeSources): void {
  metrics.gauges(
    { name: "mesh_queue_depth", help: "Messages that wait for a transport", label: "kind" },
    () => rows.queuedByKind(db),
  );
  metrics.gauge(
    "mesh_queue_oldest_seconds",
    "Seconds that the oldest waiting message has waited; 0 if none waits",
    () => secondsSince(rows.oldestQueuedAt(db), now()),
  );
  metrics.gauge("mesh_open_asks", "Asks without an answer", () => rows.openAsks(db).count);
  metrics.gauge(
    "mesh_open_asks_oldest_seconds",
    "Seconds since the oldest ask without an answer was sent; 0 if there is none",
    () => secondsSince(rows.openAsks(db).oldest_at, now()),
  );
}

function defineWork(
  metrics: Metrics,
  { db, jobs, leases, limits, limitUse, now }: GaugeSources,
): void {
  metrics.gauges({ name: "mesh_jobs", help: "Stored jobs by state", label: "state" }, jobs);
  metrics.gauges({
    name: "mesh_account_limits",
    help: "Accounts of agents by the state of their limits",
    label: "state",
  }, limits);
  metrics.gaugeRows(
    {
      name: "mesh_account_used_ratio",
      help: "Used share of each window, 0 to 1, as agents last recorded it: the account with most",
      labels: ["backend", "window"],
    },
    () =>
      limitUse().map(({ backend, window, used_percent }) => ({
        values: [backend, window],
        level: used_percent / 100,
      })),
  );
  metrics.gauges(
    {
      name: "mesh_wakes",
      help: "Stored wakes by state: the phase of those in progress, and how the others ended",
      label: "state",
    },
    () => rows.wakesByState(db),
  );
  metrics.gauges(
    { name: "mesh_proofs", help: "Stored checks of answers by state", label: "state" },
    () => rows.proofsByState(db),
  );
  metrics.gauges(
    { name: "mesh_budgets", help: "Stored budgets by state", label: "state" },
    () => rows.budgetsByState(db),
  );
  metrics.gauges(
    { name: "mesh_leases", help: "Leases: of ports, and of other resources", label: "kind" },
    leases,
  );
  metrics.gauge("mesh_schedules", "Active schedules", () => rows.schedules(db, now()).active);
  metrics.gauge(
    "mesh_schedules_due",
    "Active schedules whose time has come and that have not fired yet",
    () => rows.schedules(db, now()).due,
  );
  metrics.gauge(
    "mesh_schedules_late_seconds",
    "Seconds by which the most overdue schedule is late; 0 if none is",
    () => secondsSince(rows.schedules(db, now()).first_at, now()),
  );
}

function defineConnections(
  metrics: Metrics,
  { bus, db, sockets, spans, tunnel }: GaugeSources,
): void {
  metrics.gauges(
    { name: "mesh_peers", help: "Peers with a record by status", label: "status" },
    () => rows.peersByStatus(db),
  );
  metrics.gauge("mesh_sockets", "Live WebSocket connections", sockets);
  metrics.gauges(
    {
      name: "mesh_tunnel_status",
      help: "1 for the state of the tunnel to the relay",
      label: "status",
    },
    () => toFlags(tunnel()),
  );
  metrics.gauges(
    {
      name: "mesh_bus_status",
      help: "1 for the state of the connection to the bus between machines",
      label: "status",
    },
    () => toFlags(bus().status),
  );
  metrics.gauge(
    "mesh_bus_entries_waiting",
    "Messages and reports that other machines have not confirmed",
    () => bus().waiting,
  );
  metrics.totals({
    name: "mesh_telemetry_spans_total",
    help: "Spans of traces, sent to the collector or dropped",
    label: "outcome",
  }, spans);
}

function defineProcess(
  metrics: Metrics,
  { db, deno, memory, started_at, walBytes }: GaugeSources,
): void {
  metrics.total("mesh_commits_total", "Commits since the start", () => db.commits);
  metrics.gauge("mesh_database_bytes", "Bytes of the database file", () => db.bytes);
  metrics.gauge("mesh_database_wal_bytes", "Bytes of the write-ahead log", walBytes);
  metrics.gauge("process_resident_memory_bytes", "Bytes of memory in use", () => memory().rss);
  metrics.gauge("mesh_heap_bytes", "Bytes of JavaScript objects", () => memory().heapUsed);
  metrics.gauge(
    "process_start_time_seconds",
    "When the daemon started, in seconds since 1970",
    () => started_at / 1000,
  );
  metrics.info("mesh_build_info", "Always 1; the labels name the versions", {
    version: VERSION,
    deno,
  });
}

function secondsSince(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, now - at) / 1000;
}

/** 1 for the state of a connection, 0 for the others. */
function toFlags(status: (typeof CONNECTION_STATES)[number]): Record<string, number> {
  return Object.fromEntries(CONNECTION_STATES.map((state) => [state, state === status ? 1 : 0]));
}
