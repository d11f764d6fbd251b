/** A daemon among many machines on one NATS server: its directory, its memory, what rest costs. */

import { listMachines } from "protocol/machines.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { DEFAULT_LIMITS } from "../../../../daemon/machines/nats/store.ts";
import { Script } from "../../../support/programs/child.ts";
import { RawHttpConnection, requestBytes } from "../../../support/programs/lean_http_client.ts";
import { cpuMs, pause, residentMb } from "../../../support/programs/process_facts.ts";
import type { RealMachine } from "../../../support/real_machines/real_machine.ts";
import { RealNetwork } from "../../../support/real_machines/real_network.ts";
import { until } from "../../../support/waiting.ts";
import { Growths, type PartMeasurements, type Scale, type Single } from "../report/growth.ts";

const FIRST = 10;
const PEERS = 10;
const PROCESSES = 2;
const IN_FLIGHT = 64;
const WAIT_MS_MAX = 120_000;
const POLL_MS = 25;
/** Two renewals of every machine. */
const REST_MS = 40_000;

type Fleet = Script<unknown>;

/** Machines double; the last size is the scale's. */
export async function machines(scale: Scale): Promise<PartMeasurements> {
  await using resources = new AsyncDisposableStack();
  const network = resources.use(await RealNetwork.start({ limits: DEFAULT_LIMITS }));
  const real = await network.join("real");
  const fleets = await Promise.all(
    Array.from({ length: PROCESSES }, () => Script.start("scale/machines.ts")),
  );
  fleets.forEach((fleet) => resources.use(fleet));
  const growths = new Growths("machines on one server"), singles: Single[] = [];
  let known = 0;
  for (const count of doublingSizes(scale.machines)) {
    await Promise.all(fleets.map((fleet, at) => {
      const names = Array.from({ length: count - 1 - known }, (_, index) => `m-${known + index}`);
      return connect(network, fleet, names.filter((_, index) => index % PROCESSES === at));
    }));
    known = count - 1;
    await atSize({ network, real, fleets, known, seconds: scale.seconds }, growths, singles);
  }
  singles.push(...await serverRestart(network, real, fleets));
  return { growth: growths.all(), singles };
}

interface Place {
  readonly network: RealNetwork;
  readonly real: RealMachine;
  readonly fleets: readonly Fleet[];
  /** The machines besides the real one. */
  readonly known: number;
  readonly seconds: number;
}

async function atSize(place: Place, growths: Growths, singles: Single[]): Promise<void> {
  const { network, real, known } = place;
  const n = known + 1;
  await real.stop();
  const from = performance.now();
  await real.start();
  await showsAll(real, known * PEERS);
  growths.add("all peers listed after a start", { n, ms: performance.now() - from });
  growths.add("processor time of that start", { n, ms: cpuMs(real.pid) });
  await pause(2000);
  const before = { daemon: cpuMs(real.pid), server: cpuMs(network.server.pid ?? 0) };
  await pause(REST_MS);
  const each_second = (spent: number) => spent / (REST_MS / 1000);
  const rest = each_second(cpuMs(real.pid) - before.daemon);
  const server = each_second(cpuMs(network.server.pid ?? 0) - before.server);
  growths.add("daemon at rest, processor time a second", { n, ms: rest });
  growths.add("server at rest, processor time a second", { n, ms: server });
  singles.push({
    what: `memory of the daemon, ${n} machines`,
    value: residentMb(real.pid),
    unit: "MB",
  });
  const sent = await sendToAll(place);
  growths.add("processor time of a message, to each in turn", { n, ms: sent.cpu_ms });
  singles.push({ what: `messages to ${n} machines`, value: sent.per_second, unit: "/s" });
}

/** Until the daemon lists this many peers of other machines as online. */
async function showsAll(real: RealMachine, count: number): Promise<void> {
  await until(
    "all peers to be listed",
    async () => {
      return (await onlinePeers(real)).length === count;
    },
    WAIT_MS_MAX,
    POLL_MS,
  );
}

