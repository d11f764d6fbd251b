/** Memory and processor time of a daemon at rest. */

import { AgentFleet, type FleetProcess } from "../../support/programs/spawned_agents.ts";
import { RealDaemon, Script, spawn, temporary } from "../../support/programs/child.ts";
import { cpuMs, pause, proportionalMb, residentMb } from "../../support/programs/process_facts.ts";
import { LoadGenerator } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";

const PEERS = 20;
/** Long enough for a start to finish, and for its garbage to be collected by us and by V8. */
const SETTLE_MS = 60_000;
/**
 * Time before a server's memory is measured, after its start and again after its peers have
 * connected. One second after the handshakes, most of the growth is their garbage.
 */
const COLLECTED_MS = 10_000;
const ONE_TIMER = "setInterval(() => undefined, 1000)";
const READER = "for await (const _ of Deno.stdin.readable);";

/** Memory and idle processor time with 20 connected peers and one reader of the event stream. */
export async function idle({ rounds, idle_seconds }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  await using bare = await Script.start<{ port: number }>("servers/bare.ts");
  await using _peers = await LoadGenerator.crowd({ port: daemon.port, peers: PEERS, stream: true });
  const { port } = bare.report;
  await using _sockets = await LoadGenerator.crowd({ port, peers: PEERS, bare: true });
  const shares = await idleShares(daemon.pid, { rounds, idle_seconds });
  return [
    {
      what: "memory, 20 peers and a stream",
      unit: "MB",
      ours: shares.memory_mb,
      yardstick: { name: "bare, 20 sockets", samples: [residentMb(bare.pid)] },
      budget: { of: "value", max: 80 },
    },
    idleFigure("idle processor time, 20 peers", shares),
  ];
}

/** The same with 20 peers spawned in tmux, and the memory of the proxies of half of them. */
export async function idleWithSpawnedPeers({ rounds, idle_seconds }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using fleet = await AgentFleet.start(state.path);
  const { daemon } = fleet;
  await using _reader = await LoadGenerator.crowd({ port: daemon.port, peers: 0, stream: true });
  const isProxy = ({ kind }: FleetProcess) => kind === "stdio proxy";
  const proxies = fleet.processes().filter(isProxy);
  await using readers = new AsyncDisposableStack();
  const empty = proxies.map(() => readers.use(new EmptyReader()).pid);
  const shares = await idleShares(daemon.pid, { rounds, idle_seconds });
  const processes = fleet.processes();
  const others = processes.filter(({ kind }) => kind !== "daemon" && kind !== "stdio proxy");
  return [
    {
      what: "memory, 20 spawned peers",
      unit: "MB",
      ours: shares.memory_mb,
      budget: { of: "value", max: 80 },
    },
    idleFigure("idle processor time, 20 spawned", shares),
    {
      what: "stdio tools process, PSS",
      unit: "MB",
      ours: processes.filter(isProxy).map(({ proportional_mb }) => proportional_mb),
      yardstick: { name: "empty Deno", samples: empty.map(proportionalMb) },
      budget: { of: "value", max: 12 },
      note: `${proxies.length} of each ran at the same time, and share the pages of one program.`,
    },
    {
      what: "processes besides daemon and tools",
      unit: "",
      ours: [others.length],
      budget: { of: "value", max: 1 },
      note: others.map(({ command_line }) => command_line.slice(0, 40)).join("; "),
    },
  ];
}

/** The memory that a connected idle peer adds to the daemon, and a socket to a bare server. */
export async function idlePeers({ rounds, idle_peers: peers }: Effort): Promise<Figure[]> {
  const grownKb = async (server: { port: number; pid: number }, bare: boolean) => {
    await pause(COLLECTED_MS);
    const before = residentMb(server.pid);
    await using _peers = await LoadGenerator.crowd({ port: server.port, peers, bare });
    await pause(COLLECTED_MS);
    return (residentMb(server.pid) - before) * 1024 / peers;
  };
  const { ours, bare } = await interleave(rounds, {
    ours: async () => {
      using state = temporary();
      await using daemon = await RealDaemon.start(state.path);
      return await grownKb(daemon, false);
    },
    bare: async () => {
      await using script = await Script.start<{ port: number }>("servers/bare.ts");
      return await grownKb({ port: script.report.port, pid: script.pid }, true);
    },
  });
  return [{
    what: "connected idle peer",
    unit: "KB",
    ours,
    yardstick: { name: "bare", samples: bare },
    budget: { of: "value", max: 36 },
    note: `of ${peers}, each round in a new daemon`,
  }];
}

/** The yardstick for a process that waits for its input. */
class EmptyReader implements AsyncDisposable {
  readonly #process = spawn(["eval", READER], { stdin: "piped" });
  readonly pid = this.#process.pid;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stdin.close();
    await this.#process.status;
  }
}

/**
 * The share of one core that a process takes at rest, in percent, beside a program that wakes once
 * a second and does nothing, and the memory of the process. Both are watched at the same time.
 */
async function idleShares(
  pid: number,
  { rounds, idle_seconds }: Pick<Effort, "rounds" | "idle_seconds">,
): Promise<{ ours: number[]; timer: number[]; memory_mb: number[] }> {
  const timer = spawn(["eval", ONE_TIMER], {});
  const shares = { ours: [] as number[], timer: [] as number[], memory_mb: [] as number[] };
  await pause(SETTLE_MS);
  for (let round = 0; round < rounds; round++) {
    const from = { ours: cpuMs(pid), timer: cpuMs(timer.pid) };
    await pause(idle_seconds * 1000);
    shares.ours.push((cpuMs(pid) - from.ours) / (idle_seconds * 10));
    shares.memory_mb.push(residentMb(pid));
    shares.timer.push((cpuMs(timer.pid) - from.timer) / (idle_seconds * 10));
  }
  timer.kill();
  await timer.status;
  return shares;
}

function idleFigure(what: string, { ours, timer }: { ours: number[]; timer: number[] }): Figure {
  const mean = ours.reduce((sum, share) => sum + share, 0) / ours.length;
  return {
    what,
    unit: "%",
    ours,
    yardstick: { name: "one timer", samples: timer },
    budget: { of: "value", max: 0.1 },
    note: `mean ${mean.toFixed(3)} %; the kernel counts in steps of 10 ms`,
  };
}
