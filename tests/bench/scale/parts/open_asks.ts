/** Open asks: lists, routing, metrics, and the eviction of all of them at once. */

import { temporary } from "../../../support/programs/child.ts";
import { pause } from "../../../support/programs/process_facts.ts";
import { seedPeers } from "../../parts/starts.ts";
import { fillMessages } from "../fill/messages.ts";
import {
  Growths,
  type PartMeasurements,
  type Scale,
  type Single,
  sizesUpTo,
} from "../report/growth.ts";
import { ProbedDaemon } from "./under_probe.ts";

/** The asks of the fill are up to 20 days old. */
const KEEPS_ASKS = { MESH_DAEMON__ASK_TTL_HOURS: "8760" };

export async function openAsks(scale: Scale): Promise<PartMeasurements> {
  using state = temporary();
  await seedPeers(state.path);
  const growths = new Growths("open asks");
  const count_max = scale.open_asks;
  for (const count of sizesUpTo(count_max, scale)) {
    fillMessages(`${state.path}/mesh.db`, { count, count_max, open: true });
    await using at = await ProbedDaemon.start(state.path, KEEPS_ASKS);
    growths.add("start to /health", { n: count, ms: at.daemon.start_ms });
    for (const [what, work] of await operations(at)) {
      growths.add(what, { n: count, ...await at.measure(scale.rounds, work) });
    }
  }
  return { growth: growths.all(), singles: await eviction(state.path, scale) };
}

async function operations(at: ProbedDaemon): Promise<[string, () => Promise<void>][]> {
  const { asks } = JSON.parse(await at.get("/asks?state=open"));
  const { correlation_id, to_peer_id: peer } = asks[3];
  const get = (path: string) => async () => void await at.get(path);
  const short = String(correlation_id).slice("ask-".length, "ask-".length + 8);
  return [
    ["open asks: newest page", get("/asks?state=open")],
    ["open asks: a peer's page", get(`/asks?state=open&peer_id=${peer}`)],
    ["open asks to and from a peer", get(`/asks/pending?peer_id=${peer}&direction=both`)],
    ["one ask", get(`/asks/${correlation_id}`)],
    ["a shortened id", get(`/ids/${short}?of=record`)],
    ["peers, with their open asks", get("/peers")],
    ["one peer, with its open asks", get(`/peers/${peer}`)],
    ["metrics", get("/metrics")],
    ["a new ask", async () => {
      await at.post("/ask", { from_peer: "bench", to_peer: peer, text: "One more" });
    }],
  ];
}

/** All asks are too old at the next start, and are evicted a few at each tick. */
async function eviction(state: string, { seconds }: Scale): Promise<Single[]> {
  await using at = await ProbedDaemon.start(state, { MESH_DAEMON__ASK_TTL_HOURS: "1" });
  const before = await at.metric("mesh_open_asks");
  const probed = await at.probeDuring(() => pause(seconds * 1000));
  const evicted = before - await at.metric("mesh_open_asks");
  return [
    { what: "asks evicted, all overdue at once", value: evicted / seconds, unit: "/s" },
    { what: "delivery p50 during the eviction", value: probed.p50, unit: "ms" },
    { what: "delivery p99 during the eviction", value: probed.p99, unit: "ms" },
    { what: "longest delivery during the eviction", value: probed.max, unit: "ms" },
  ];
}
