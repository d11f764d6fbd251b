/**
 * Freezes every kind of link between real programs in each direction, and stops a server. Prints
 * when each end noticed, and when it was connected again.
 */

import process from "node:process";
import { stopwatch, systemClock } from "kit/core/clock.ts";
import { client } from "kit/http/client.ts";
import { watchEvents } from "../../cli/client/event_stream.ts";
import { Connection, type SocketClass } from "../../clients/typescript/connection.ts";
import { openAsk } from "protocol/asks/contract.ts";
import { listMachines } from "protocol/machines.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { readTaskArgs } from "../runner/task_args.ts";
import { RealRelay, SECRET } from "../support/e2e/relay_lab.ts";
import { type Freeze, FrozenProxy } from "../support/net/frozen_proxy.ts";
import { SecureServer } from "../support/net/secure_server.ts";
import { temporary } from "../support/programs/child.ts";
import { AnsweringPeer } from "../support/real_machines/answering_peer.ts";
import { RealMachine } from "../support/real_machines/real_machine.ts";
import { RealNetwork } from "../support/real_machines/real_network.ts";
import { print, until } from "../support/waiting.ts";

const SECONDS = readTaskArgs({
  task: "freeze",
  summary: "Freezes the links between real programs; prints when each end noticed",
  options: { "--seconds N": "seconds in each direction (120)" },
}).number("seconds", 120);
/**
 * Time limit for a link to be connected again after the thaw: the longest pause between attempts.
 */
const BACK_MS_MAX = 75_000;
const DOWN_MS_MAX = 15_000;
/** Longer than the pause between two batches of spans. */
const TRACES_MS_MAX = 10_000;

/** An end of a link, with its own view of the connection. */
interface End {
  readonly name: string;
  readonly isConnected: () => boolean | Promise<boolean>;
  /** Time within which the end notices; undefined if it cannot notice in this direction. */
  readonly notices: (way: NonNullable<Freeze>) => number | undefined;
}

/** Pings every 20 s, two of them unanswered. If the other end closes first, that comes sooner. */
const PINGED_MS = 85_000;

await using stack = new AsyncDisposableStack();
const network = stack.use(await RealNetwork.start({ tls: true }));
// Also the collector of traces: an answer that is not OTLP counts as success.
const secure = stack.use(await SecureServer.start());
const relay = stack.use(new RealRelay(0, secure.tls));
const busLink = stack.use(new FrozenProxy(network.server.port));
const relayLink = stack.use(new FrozenProxy(Number(new URL(relay.url).port)));
const otlpLink = stack.use(new FrozenProxy(secure.port));
const wsLink = stack.use(new FrozenProxy(() => ({ port: laptop.port })));
const desktop = await network.join("desktop");
const laptop = await joinFrozen("laptop");
const links = [busLink, relayLink, otlpLink, wsLink];
stack.use(await AnsweringPeer.connect(desktop, "web", "yes"));

let isPeerUp = false, isStreamUp = false;
const peer = new Connection(
  () => Promise.resolve({ url: `http://127.0.0.1:${wsLink.port}`, token: undefined }),
  () => ({ type: "connect", display_name: "sdk", backend: "sdk", path: "/", metadata: {} }),
  WebSocket as unknown as SocketClass,
  {
    up: () => void (isPeerUp = true),
    down: () => void (isPeerUp = false),
    frame: () => undefined,
    ended: () => undefined,
  },
);
stack.defer(() => peer.end(new Error("the run is over")));
void peer.open();
void readEvents();

const bus = async () => (await client(laptop.base, fetch)(listMachines, {})).bus.status;
const health = async () => await (await fetch(`${laptop.base}/health`)).json();
const ENDS: readonly End[] = [
  {
    name: "bus, TLS: machine",
    isConnected: async () => await bus() === "connected",
    notices: () => 45_000,
  },
  {
    name: "relay tunnel, TLS: daemon",
    isConnected: async () => (await health()).relay.status === "connected",
    notices: () => PINGED_MS,
  },
  {
    name: "relay tunnel, TLS: relay",
    isConnected: () => relay.connected(laptop.id) ?? false,
    notices: () => PINGED_MS,
  },
  {
    name: "OTLP, TLS: daemon",
    isConnected: tracesPass,
    notices: () => 25_000,
  },
  { name: "/ws: client", isConnected: () => isPeerUp, notices: () => PINGED_MS },
  {
    name: "/ws: daemon",
    isConnected: async () => {
      const { peers } = await client(laptop.base, fetch)(listPeers, { query: {} });
      return peers.some(({ name, ws_connected }) => name === "sdk" && ws_connected);
    },
    notices: () => PINGED_MS,
  },
  {
    name: "event stream: reader",
    isConnected: () => isStreamUp,
    // The daemon has sent its answer, so frames from the reader no longer matter.
    notices: (way) => way === "up" ? undefined : 50_000,
  },
];

let failures = 0;
let traces: { count: string | undefined; elapsed_ms: () => number } = {
  count: undefined,
  elapsed_ms: () => Infinity,
};
await allConnected();
for (const way of ["up", "down", "both"] as const) await freezeAll(way);
await stopServer();
await downWhileFrozen();
print(failures === 0 ? "Everything was noticed in time." : `${failures} limits were exceeded.`);
process.exitCode = failures === 0 ? 0 : 1;

