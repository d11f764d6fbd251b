/** A relay with many daemons: memory, requests through their tunnels, and a restart. */

import { randomIds } from "kit/core/clock.ts";
import { Script } from "../../../support/programs/child.ts";
import { cpuMs, pause, residentMb } from "../../../support/programs/process_facts.ts";
import { LoadGenerator } from "../../load/generator.ts";
import type { Tunnel } from "../../load/job.ts";
import type { TunnelRates } from "../../load/tunnelled.ts";
import type { FleetMember } from "../fleet.ts";
import {
  Growths,
  type PartMeasurements,
  type Scale,
  type Single,
  sizesUpTo,
} from "../report/growth.ts";
import { RelayProcess } from "./relay_process.ts";

/** The relay accepts this many daemons with one secret. */
const OF_SECRET = 100;
const IN_FLIGHT = 128;
/** A connection counts as stable after this, so that the next backoff begins at its minimum. */
const STABLE_MS = 31_000;
const SLOT_MS = 100;

type Fleet = Script<unknown>;

export async function relay(scale: Scale): Promise<PartMeasurements> {
  await using resources = new AsyncDisposableStack();
  const growths = new Growths("connected daemons");
  const fleet = resources.use(await Script.start("scale/fleet.ts"));
  const load = resources.use(await LoadGenerator.start());
  let relay = await RelayProcess.start();
  resources.defer(async () => await relay[Symbol.asyncDispose]());
  const members: FleetMember[] = [], tunnels: Tunnel[] = [], singles: Single[] = [];
  const memory_before = residentMb(relay.pid);
  for (const count of sizesUpTo(scale.daemons, scale)) {
    const added = await newMembers(relay, count - members.length, members.length);
    const cpu_before = cpuMs(relay.pid);
    await fleet.run({ kind: "connect", url: relay.url, members: added });
    const connect_ms = (cpuMs(relay.pid) - cpu_before) / added.length;
    members.push(...added);
    tunnels.push(...added);
    await pause(1000);
    const memory_kb = (residentMb(relay.pid) - memory_before) * 1024 / count;
    const job = { kind: "tunnelled", port: relay.port, pid: relay.pid, tunnels };
    const run = { ...job, in_flight: IN_FLIGHT, seconds: Math.min(10, scale.seconds) };
    const result = await load.run<TunnelRates>(run);
    const n = count;
    growths.add("processor time of a connect", { n, ms: connect_ms });
    growths.add("processor time of a request", { n, ms: result.cpu_us / 1000 });
    growths.add("request, 128 in flight, p50", { n, ms: result.p50 });
    growths.add("request, 128 in flight, p99", { n, ms: result.p99 });
    singles.push(
      { what: `requests through ${n} daemons`, value: result.per_second, unit: "/s" },
      { what: `memory of a daemon, ${n} connected`, value: memory_kb, unit: "KB" },
      { what: `memory of the relay, ${n} connected`, value: residentMb(relay.pid), unit: "MB" },
    );
  }
  await pause(STABLE_MS);
  singles.push(...await restart(fleet, () => relay, (next) => relay = next));
  return { growth: growths.all(), singles };
}

/** Kills the relay, starts it again at once, and waits until every daemon is back. */
async function restart(
  fleet: Fleet,
  current: () => RelayProcess,
  replace: (next: RelayProcess) => void,
): Promise<Single[]> {
  const { port } = current();
  await fleet.run({ kind: "dials" });
  const back = fleet.run<{ connected: number; at: number }>({ kind: "wait", lost: true });
  const from = Date.now();
  await current().kill();
  replace(await RelayProcess.start(port));
  const { connected, at } = await back;
  const dials = await fleet.run<number[]>({ kind: "dials" });
  const slots = new Map<number, number>();
  for (const dial of dials) {
    const slot = Math.floor((dial - from) / SLOT_MS);
    slots.set(slot, (slots.get(slot) ?? 0) + 1);
  }
  const note = `of ${connected} daemons, after the relay was killed and started`;
  return [
    { what: "all daemons are back after", value: (at - from) / 1000, unit: "s", note },
    { what: "first dial after", value: Math.min(...dials) - from, unit: "ms", note },
    { what: "last dial after", value: Math.max(...dials) - from, unit: "ms", note },
    { what: "dials", value: dials.length, unit: "", note },
    { what: "most dials in 100 ms", value: Math.max(...slots.values()), unit: "", note },
    {
      what: "processor time of the restarted relay meanwhile",
      value: cpuMs(current().pid),
      unit: "ms",
      note,
    },
  ];
}

/** Daemons with new secrets, and browsers that are signed in to them. */
async function newMembers(
  relay: RelayProcess,
  count: number,
  known: number,
): Promise<(FleetMember & Tunnel)[]> {
  const members: (FleetMember & Tunnel)[] = [];
  for (let at = 0; at < count; at += OF_SECRET) {
    const secret = `mesh_sk_${randomIds.secret(32)}`;
    const number = known + at;
    const address = `10.${number >> 16 & 255}.${number >> 8 & 255}.${number & 255}`;
    const cookie = await relay.signIn(secret, address);
    for (let index = at; index < Math.min(count, at + OF_SECRET); index++) {
      members.push({ daemon_id: randomIds.next("dm"), secret, address, cookie });
    }
  }
  return members;
}
