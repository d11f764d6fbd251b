/** Floods the real daemon, kills it at moments that a seed picks, and looks at what is left. */

import { launch, RealDaemon, temporary } from "../support/programs/child.ts";
import { built, Lean } from "../support/programs/lean_http_client.ts";
import { pause } from "../support/programs/process_facts.ts";
import { Chance } from "../support/seeded_random.ts";
import { Client } from "./client.ts";
import {
  type Acknowledged,
  type Cast,
  identOf,
  look,
  type Outcome,
  type Told,
} from "./verification.ts";

const LANES = 8;
const LIVE_MS_MIN = 20;
const LIVE_MS_SPAN = 230;
/** One life in so many is ended before it has said that it listens. */
const STILLBORN_ONE_IN = 8;
const STILLBORN_MS_MAX = 400;
/** How long the last life may take to bring what waits to the clients. */
const QUIET_MS = 1000;
const LAST_LIFE_MS_MAX = 60_000;
const SETTINGS = { MESH_DAEMON__QUEUE__MAX_PER_PEER: "1000000" };

export async function storm(kills: number, seed: number): Promise<Outcome> {
  using state = temporary();
  const chance = new Chance(seed);
  const cast: Cast = {
    careful: new Client("careful", { receipts: true }),
    plain: new Client("plain", { receipts: false }),
    away: new Client("away", { receipts: false }),
  };
  const acknowledged: Acknowledged = { messages: new Map(), replies: new Map() };
  const starts_ms: number[] = [];
  for (let life = 0; life < kills; life++) {
    if (life > 0 && chance.oneIn(STILLBORN_ONE_IN)) {
      await stillborn(state.path, chance.below(STILLBORN_MS_MAX));
      continue;
    }
    const daemon = await RealDaemon.start(state.path, { settings: SETTINGS });
    starts_ms.push(daemon.start_ms);
    await gather(cast, daemon.port, life === 0);
    const lanes = Array.from(
      { length: LANES },
      (_, number) => lane(daemon.port, `${life}-${number}`, { cast, acknowledged, chance }),
    );
    await pause(LIVE_MS_MIN + chance.below(LIVE_MS_SPAN));
    await daemon.kill();
    await Promise.all([...lanes, cast.careful.leave(), cast.plain.leave()]);
  }
  const told = await lastLife(state.path, cast, starts_ms);
  const found = await look(`${state.path}/mesh.db`, { cast, acknowledged, told });
  return { kills, ...found, slowest_start_ms: Math.max(...starts_ms) };
}

/** A life that ends while it begins. */
async function stillborn(state: string, ms: number): Promise<void> {
  const process = launch(state, SETTINGS);
  await pause(ms);
  process.kill("SIGKILL");
  await process.status;
}

async function gather({ careful, plain, away }: Cast, port: number, first: boolean): Promise<void> {
  await Promise.all([careful.connect(port), plain.connect(port), first && away.connect(port)]);
  if (first) await away.leave();
}

interface Scene {
  readonly cast: Cast;
  readonly acknowledged: Acknowledged;
  readonly chance: Chance;
}

/** One message after the other, each with a number that rises, until the daemon is gone. */
async function lane(port: number, name: string, scene: Scene): Promise<void> {
  try {
    using http = await Lean.open(port);
    for (let number = 1;; number++) await say(http, port, { name, number }, scene);
  } catch (fault) {
    const cut = fault instanceof Error && /closed|reset|refused|pipe/i.test(fault.message);
    if (!cut) throw fault;
  }
}

async function say(
  http: Lean,
  port: number,
  { name, number }: { name: string; number: number },
  { cast: { careful, plain, away }, acknowledged: { messages, replies }, chance }: Scene,
): Promise<void> {
  const draw = chance.next();
  const to = draw < 0.45 ? careful : draw < 0.9 ? plain : away;
  const path = chance.oneIn(2) ? "/ask" : "/notify";
  const asks_itself = path === "/ask" && to !== careful && chance.oneIn(2);
  const from_peer = asks_itself ? careful.peer_id : name;
  const text = `${name} ${String(number).padStart(6, "0")} ${"x".repeat(200)}`;
  const post = async (path: string, body: unknown) =>
    JSON.parse(await http.send(built(port, path, body)));
  const { correlation_id, delivery_id } = await post(path, {
    from_peer,
    to_peer: to.peer_id,
    text,
  });
  messages.set(identOf(correlation_id ?? delivery_id), to.name);
  if (!asks_itself) return;
  const message = `reply to ${correlation_id}`;
  await post("/ack", { correlation_id, message });
  replies.set(correlation_id, message);
}

/** Starts once more, lets everything arrive, and stops as an operator would. */
async function lastLife(state: string, cast: Cast, starts_ms: number[]): Promise<Told> {
  await using daemon = await RealDaemon.start(state, { settings: SETTINGS });
  starts_ms.push(daemon.start_ms);
  await gather(cast, daemon.port, false);
  const drained = await drain(daemon, cast.away.peer_id);
  const until = performance.now() + LAST_LIFE_MS_MAX;
  let before = -1;
  while (before !== cast.careful.came.size && performance.now() < until) {
    before = cast.careful.came.size;
    await pause(QUIET_MS);
  }
  const answer = await fetch(`${daemon.base}/deliveries?limit=1`);
  const { counts } = await answer.json();
  await Promise.all([cast.careful.leave(), cast.plain.leave()]);
  return { counts, drained };
}

/** All that waits for one that is away, page by page, each settled. */
async function drain({ base }: RealDaemon, peer_id: string): Promise<string[]> {
  const drained: string[] = [];
  for (;;) {
    const page = await fetch(`${base}/deliveries/pending?peer_id=${peer_id}&max_results=500`);
    const { deliveries, drain_id } = await page.json();
    if (drain_id === null) return drained;
    for (const { delivery_id } of deliveries) drained.push(identOf(delivery_id));
    const body = JSON.stringify({ drain_id, status: "accepted" });
    const settled = await fetch(`${base}/deliveries/receipts`, { method: "POST", body });
    await settled.body?.cancel();
  }
}