async function joinFrozen(name: string): Promise<RealMachine> {
  const state = stack.use(temporary()).path;
  const machine = stack.use(
    new RealMachine(name, state, {
      MESH_RELAY__ENABLED: "true",
      MESH_RELAY__URL: `https://127.0.0.1:${relayLink.port}`,
      MESH_TELEMETRY__OTLP: `https://127.0.0.1:${otlpLink.port}`,
      SSL_CERT_FILE: secure.ca,
      MESH_RELAY__SECRET: SECRET,
      MESH_DAEMON__ALLOWED_HOSTS: `["127.0.0.1:${wsLink.port}"]`,
    }),
  );
  await machine.start();
  await machine.stop();
  const public_key = await machine.join({
    url: `tls://127.0.0.1:${busLink.port}`,
    network_secret: network.secret,
    ca: Deno.readTextFileSync(network.server.ca),
  });
  await network.server.allow(machine.id, name, { seed: "", public_key });
  await machine.start();
  await machine.waitForConnection();
  return machine;
}

/** True if the collector has lately confirmed spans. Each poll of this test makes some. */
async function tracesPass(): Promise<boolean> {
  const metrics = await (await fetch(`${laptop.base}/metrics`)).text();
  const count = /^mesh_telemetry_spans_total\{[^}]*"sent"\} (\d+)/m.exec(metrics)?.[1];
  if (count !== traces.count) traces = { count, elapsed_ms: stopwatch() };
  return traces.elapsed_ms() < TRACES_MS_MAX;
}

async function readEvents(): Promise<void> {
  const stop = new AbortController();
  stack.defer(() => stop.abort());
  const daemon = {
    get: (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${wsLink.port}${path}`, init),
  };
  const onConnectionChange = (change: string) => void (isStreamUp = change === "resumed");
  const options = { daemon, clock: systemClock, signal: stop.signal, onConnectionChange };
  for await (const { type } of watchEvents(options)) if (type === "ready") isStreamUp = true;
}

async function allConnected(): Promise<void> {
  for (const { name, isConnected } of ENDS) await until(`${name} to be connected`, isConnected);
}

/**
 * Measures when each end notices, waits for the rest of the time, and then until all ends are
 * connected.
 */
async function freezeAll(way: NonNullable<Freeze>): Promise<void> {
  for (const link of links) link.frozen = way;
  const elapsed_ms = stopwatch();
  const noticed = ENDS.map(async ({ name, isConnected, notices }) => {
    const limit_ms = notices(way);
    if (limit_ms === undefined) return;
    const end = until(`${name} to notice`, async () => !await isConnected(), limit_ms);
    await report(`${way.padEnd(4)}  ${name}`, "noticed", end, elapsed_ms);
  });
  await Promise.all([...noticed, systemClock.sleep(SECONDS * 1000)]);
  const queued = await client(laptop.base, fetch)(openAsk, {
    body: { from_peer: "tester", to_peer: "web@desktop", text: `during ${way}` },
  });
  for (const link of links) link.frozen = undefined;
  const thawed_ms = stopwatch();
  await Promise.all(ENDS.map(async ({ name, isConnected }) => {
    const end = until(`${name} to be connected`, isConnected, BACK_MS_MAX);
    await report(`${way.padEnd(4)}  ${name}`, "connected again", end, thawed_ms);
  }));
  const answered = until("the answer", async () => {
    const ask = await (await fetch(`${laptop.base}/asks/${queued.correlation_id}`)).json();
    return ask.outcome === "answered";
  }, BACK_MS_MAX);
  await report(`${way.padEnd(4)}  an ask of the frozen time`, "answered", answered, thawed_ms);
}

/** A stopped server is a frozen link whose connections the kernel still accepts. */
async function stopServer(): Promise<void> {
  const pid = network.server.pid ?? 0;
  Deno.kill(pid, "SIGSTOP");
  const elapsed_ms = stopwatch();
  try {
    const noticed = until("the bus to be down", async () => await bus() !== "connected", 45_000);
    await report("stop  nats-server: machine", "noticed", noticed, elapsed_ms);
  } finally {
    Deno.kill(pid, "SIGCONT");
  }
  const thawed_ms = stopwatch();
  const back = until("the bus", async () => await bus() === "connected", BACK_MS_MAX);
  await report("stop  nats-server: machine", "connected again", back, thawed_ms);
}

async function downWhileFrozen(): Promise<void> {
  await allConnected();
  for (const link of links) link.frozen = "both";
  const elapsed_ms = stopwatch();
  const { code, err } = await laptop.mesh("down");
  const ended = code === 0 && elapsed_ms() < DOWN_MS_MAX
    ? Promise.resolve()
    : Promise.reject(new Error(`exit code ${code}: ${err}`));
  await report("both  mesh down", "done", ended, elapsed_ms);
  for (const link of links) link.frozen = undefined;
}

async function report(
  name: string,
  what: string,
  end: Promise<unknown>,
  elapsed_ms: () => number,
): Promise<void> {
  try {
    await end;
    print(`${name.padEnd(34)} ${what} after ${(elapsed_ms() / 1000).toFixed(1)} s`);
  } catch (error) {
    failures++;
    print(`${name.padEnd(34)} NOT ${what}: ${error instanceof Error ? error.message : error}`);
  }
}
