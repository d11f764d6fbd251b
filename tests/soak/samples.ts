/** Measurements of a running daemon, and their growth. */

import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isAlive } from "../../daemon/host/processes.ts";
import { residentMb } from "../support/programs/process_facts.ts";
import { until } from "../support/waiting.ts";

export interface Sample {
  /** Messages that the daemon has stored so far. */
  readonly messages: number;
  /** Of these, what retention has kept. */
  readonly kept: number;
  /** Resident memory, and the heap after a collection. */
  readonly resident_mb: number;
  readonly heap_mb: number;
  readonly timers: number;
  /** Without those of established connections: clients keep these open, and close them. */
  readonly descriptors: number;
  /** Processes below the daemon, zombies included. */
  readonly children: number;
  readonly panes: number;
  /** Bytes of the file that hold something, of messages with their indexes, and of events. */
  readonly used_bytes: number;
  readonly message_bytes: number;
  readonly event_bytes: number;
  readonly events: number;
}

export interface MeasuredDaemon {
  readonly state: string;
  readonly pid: number;
  readonly port: number;
  readonly panes: number;
}

export async function takeSample({ state, pid, port, panes }: MeasuredDaemon): Promise<Sample> {
  const before = reportOf(state)?.number ?? 0;
  Deno.kill(pid, "SIGUSR2");
  const report = await until("the daemon's probe", () => {
    const now = reportOf(state);
    return now !== undefined && now.number !== before && isAlive(pid) && now;
  });
  return {
    resident_mb: residentMb(pid),
    heap_mb: report.heap / 2 ** 20,
    timers: report.timers,
    descriptors: readdirSync(`/proc/${pid}/fd`).length - connectionsTo(port),
    children: childrenOf(pid),
    panes,
    ...databaseOf(`${state}/mesh.db`),
  };
}

function reportOf(state: string): { number: number; heap: number; timers: number } | undefined {
  try {
    return JSON.parse(readFileSync(`${state}/probe.json`, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function databaseOf(path: string) {
  using db = new DatabaseSync(path, { readOnly: true });
  const number = (sql: string) => Number(Object.values(db.prepare(sql).get() ?? {})[0] ?? 0);
  const bytesOf = (like: string) =>
    number(
      `select coalesce(sum(pgsize), 0) from dbstat where aggregate = 1 and name like '${like}'`,
    );
  const pages = number("pragma page_count") - number("pragma freelist_count");
  return {
    messages: number("select coalesce(max(seq), 0) from messages"),
    kept: number("select count(*) from messages"),
    used_bytes: pages * number("pragma page_size"),
    message_bytes: bytesOf("message%"),
    event_bytes: bytesOf("events%"),
    events: number("select count(*) from events"),
  };
}

/** The established connections of a loopback port, as the kernel lists them. */
function connectionsTo(port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return rows.map((row) => row.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(end) && state === ESTABLISHED).length;
}

const ESTABLISHED = "01";

function childrenOf(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      parents.set(Number(name), Number(parent));
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error; // It has ended meanwhile.
    }
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === root || parent > 1 && isBelow(parent);
  };
  return [...parents.keys()].filter(isBelow).length;
}

type Point = readonly [x: number, y: number];

/**
 * The median of the slopes between all pairs of points (Theil, Sen): up to a quarter of the points
 * may be far off without any effect.
 */
function slope(points: readonly Point[]): number {
  return median(
    points.flatMap(([x, y], at) =>
      points.slice(at + 1).filter(([later]) => later !== x).map(([later, then]) =>
        (then - y) / (later - x)
      )
    ),
  );
}

/** The slope of a growth that goes on. Growth only at the start is a cache that fills up. */
export function lastingSlope(points: readonly Point[]): number {
  return Math.min(slope(points), slope(points.slice(Math.floor(points.length / 2))));
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
