/** Sends bursts to the real daemon, kills it at seeded moments, and checks what is left. */

import { launch, RealDaemon, temporary } from "../support/programs/child.ts";
import { RawHttpConnection, requestBytes } from "../support/programs/lean_http_client.ts";
import { pause } from "../support/programs/process_facts.ts";
import { Chance } from "../support/seeded_random.ts";
import { Client } from "./client.ts";
import {
  type AcknowledgedMessages,
  type Clients,
  evaluate,
  type FinalReport,
  identOf,
  type Outcome,
} from "./verification.ts";

const LANES = 8;
const RUN_MS_MIN = 20;
const RUN_MS_SPAN = 230;
/** 1 in this many runs is killed before it listens. */
const KILL_DURING_START_ONE_IN = 8;
const KILL_DURING_START_MS_MAX = 400;
/** The last run is done when nothing has arrived for this time. */
const QUIET_MS = 1000;
const FINAL_RUN_MS_MAX = 60_000;
const SETTINGS = { MESH_DAEMON__QUEUE__MAX_PER_PEER: "1000000" };

export async function storm(kills: number, seed: number): Promise<Outcome> {
  using state = temporary();
  const chance = new Chance(seed);
  const clients: Clients = {
    withReceipts: new Client("careful", { receipts: true }),
    withoutReceipts: new Client("plain", { receipts: false }),
    absent: new Client("away", { receipts: false }),
  };
  const acknowledged: AcknowledgedMessages = { messages: new Map(), replies: new Map() };
  const starts_ms: number[] = [];
  for (let run = 0; run < kills; run++) {
    if (run > 0 && chance.oneIn(KILL_DURING_START_ONE_IN)) {
      await killDuringStart(state.path, chance.below(KILL_DURING_START_MS_MAX));
      continue;
    }
    const daemon = await RealDaemon.start(state.path, { settings: SETTINGS });
    starts_ms.push(daemon.start_ms);
    await connectClients(clients, daemon.port, run === 0);
    const lanes = Array.from(
      { length: LANES },
      (_, number) =>
        sendUntilKilled(daemon.port, `${run}-${number}`, { clients, acknowledged, chance }),
    );
    await pause(RUN_MS_MIN + chance.below(RUN_MS_SPAN));
    await daemon.kill();
    await Promise.all([
      ...lanes,
      clients.withReceipts.disconnect(),
      clients.withoutReceipts.disconnect(),
    ]);
  }
  const finalReport = await finalRun(state.path, clients, starts_ms);
  const found = await evaluate(`${state.path}/mesh.db`, { clients, acknowledged, finalReport });
  return { kills, ...found, slowest_start_ms: Math.max(...starts_ms) };
}

/** A run that is killed during its start. */
async function killDuringStart(state: string, ms: number): Promise<void> {
  const process = launch(state, SETTINGS);
  await pause(ms);
  process.kill("SIGKILL");
  await process.status;
}

async function connectClients(
  { withReceipts, withoutReceipts, absent }: Clients,
  port: number,
  first: boolean,
): Promise<void> {
  await Promise.all([
    withReceipts.connect(port),
    withoutReceipts.connect(port),
    first && absent.connect(port),
  ]);
  if (first) await absent.disconnect();
}

interface StormContext {
  readonly clients: Clients;
  readonly acknowledged: AcknowledgedMessages;
  readonly chance: Chance;
}

/** Sends messages with rising numbers, one after the other, until the daemon is gone. */
async function sendUntilKilled(port: number, name: string, context: StormContext): Promise<void> {
  try {
    using http = await RawHttpConnection.open(port);
    for (let number = 1;; number++) await sendOne(http, port, { name, number }, context);
  } catch (error) {
    const cut = error instanceof Error && /closed|reset|refused|pipe/i.test(error.message);
    if (!cut) throw error;
  }
}

async function sendOne(
  http: RawHttpConnection,
  port: number,
  { name, number }: { name: string; number: number },
  {
    clients: { withReceipts, withoutReceipts, absent },
    acknowledged: { messages, replies },
    chance,
  }: StormContext,
): Promise<void> {
  const roll = chance.next();
  const to = roll < 0.45 ? withReceipts : roll < 0.9 ? withoutReceipts : absent;
  const path = chance.oneIn(2) ? "/ask" : "/notify";
  const is_self_addressed = path === "/ask" && to !== withReceipts && chance.oneIn(2);
  const from_peer = is_self_addressed ? withReceipts.peer_id : name;
  const text = `${name} ${String(number).padStart(6, "0")} ${"x".repeat(200)}`;
  const post = async (path: string, body: unknown) =>
    JSON.parse(await http.send(requestBytes(port, path, body)));
  const { correlation_id, delivery_id } = await post(path, {
    from_peer,
    to_peer: to.peer_id,
    text,
  });
  messages.set(identOf(correlation_id ?? delivery_id), to.name);
  if (!is_self_addressed) return;
  const message = `reply to ${correlation_id}`;
  await post("/ack", { correlation_id, message });
  replies.set(correlation_id, message);
}

/** Starts once more, waits until everything has arrived, and stops as an operator would. */
async function finalRun(
  state: string,
  clients: Clients,
  starts_ms: number[],
): Promise<FinalReport> {
  await using daemon = await RealDaemon.start(state, { settings: SETTINGS });
  starts_ms.push(daemon.start_ms);
  await connectClients(clients, daemon.port, false);
  const leased = await leaseAll(daemon, clients.absent.peer_id);
  const deadline = performance.now() + FINAL_RUN_MS_MAX;
  let before = -1;
  while (before !== clients.withReceipts.received.size && performance.now() < deadline) {
    before = clients.withReceipts.received.size;
    await pause(QUIET_MS);
  }
  const answer = await fetch(`${daemon.base}/deliveries?limit=1`);
  const { counts } = await answer.json();
  await Promise.all([clients.withReceipts.disconnect(), clients.withoutReceipts.disconnect()]);
  return { counts, leased };
}

/** Leases everything that is queued for the absent client, page by page, with receipts. */
async function leaseAll({ base }: RealDaemon, peer_id: string): Promise<string[]> {
  const leased: string[] = [];
  for (;;) {
    const page = await fetch(`${base}/deliveries/pending?peer_id=${peer_id}&max_results=500`);
    const { deliveries, drain_id } = await page.json();
    if (drain_id === null) return leased;
    for (const { delivery_id } of deliveries) leased.push(identOf(delivery_id));
    const body = JSON.stringify({ drain_id, status: "accepted" });
    const settled = await fetch(`${base}/deliveries/receipts`, { method: "POST", body });
    await settled.body?.cancel();
  }
}
