/** Floods the real daemon, kills it at moments that a seed picks, and looks at what is left. */

import { DatabaseSync } from "node:sqlite";
import { RealDaemon, temporary } from "../bench/child.ts";
import { built, Lean } from "../bench/lean.ts";
import { pause } from "../bench/process.ts";
import { Client } from "./client.ts";

const LANES = 8;
const LIVE_MS_MIN = 20;
const LIVE_MS_SPAN = 230;
/** How long the last life may take to bring what waits to the clients. */
const QUIET_MS = 1000;
const LAST_LIFE_MS_MAX = 60_000;
const SETTINGS = { MESH_DAEMON__QUEUE__MAX_PER_PEER: "1000000" };

export interface Outcome {
  readonly kills: number;
  readonly acknowledged: number;
  /** Acknowledged, and not in the database. */
  readonly lost: number;
  /** Acknowledged for the client with receipts, and never seen by it. */
  readonly undelivered: number;
  /** Repeats that the client with receipts dropped by their id: allowed. */
  readonly repeats: number;
  /** Sent more than once to the client without receipts. */
  readonly doubled: number;
  /** Rows that are in no state, or counted twice. */
  readonly unaccounted: number;
  readonly integrity: string;
  readonly slowest_start_ms: number;
}

interface Cast {
  readonly careful: Client;
  readonly plain: Client;
  readonly away: Client;
}

/** What was acknowledged: the 12 digits of each id, and whom it was for. */
type Acknowledged = Map<string, string>;

export async function storm(kills: number, seed: number): Promise<Outcome> {
  using state = temporary();
  const chance = chances(seed);
  const cast: Cast = {
    careful: new Client("careful", { receipts: true }),
    plain: new Client("plain", { receipts: false }),
    away: new Client("away", { receipts: false }),
  };
  const acknowledged: Acknowledged = new Map();
  let slowest_start_ms = 0;
  for (let life = 0; life < kills; life++) {
    const daemon = await RealDaemon.start(state.path, { settings: SETTINGS });
    slowest_start_ms = Math.max(slowest_start_ms, daemon.start_ms);
    await gather(cast, daemon.port, life === 0);
    const lanes = Array.from(
      { length: LANES },
      () => lane(daemon.port, cast, acknowledged, chance),
    );
    await pause(LIVE_MS_MIN + chance() * LIVE_MS_SPAN);
    await daemon.kill();
    await Promise.all([...lanes, cast.careful.leave(), cast.plain.leave()]);
  }
  const counts = await lastLife(state.path, cast);
  return { kills, slowest_start_ms, ...look(`${state.path}/mesh.db`, cast, acknowledged, counts) };
}

async function gather({ careful, plain, away }: Cast, port: number, first: boolean): Promise<void> {
  await Promise.all([careful.connect(port), plain.connect(port), first && away.connect(port)]);
  if (first) await away.leave();
}

/** One message after the other, until the daemon is gone. */
async function lane(
  port: number,
  { careful, plain, away }: Cast,
  acknowledged: Acknowledged,
  chance: () => number,
): Promise<void> {
  try {
    using http = await Lean.open(port);
    for (;;) {
      const draw = chance();
      const to = draw < 0.45 ? careful : draw < 0.9 ? plain : away;
      const path = chance() < 0.5 ? "/ask" : "/notify";
      const said = { from_peer: "storm", to_peer: to.peer_id, text: "x".repeat(256) };
      const { correlation_id, delivery_id } = JSON.parse(await http.send(built(port, path, said)));
      acknowledged.set(identOf(correlation_id ?? delivery_id), to.name);
    }
  } catch (fault) {
    const cut = fault instanceof Error && /closed|reset|refused|pipe/i.test(fault.message);
    if (!cut) throw fault;
  }
}

/** Starts once more, lets everything arrive, and stops as an operator would. */
async function lastLife(state: string, cast: Cast): Promise<Record<string, number>> {
  await using daemon = await RealDaemon.start(state, { settings: SETTINGS });
  await gather(cast, daemon.port, false);
  const until = performance.now() + LAST_LIFE_MS_MAX;
  let before = -1;
  while (before !== cast.careful.came.size && performance.now() < until) {
    before = cast.careful.came.size;
    await pause(QUIET_MS);
  }
  const answer = await fetch(`${daemon.base}/deliveries?limit=1`);
  const { counts } = await answer.json();
  await Promise.all([cast.careful.leave(), cast.plain.leave()]);
  return counts;
}

function look(
  path: string,
  { careful, plain }: Cast,
  acknowledged: Acknowledged,
  counts: Record<string, number>,
) {
  using db = new DatabaseSync(path);
  const kept = db.prepare("select ident from messages").all().map(({ ident }) => String(ident));
  const rows = new Set(kept);
  const idents = [...acknowledged.keys()];
  const seen = new Set([...careful.came.keys()].map(identOf));
  const counted = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const { integrity_check } = db.prepare("pragma integrity_check").get() ?? {};
  return {
    acknowledged: acknowledged.size,
    lost: idents.filter((ident) => !rows.has(ident)).length,
    undelivered:
      idents.filter((ident) => acknowledged.get(ident) === careful.name && !seen.has(ident)).length,
    repeats: [...careful.came.values()].reduce((sum, times) => sum + times - 1, 0),
    doubled: [...plain.came.values()].filter((times) => times > 1).length,
    unaccounted: Math.abs(kept.length - counted) + (kept.length - rows.size),
    integrity: String(integrity_check),
  };
}

function identOf(id: string): string {
  return id.split("-")[1] ?? "";
}

/** Mulberry32: chance that a seed repeats. */
function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