async function onlinePeers(real: RealMachine): Promise<string[]> {
  const { peers } = await real.call(listPeers, { query: {} });
  return peers.filter(({ machine, status }) => machine !== null && status === "online")
    .map(({ peer_id }) => peer_id);
}

async function sendToAll({ real, fleets, seconds }: Place) {
  const peers = await onlinePeers(real);
  // The first peer of every machine, then the second of each.
  const order = peers.map((_, at) =>
    peers[at * PEERS % peers.length + Math.floor(at * PEERS / peers.length)]
  );
  const before = await receivedBy(fleets);
  const cpu_from = cpuMs(real.pid), from = Date.now();
  let sent = 0;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    using http = await RawHttpConnection.open(real.port);
    while (Date.now() < from + Math.min(10, seconds) * 1000) {
      const to_peer = order[sent++ % order.length];
      await http.send(
        requestBytes(real.port, "/notify", { from_peer: "bench", to_peer, text: "Hello" }),
      );
    }
  }));
  const after = await until(
    "all messages to arrive",
    async () => {
      const now = await receivedBy(fleets);
      return now.entries - before.entries >= sent ? now : undefined;
    },
    WAIT_MS_MAX,
    POLL_MS,
  );
  const cpu_ms = (cpuMs(real.pid) - cpu_from) / sent;
  return { cpu_ms, per_second: sent / ((after.at - from) / 1000) };
}

/** The server is killed and started at once: when the daemon and all machines are back. */
async function serverRestart(
  network: RealNetwork,
  real: RealMachine,
  fleets: readonly Fleet[],
): Promise<Single[]> {
  const expected = (await onlinePeers(real)).length;
  const cpu_from = cpuMs(real.pid);
  const from = Date.now();
  const seconds = () => (Date.now() - from) / 1000;
  await network.server.kill();
  await network.server.restart();
  await real.waitForConnection();
  const daemon_after = seconds();
  await Promise.all(fleets.map((fleet) => fleet.run({ kind: "connected" })));
  const fleet_after = seconds();
  let fewest = expected;
  await until(
    "all machines to be seen again",
    async () => {
      fewest = Math.min(fewest, (await onlinePeers(real)).length);
      const { machines } = await real.call(listMachines, {});
      return machines.every(({ last_seen }) => last_seen !== null && Date.parse(last_seen) > from);
    },
    WAIT_MS_MAX,
    POLL_MS,
  );
  const note = "after the server was killed and started";
  return [
    { what: "the daemon is connected", value: daemon_after, unit: "s", note },
    { what: "all machines are connected", value: fleet_after, unit: "s", note },
    { what: "all machines are seen again", value: seconds(), unit: "s", note },
    { what: "most peers that were offline meanwhile", value: expected - fewest, unit: "", note },
    { what: "processor time of the daemon", value: cpuMs(real.pid) - cpu_from, unit: "ms", note },
  ];
}

async function connect(network: RealNetwork, fleet: Fleet, names: string[]): Promise<void> {
  const { server, secret, machines: [real] } = network;
  await fleet.run({
    kind: "connect",
    url: server.url,
    seed: server.admin.seed,
    network_secret: secret,
    names,
    peers: PEERS,
    daemon_id: real?.id,
  });
}

async function receivedBy(fleets: readonly Fleet[]): Promise<{ entries: number; at: number }> {
  const all = await Promise.all(
    fleets.map((fleet) => fleet.run<{ entries: number; at: number }>({ kind: "received" })),
  );
  return {
    entries: all.reduce((sum, { entries }) => sum + entries, 0),
    at: Math.max(...all.map(({ at }) => at)),
  };
}

function doublingSizes(max: number): number[] {
  const sizes: number[] = [];
  for (let size = FIRST; size < max; size *= 2) sizes.push(size);
  return [...sizes, max];
}
