/** The figures of the bench, each with its budget and the same of a bare baseline. */

import { measure, RealDaemon, Script, spawn, temporary } from "../support/programs/child.ts";
import { AgentFleet } from "../support/programs/spawned_agents.ts";
import { fill } from "./queue_fill.ts";
import { cpuMs, pause, residentMb } from "../support/programs/process_facts.ts";
import { running } from "../support/programs/program.ts";

/** Durations and amounts: a quick run shows that everything works, a full run is for figures. */
export interface Effort {
  readonly seconds: number;
  readonly count: number;
  readonly idle_seconds: number;
  readonly sockets: number;
  readonly queued: number;
}

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly budget: number;
  /** Whether a larger value is better. */
  readonly higher_is_better?: boolean;
  /** The same figure of a bare program in the same run. */
  readonly bare?: number;
  readonly note?: string;
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
}
interface Rate {
  readonly per_second: number;
}

const PEERS = 20;
const IN_FLIGHT = 64;
const RECEIVERS = 200;
const ONE_TIMER = "bare: one timer a second";
/** Long enough for a start to finish, and for its garbage to be collected by us and by V8. */
const SETTLE_MS = 60_000;

/** (a) to (e): a live daemon, beside a bare server. */
export async function live(effort: Effort): Promise<Figure[]> {
  using state = temporary();
  await using bare = await Script.start<{ port: number }>("baseline_server.ts");
  await using daemon = await RealDaemon.start(state.path);
  const daemonOptions = {
    port: daemon.port,
    peers: PEERS,
    in_flight: IN_FLIGHT,
    bare: false,
    ...effort,
  };
  const bareOptions = { ...daemonOptions, port: bare.report.port, bare: true };
  const frame = await measure<Spread>({ ...daemonOptions, kind: "latency", path: "/ask" });
  const pushed = await measure<Spread>({ ...bareOptions, kind: "latency", path: "/push" });
  const replied = await measure<Spread>({ ...daemonOptions, kind: "replies" });
  const fanoutOptions = { kind: "fanout", peers: RECEIVERS, count: effort.count / 10 };
  const fanoutSpread = await measure<Spread>({
    ...daemonOptions,
    ...fanoutOptions,
    path: "/broadcast",
  });
  const spread = await measure<Spread>({ ...bareOptions, ...fanoutOptions, path: "/push_all" });
  const path = `${state.path}/bare.db`;
  const rows = await measure<Rate>({ kind: "sqlite", path, seconds: 2 });
  const echoed = await measure<Rate>({ ...bareOptions, kind: "flood", path: "/push", seconds: 2 });
  const bare_both = 1 / (1 / rows.per_second + 1 / echoed.per_second);
  const notified = await measure<Rate>({ ...daemonOptions, kind: "flood", path: "/notify" });
  const asked = await measure<Rate>({ ...daemonOptions, kind: "flood", path: "/ask" });
  const rate = {
    unit: "/s",
    higher_is_better: true,
    bare: bare_both,
    note: "bare: HTTP, frame and row",
  };
  return [
    { what: "ask → frame, p50", value: frame.p50, unit: "ms", budget: 0.5, bare: pushed.p50 },
    { what: "ask → frame, p99", value: frame.p99, unit: "ms", budget: 3, bare: pushed.p99 },
    { what: "durable asks", value: asked.per_second, budget: 15_000, ...rate },
    { what: "durable notifies", value: notified.per_second, budget: 20_000, ...rate },
    { what: "reply → wait returns, p99", value: replied.p99, unit: "ms", budget: 3 },
    {
      what: "broadcast to 200, p99",
      value: fanoutSpread.p99,
      unit: "ms",
      budget: 10,
      bare: spread.p99,
    },
  ];
}

/** (h): memory and idle processor time with 20 connected peers and one reader of the stream. */
export async function calm({ idle_seconds }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const job = { kind: "crowd", port: daemon.port, peers: PEERS, bare: false, stream: true };
  await using _peers = await Script.start("load.ts", JSON.stringify(job));
  const { value, bare } = await idleShares([daemon.pid], idle_seconds);
  return [
    { what: "memory, 20 peers, a stream", value: residentMb(daemon.pid), unit: "MB", budget: 80 },
    { what: "idle processor time", value, unit: "%", budget: 0.2, bare, note: ONE_TIMER },
  ];
}

