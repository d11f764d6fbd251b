/**
 * Ours beside other products, where they are installed (`pip install repowire hcom`, nats-server). They run with
 * a home of their own, and only what both can do is compared.
 */

import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { end, temporary } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { installMesh } from "../../support/programs/program.ts";
import type { FloodRate, Latencies } from "../load/job.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { scriptCommand } from "./commands.ts";
import { meanOf, type Run, runOnce } from "./programs.ts";
import { besideNats } from "./nats.ts";
import { type Server, Servers } from "./servers.ts";

const PEERS = 20;
const IN_FLIGHT = 64;
const START_MS_MAX = 20_000;
const POLL_MS = 50;
const HOOK_RUNS = 8;
const HCOM_HOOK_RATIO_MAX = 1.5;
const HCOM_END_MS = 1000;

const INSTALLATIONS = [["repowire", "pip"], ["hcom", "pip"], ["nats-server", "apt-get"]] as const;

/** Commands that do the same: ours, and theirs. */
const COMMANDS = {
  repowire: [
    { ours: ["--version"], theirs: ["--version"] },
    { ours: ["--help"], theirs: ["--help"] },
  ],
  hcom: [
    { ours: ["--version"], theirs: ["--version"] },
    { ours: ["--help"], theirs: ["--help"] },
    { ours: ["peers"], theirs: ["list"] },
  ],
} as const;

export async function otherProducts(
  effort: Effort,
  remark: (text: string) => void,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, install] of INSTALLATIONS) {
    const version = versionOf(name);
    if (version === undefined) {
      remark(`${name} was left out: it is not installed (${install} install ${name}).`);
      continue;
    }
    remark(version);
    if (name === "nats-server") {
      figures.push(...await besideNats(effort));
      continue;
    }
    if (name === "repowire") figures.push(...await besideRepowire(effort, remark));
    else figures.push(await besideHcomHook(effort));
    figures.push(...await besideCommands(name, effort));
  }
  return figures;
}

