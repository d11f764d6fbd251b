/** Connected peers: idle ones, lists of them, broadcasts, and traffic between a thousand. */

import { temporary } from "../../../support/programs/child.ts";
import { cpuMs, pause, residentMb } from "../../../support/programs/process_facts.ts";
import type { FloodRate, Latencies } from "../../load/job.ts";
import { LoadGenerator } from "../../load/generator.ts";
import {
  Growths,
  type PartMeasurements,
  type Scale,
  type Single,
  sizesUpTo,
} from "../report/growth.ts";
import { ProbedDaemon } from "./under_probe.ts";

const BUSY_PEERS = 1000;
const SETTLE_MS = 5000;
const IN_FLIGHT = 64;

export async function peers(scale: Scale): Promise<PartMeasurements> {
  const growths = new Growths("connected peers");
  const singles: Single[] = [];
  for (const count of sizesUpTo(scale.peers, scale)) {
    using state = temporary();
    await using at = await ProbedDaemon.start(state.path);
    const { pid, port } = at.daemon;
    const memory_before = residentMb(pid), cpu_before = cpuMs(pid);
    await using _crowd = await LoadGenerator.crowd({ port, peers: count });
    const size = { n: count };
    growths.add("processor time of a connect", { ...size, ms: (cpuMs(pid) - cpu_before) / count });
    await pause(SETTLE_MS);
    const kb = (residentMb(pid) - memory_before) * 1024 / count;
    singles.push({ what: `memory of an idle peer, ${count} peers`, value: kb, unit: "KB" });
    const idle_from = cpuMs(pid);
    await pause(scale.seconds * 1000);
    const share = (cpuMs(pid) - idle_from) / scale.seconds / 10;
    singles.push({ what: `idle processor time, ${count} peers`, value: share, unit: "%" });
    for (const [what, work] of await operations(at)) {
      growths.add(what, { ...size, ...await at.measure(scale.rounds, work) });
    }
  }
  return { growth: growths.all(), singles: [...singles, ...await traffic(scale)] };
}

async function operations(at: ProbedDaemon): Promise<[string, () => Promise<void>][]> {
  const { peers } = JSON.parse(await at.get("/peers"));
  const { peer_id } = peers[5];
  const get = (path: string) => async () => void await at.get(path);
  const post = (path: string, body: unknown) => async () => void await at.post(path, body);
  return [
    ["nothing, for comparison", () => pause(20)],
    ["peers: all", get("/peers")],
    ["peers: none matches", get("/peers?status=offline")],
    ["one peer", get(`/peers/${peer_id}`)],
    ["doctor of a peer", get(`/peers/${peer_id}/doctor`)],
    ["health", get("/health")],
    ["metrics", get("/metrics")],
    ["one notification", post("/notify", { from_peer: "bench", to_peer: peer_id, text: "Hello" })],
    ["broadcast to all", post("/broadcast", { from_peer: "bench", text: "All", circle: "bench" })],
  ];
}

/** A thousand connected peers, each of which gets messages. */
async function traffic({ peers: max, rounds, seconds }: Scale): Promise<Single[]> {
  using state = temporary();
  await using at = await ProbedDaemon.start(state.path);
  const { pid, port } = at.daemon;
  await using load = await LoadGenerator.start();
  const job = { port, pid, bare: false, peers: Math.min(BUSY_PEERS, max), path: "/ask" };
  const latency = await load.run<Latencies>({ ...job, kind: "latency", count: 200 * rounds });
  const flood = await load.run<FloodRate>({ ...job, kind: "flood", in_flight: IN_FLIGHT, seconds });
  const note = `${job.peers} connected peers`;
  return [
    { what: "ask → frame, p50", value: latency.p50, unit: "ms", note },
    { what: "ask → frame, p99", value: latency.p99, unit: "ms", note },
    { what: "asks, 64 in flight", value: flood.per_second, unit: "/s", note },
    { what: "processor time of an ask", value: flood.cpu_us, unit: "µs", note },
    { what: "memory after the flood", value: residentMb(pid), unit: "MB", note },
  ];
}
