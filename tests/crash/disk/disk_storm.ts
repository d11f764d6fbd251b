/** Messages to a daemon whose disk fails again and again: what it accepted is delivered. */

import type { RealDaemon } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { until } from "../../support/waiting.ts";
import { Client } from "../client.ts";
import { FAULTS, type FaultyDisk } from "./faulty_disk.ts";

const LANES = 6;
const PERIOD_MS = 120;

export interface DiskOutcome {
  readonly accepted: number;
  readonly refused: number;
  /** Requests that were neither accepted nor refused as `storage_failed`. */
  readonly unclear: number;
  readonly undelivered: number;
  readonly delivered_twice: number;
  /** Delivered, although the request was refused. */
  readonly delivered_though_refused: number;
  /** Messages in no final state after the disk has recovered. */
  readonly unsettled: number;
  /** Messages that the next daemon no longer has. */
  readonly lost: number;
}

interface Counts {
  readonly accepted: Set<string>;
  refused: number;
  unclear: number;
}

/** Lets the disk fail so many times, each time in another way. */
export async function diskStorm(disk: FaultyDisk, faults: number): Promise<DiskOutcome> {
  const daemon = await disk.start();
  const clients = [
    new Client("careful", { receipts: true }),
    new Client("plain", { receipts: false }),
  ];
  for (const client of clients) await client.connect(daemon.port);
  const counts: Counts = { accepted: new Set(), refused: 0, unclear: 0 };
  const ended = new AbortController();
  const lanes = Array.from(
    { length: LANES },
    (_, lane) => send(daemon, { lane, clients, counts, signal: ended.signal }),
  );
  for (let number = 0; number < faults; number++) {
    await pause(PERIOD_MS);
    disk.become(FAULTS[number % FAULTS.length] ?? "full");
    await pause(PERIOD_MS);
    disk.become("sound");
  }
  ended.abort();
  await Promise.all(lanes);
  const states = () => get(daemon, "/deliveries?limit=1");
  const isSettled = async () => {
    const { counts } = await states();
    return (counts.accepted ?? 0) + (counts.sent ?? 0) === totalOf(counts);
  };
  await until("all messages to be settled", isSettled, SETTLED_MS_MAX).catch(() => undefined);
  const { counts: settled } = await states();
  const received = clients.flatMap((client) => [...client.received]);
  for (const client of clients) await client.disconnect();
  await daemon.stop();
  const delivered = new Set(received.map(([id]) => id));
  return {
    accepted: counts.accepted.size,
    refused: counts.refused,
    unclear: counts.unclear,
    undelivered: [...counts.accepted].filter((id) => !delivered.has(id)).length,
    delivered_twice: received.filter(([, { times }]) => times > 1).length,
    delivered_though_refused: [...delivered].filter((id) => !counts.accepted.has(id)).length,
    unsettled: totalOf(settled) - (settled.accepted ?? 0) - (settled.sent ?? 0),
    lost: await lostIn(disk, counts.accepted),
  };
}

const SETTLED_MS_MAX = 10_000;

interface Lane {
  readonly lane: number;
  readonly clients: readonly Client[];
  readonly counts: Counts;
  readonly signal: AbortSignal;
}

async function send(daemon: RealDaemon, { lane, clients, counts, signal }: Lane): Promise<void> {
  for (let number = 0; !signal.aborted; number++) {
    const to_peer = clients[number % clients.length]?.peer_id;
    const body = { from_peer: `lane-${lane}`, to_peer, text: `${lane} ${number}` };
    try {
      const init = { method: "POST", body: JSON.stringify(body) };
      const { delivery_id, error } = await (await fetch(`${daemon.base}/notify`, init)).json();
      if (delivery_id !== undefined) counts.accepted.add(delivery_id);
      else if (error === "storage_failed") counts.refused++;
      else counts.unclear++;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      counts.unclear++;
      await pause(PERIOD_MS);
    }
  }
}

/** Counts the messages that a new daemon on the same files does not have. */
async function lostIn(disk: FaultyDisk, accepted: ReadonlySet<string>): Promise<number> {
  await using daemon = await disk.start();
  let lost = 0;
  for (const id of accepted) {
    const response = await fetch(`${daemon.base}/messages/${id}`);
    await response.body?.cancel();
    if (!response.ok) lost++;
  }
  return lost;
}

function totalOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

async function get({ base }: RealDaemon, path: string) {
  return await (await fetch(base + path)).json();
}
