/** A job of the load generator, and how its durations and processor time are summed up. */

import { cpuMs } from "../../support/programs/process_facts.ts";

/** Not measured: the first messages, until code and connections are warm. */
export const WARM_UP = 100;
/** The pause between two timed messages: agents do not send back to back. */
export const PACE_MS = 2;
export const TEXT = "x".repeat(512);

export interface Job {
  readonly kind: string;
  readonly port: number;
  /** The server's process, whose processor time is counted. */
  readonly pid: number;
  /** Port of the machine to which the peers are connected, if it is another machine. */
  readonly peers_port: number | undefined;
  readonly peers_pid: number;
  /** The server between the machines, and the seed of a user who may make streams. */
  readonly bus_pid: number;
  readonly bus_seed: string | undefined;
  /** True for a yardstick, which knows no peers. */
  readonly bare: boolean;
  /** Backend in the peers' `connect` frames; `sdk` by default. */
  readonly backend: string | undefined;
  /** True if the peers acknowledge each frame, as repowire expects. */
  readonly acknowledges: boolean | undefined;
  readonly path: string;
  /** Cookie of a browser that is signed in at the relay. */
  readonly cookie: string;
  /** Access token of an app that the relay allows. */
  readonly token: string;
  readonly daemon_id: string;
  readonly peers: number;
  readonly count: number;
  readonly in_flight: number;
  readonly seconds: number;
  readonly per_second: number;
  readonly stream: boolean;
  readonly tunnels: readonly Tunnel[];
}

/** A daemon as a relay names it, and the cookie of a browser that is signed in to its secret. */
export interface Tunnel {
  readonly daemon_id: string;
  readonly cookie: string;
}

/** The durations of some messages, and the server's processor time of each. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly cpu_us: number;
}

export interface FloodRate {
  readonly per_second: number;
  readonly cpu_us: number;
}

/** Sends `count` messages after a warm-up; `send` returns how long one took. */
export async function measureLatencies(
  { count, pid }: Pick<Job, "count" | "pid">,
  send: (index: number) => Promise<number>,
): Promise<Latencies> {
  for (let index = 0; index < WARM_UP; index++) await send(index);
  const took: number[] = [];
  const from = cpuMs(pid);
  for (let index = 0; index < count; index++) took.push(await send(index));
  return { ...percentiles(took), cpu_us: (cpuMs(pid) - from) * 1000 / count };
}

export function percentiles(took: readonly number[]): { p50: number; p99: number } {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, sorted.length * share | 0)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}
