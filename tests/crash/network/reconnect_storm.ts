/** Clients that connect and leave, many at once, again and again. */

import { readdirSync } from "node:fs";
import type { RealDaemon } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { until } from "../../support/waiting.ts";
import { Client } from "../client.ts";

const PROBE_MS = 50;
/** Connections of the fetches of this process may stay open. */
const DESCRIPTORS_KEPT_MAX = 8;

export interface ReconnectOutcome {
  readonly connected: number;
  readonly failed: number;
  /** The longest time to an answer of `/health` during the storm. */
  readonly slowest_health_ms: number;
  /** Descriptors of the daemon beyond those from before the storm, once it has calmed down. */
  readonly descriptors_left: number;
  readonly peers: number;
  readonly seconds: number;
}

/** Connects `total` times in all, with so many clients at once. Every client comes back. */
export async function reconnectStorm(
  daemon: RealDaemon,
  { total, at_once }: { total: number; at_once: number },
): Promise<ReconnectOutcome> {
  const clients = Array.from(
    { length: at_once },
    (_, number) => new Client(`client-${number}`, { receipts: number % 2 === 0 }),
  );
  await probe(daemon);
  const descriptors = descriptorsOf(daemon.pid);
  const [started, ended] = [performance.now(), new AbortController()];
  const slowest = slowestHealth(daemon, ended.signal);
  let failed = 0;
  for (let connected = 0; connected < total; connected += at_once) {
    const results = await Promise.allSettled(clients.map((client) => client.connect(daemon.port)));
    failed += results.filter(({ status }) => status === "rejected").length;
    await Promise.all(clients.map((client) => client.disconnect()));
  }
  const seconds = (performance.now() - started) / 1000;
  ended.abort();
  const left = () => descriptorsOf(daemon.pid) - descriptors;
  await until("the sockets to be closed", () => left() <= DESCRIPTORS_KEPT_MAX)
    .catch(() => undefined);
  const response = await fetch(`${daemon.base}/health`);
  const { peers } = await response.json();
  return {
    connected: total - failed,
    failed,
    slowest_health_ms: await slowest,
    descriptors_left: Math.max(0, left() - DESCRIPTORS_KEPT_MAX),
    peers,
    seconds,
  };
}

async function slowestHealth(daemon: RealDaemon, signal: AbortSignal): Promise<number> {
  let slowest = 0;
  while (!signal.aborted) {
    slowest = Math.max(slowest, await probe(daemon));
    await pause(PROBE_MS);
  }
  return slowest;
}

/** The milliseconds to an answer. */
async function probe({ base }: RealDaemon): Promise<number> {
  const started = performance.now();
  await (await fetch(`${base}/health`)).body?.cancel();
  return performance.now() - started;
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