/** The same with 20 peers spawned in tmux, and the memory of the proxies of half of them. */
export async function fleetFigures({ idle_seconds }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using fleetFigures = await AgentFleet.start(state.path);
  const { daemon: { pid } } = fleetFigures;
  const job = {
    kind: "crowd",
    port: fleetFigures.daemon.port,
    peers: 0,
    bare: false,
    stream: true,
  };
  await using _reader = await Script.start("load.ts", JSON.stringify(job));
  const started = fleetFigures.processes().filter(({ kind }) => kind === "stdio proxy");
  const pids = [pid, ...started.map(({ pid }) => pid)];
  const { value, bare, others: bareOptions } = await idleShares(pids, idle_seconds);
  const daemonOptions = fleetFigures.processes();
  const proxies = daemonOptions.filter(({ kind }) => kind === "stdio proxy");
  const mean = (of: readonly number[]) => of.reduce((sum, mb) => sum + mb, 0) / of.length;
  const resident = mean(proxies.map(({ resident_mb }) => resident_mb));
  const own = mean(proxies.map(({ proportional_mb }) => proportional_mb));
  const others = daemonOptions.filter(({ kind }) => kind !== "daemon" && kind !== "stdio proxy");
  return [
    { what: "memory, 20 spawned peers", value: residentMb(pid), unit: "MB", budget: 80 },
    {
      what: "idle processor time, 20 spawned",
      value,
      unit: "%",
      budget: 0.2,
      bare,
      note: ONE_TIMER,
    },
    {
      what: "a stdio proxy",
      value: own,
      unit: "MB",
      budget: 40,
      note: `of ${proxies.length}, proportional; resident ${resident.toFixed(0)} MB each; ` +
        `at rest ${Math.max(...bareOptions).toFixed(2)} % of a core at most`,
    },
    {
      what: "our other processes",
      value: others.length,
      unit: "",
      budget: 1,
      note: others.map(({ command_line }) => command_line.slice(0, 40)).join("; "),
    },
  ];
}

/** (j): the memory of one connected idle peer, and so the number that fits in a GiB. */
export async function idle({ sockets }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const before = residentMb(daemon.pid);
  const job = { kind: "crowd", port: daemon.port, peers: sockets, bare: false };
  await using _peers = await Script.start("load.ts", JSON.stringify(job));
  await pause(1000);
  const each_kb = (residentMb(daemon.pid) - before) * 1024 / sockets;
  const value = 1024 * 1024 / each_kb;
  const note = `${each_kb.toFixed(1)} KiB a peer, of ${sockets}`;
  return [{
    what: "idle peers",
    value,
    unit: "/GiB",
    budget: 25_000,
    higher_is_better: true,
    note,
  }];
}

/** (f) and (i): a start with a large database. */
export async function starts({ queued }: Effort): Promise<Figure[]> {
  using state = temporary();
  const empty_ms = await seeded(state.path);
  fill(`${state.path}/mesh.db`, 10_000);
  const times: number[] = [];
  for (let start = 0; start < 5; start++) {
    await using daemon = await RealDaemon.start(state.path);
    times.push(daemon.start_ms);
  }
  fill(`${state.path}/mesh.db`, queued - 10_000);
  const from = performance.now();
  await using daemon = await RealDaemon.start(state.path);
  await measure({ kind: "first", port: daemon.port });
  const first = performance.now() - from;
  const median = times.toSorted((a, b) => a - b)[2] ?? 0;
  const bare = await wholeProcess(["eval", "0"]);
  return [
    {
      what: "start to /health, 10,000 stored",
      value: median,
      unit: "ms",
      budget: 150,
      bare,
      note: `an empty one: ${empty_ms.toFixed(0)} ms; bare: a script that does nothing`,
    },
    {
      what: "restart → first redelivery",
      value: first,
      unit: "ms",
      budget: 2000,
      note: `${queued} queued; with the start of the client's process`,
    },
  ];
}

/** (g): a hook's duration, as its agent waits for it. */
export async function hook(): Promise<Figure[]> {
  using state = temporary();
  await using _daemon = await RealDaemon.start(state.path);
  const bare = await wholeProcess(["eval", "0"]);
  const env = { MESH_STATE: state.path, MESH_CONFIG: "/none" };
  const value = await wholeProcess([...running("hook"), "claude-code", "Stop"], env);
  const note = "bare: a script that does nothing, from the same Deno";
  return [{ what: "a hook, whole process", value, unit: "ms", budget: 40, bare, note }];
}

/**
 * The share of one core that idle processes take, in percent; the baseline is a program that wakes
 * once a second and does nothing.
 */
async function idleShares([pid = 0, ...more]: readonly number[], seconds: number) {
  const timer = spawn(["eval", "setInterval(() => undefined, 1000)"], {});
  const pids = [pid, timer.pid, ...more];
  await pause(SETTLE_MS);
  const from = pids.map(cpuMs);
  await pause(seconds * 1000);
  const shares = pids.map((pid, at) => (cpuMs(pid) - (from[at] ?? 0)) / (seconds * 10));
  timer.kill();
  await timer.status;
  const [value = NaN, bare = NaN, ...others] = shares;
  return { value, bare, others };
}

/** The median duration of several runs of one of our programs. */
async function wholeProcess(args: string[], env: Record<string, string> = {}): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 7; run++) {
    const from = performance.now();
    const process = spawn(args, { env, stdin: "piped", stdout: "null" });
    const writer = process.stdin.getWriter();
    const payload = { session_id: "bench", hook_event_name: "Stop" };
    await writer.write(new TextEncoder().encode(JSON.stringify(payload))).catch(() => undefined);
    await writer.close().catch(() => undefined);
    await process.status;
    times.push(performance.now() - from);
  }
  return times.toSorted((a, b) => a - b)[3] ?? 0;
}

/** Lets peers connect and leave, so that their queues can be filled. */
export async function seeded(state: string): Promise<number> {
  await using daemon = await RealDaemon.start(state);
  await measure({ kind: "seed", port: daemon.port, peers: PEERS });
  return daemon.start_ms;
}