/** Output of `--version`; undefined if the program is not on the PATH. */
function versionOf(name: string): string | undefined {
  try {
    const { stdout } = new Deno.Command(name, { args: ["--version"] }).outputSync();
    return new TextDecoder().decode(stdout).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function besideCommands(
  name: keyof typeof COMMANDS,
  { rounds, runs }: Effort,
): Promise<Figure[]> {
  await using servers = await Servers.start();
  using home = temporary();
  const environments = {
    ours: { MESH_STATE: servers.state, MESH_CONFIG: "/none" },
    theirs: { HOME: home.path },
  };
  const figures: Figure[] = [];
  for (const { ours, theirs } of COMMANDS[name]) {
    const all = await interleave(rounds * runs, {
      ours: () => runOnce({ command: [installMesh().mesh, ...ours], env: environments.ours }),
      theirs: () => runOnce({ command: [name, ...theirs], env: environments.theirs }),
    });
    figures.push({
      what: `${name} ${theirs[0]}, mesh ${ours[0]}`,
      unit: "ms",
      ours: all.ours.map(({ ms }) => ms),
      yardstick: { name, samples: all.theirs.map(({ ms }) => ms) },
    });
  }
  return figures;
}

/** The hook of a prompt: our script, and the hook of a session that hcom has started. */
async function besideHcomHook({ rounds, runs }: Effort): Promise<Figure> {
  await using servers = await Servers.start();
  await using hcom = await HcomSession.start();
  const prompt = {
    session_id: "bench",
    hook_event_name: "UserPromptSubmit",
    prompt: "Which port?",
  };
  const input = JSON.stringify({ ...prompt, cwd: "/work", transcript_path: "/work/t.jsonl" });
  const line = scriptCommand(servers.state, "claude-code", prompt.hook_event_name);
  const env = { MESH_STATE: servers.state, MESH_CONFIG: "/none", TMUX: "", TMUX_PANE: "" };
  const all = await interleave(rounds * runs * HOOK_RUNS, {
    ours: () => runOnce({ command: ["sh", "-c", line], env, input }),
    theirs: () => runOnce({ command: ["hcom", "userpromptsubmit"], env: hcom.env, input }),
  });
  const of = (what: string, value: (ran: Run) => number[]): Figure => ({
    what,
    unit: "ms",
    ours: all.ours.flatMap(value),
    yardstick: { name: "hcom", samples: all.theirs.flatMap(value) },
  });
  const cpu = (ran: readonly Run[]) => [meanOf(ran.map(({ cpu_ms }) => cpu_ms))];
  return {
    ...of("hcom: hook of a prompt", ({ ms }) => [ms]),
    budget: { of: "ratio", max: HCOM_HOOK_RATIO_MAX },
    details: [{
      what: "processor time",
      unit: "ms",
      ours: cpu(all.ours),
      yardstick: { name: "hcom", samples: cpu(all.theirs) },
    }],
  };
}

/** A session that hcom believes to have started: its `claude` writes down its environment. */
class HcomSession implements AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly #home: ReturnType<typeof temporary>;

  private constructor(home: ReturnType<typeof temporary>, env: Record<string, string>) {
    this.#home = home;
    this.env = env;
  }

  static async start(): Promise<HcomSession> {
    const home = temporary();
    const environment = `${home.path}/environment`;
    const claude = `#!/bin/sh\necho $$ > "$HOME/pid"\nenv -0 > "$HOME/part"\n` +
      `mv "$HOME/part" "$HOME/environment"\nexec sleep 600\n`;
    Deno.mkdirSync(`${home.path}/bin`);
    Deno.writeTextFileSync(`${home.path}/bin/claude`, claude, { mode: 0o755 });
    const PATH = `${home.path}/bin:${Deno.env.get("PATH")}`;
    await runOnce({ command: ["hcom", "claude", "--headless"], env: { HOME: home.path, PATH } });
    while (!existsSync(environment)) await pause(POLL_MS);
    const lines = Deno.readTextFileSync(environment).split("\0").filter(Boolean);
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    return new HcomSession(home, env);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    Deno.kill(Number(Deno.readTextFileSync(`${this.#home.path}/pid`)), "SIGTERM");
    await pause(HCOM_END_MS); // It writes to its home once more.
    this.#home[Symbol.dispose]();
  }
}

/** Its daemon answers the same requests and sends the same frames, so it gets the same load. */
async function besideRepowire(
  { rounds, seconds, count }: Effort,
  remark: (text: string) => void,
): Promise<Figure[]> {
  await using servers = await Servers.start();
  await using repowire = await Repowire.start();
  if (!await repowire.isUp()) {
    remark("repowire's messages were left out: `repowire serve` did not start.");
    return [];
  }
  const send = (server: Server) => async () => {
    const asks = { peers: PEERS, path: "/ask" };
    const job = { ...asks, in_flight: IN_FLIGHT, seconds };
    const timed = await servers.measure<Latencies>(server, { ...asks, kind: "latency", count });
    const flooded = await servers.measure<FloodRate>(server, { ...job, kind: "flood" });
    return { p50: timed.p50, p99: timed.p99, ...flooded };
  };
  const all = await interleave(rounds, { ours: send(servers.ours), theirs: send(repowire) });
  type Sample = (typeof all.ours)[number];
  const beside = (what: string, unit: string, of: (sample: Sample) => number): Figure => ({
    what,
    unit,
    ours: all.ours.map(of),
    yardstick: { name: "repowire", samples: all.theirs.map(of) },
  });
  return [
    beside("repowire: ask → frame, p50", "ms", ({ p50 }) => p50),
    beside("repowire: ask → frame, p99", "ms", ({ p99 }) => p99),
    beside("repowire: asks a second", "/s", ({ per_second }) => per_second),
    beside("repowire: processor time of an ask", "µs", ({ cpu_us }) => cpu_us),
  ];
}

class Repowire implements Server, AsyncDisposable {
  readonly bare = false;
  readonly backend = "claude-code";
  readonly acknowledges = true;
  readonly #process: Deno.ChildProcess;
  readonly #home: Disposable;
  readonly port: number;

  private constructor(process: Deno.ChildProcess, home: Disposable, port: number) {
    this.#process = process;
    this.#home = home;
    this.port = port;
  }

  get pid(): number {
    return this.#process.pid;
  }

  static async start(): Promise<Repowire> {
    const home = temporary();
    const port = await freePort();
    const process = new Deno.Command("repowire", {
      args: ["serve", "--host", "127.0.0.1", "--port", String(port), "--no-install-hooks"],
      env: { HOME: home.path },
      stdout: "null",
      stderr: "null",
    }).spawn();
    return new Repowire(process, home, port);
  }

  /** Waits for its first answer; false if it ends or does not answer in time. */
  async isUp(): Promise<boolean> {
    let hasEnded = false;
    void this.#process.status.then(() => hasEnded = true);
    for (const end = performance.now() + START_MS_MAX; performance.now() < end && !hasEnded;) {
      try {
        return (await fetch(`http://127.0.0.1:${this.port}/health`)).ok;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        await pause(POLL_MS); // Nothing listens yet.
      }
    }
    return false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#process, "SIGTERM");
    this.#home[Symbol.dispose]();
  }
}

/** Its daemon cannot choose a port by itself. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("No port is free");
  return address.port;
}
