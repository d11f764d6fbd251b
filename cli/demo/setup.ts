/** Where the demo plays: a daemon, a directory and a tmux server of its own, and their end. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Clock } from "kit/core/clock.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { endsWithin, isAlive } from "../../daemon/host/processes.ts";
import { Failed } from "../client/failures.ts";
import { type Daemon, findDaemon } from "../client/daemon_client.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { ourselves, tryHealth } from "../client/lifecycle.ts";
import { envIn, hasTmux } from "../client/throwaway.ts";
import { DEMO_HUMAN, type DemoName } from "./peer.ts";

const START_MS_MAX = 20_000;
const STOP_MS_MAX = 10_000;
const LOOK_EVERY_MS = 25;
/** Both panes, one above the other, in a terminal that nobody sees. */
const PANES = { columns: 78, rows: 25 } as const;

/** A peer's screen, whatever it runs in. */
interface Player {
  readonly pid: number;
  screen(): Promise<string>;
}

export class Stage {
  readonly dir: string;
  readonly tmux: boolean;
  readonly #env: Env;
  readonly #clock: Clock;
  readonly #socket: string;
  readonly #players = new Map<DemoName, Player>();
  readonly #pids: number[] = [];
  #daemon: Deno.ChildProcess | undefined;
  #complaints: Promise<string> = Promise.resolve("");
  #children: Deno.ChildProcess[] = [];

  /** Makes the directory, and nothing else yet. */
  constructor(env: Env, clock: Clock) {
    this.dir = Deno.makeTempDirSync({ prefix: "mesh-demo-" });
    this.#socket = join(this.dir, "tmux.sock");
    this.#clock = clock;
    this.#env = envIn(this.dir, env);
    this.tmux = hasTmux(this.#env);
    for (const name of ["home", "state"]) Deno.mkdirSync(join(this.dir, name), { mode: 0o700 });
    const config = { daemon: { port: 0 }, human: { name: DEMO_HUMAN } };
    Deno.writeTextFileSync(join(this.dir, "config.yaml"), stringify(config), { mode: 0o600 });
  }

  async startDaemon(signal: AbortSignal): Promise<Daemon> {
    const child = this.#spawn(ourselves("daemon"), "null", "piped");
    this.#daemon = child;
    this.#complaints = new Response(child.stderr).text();
    let ended = false;
    child.status.then(() => ended = true);
    const until = this.#clock.now() + START_MS_MAX;
    while (!ended && this.#clock.now() < until) {
      const daemon = runningDaemon(this.#env) && findDaemon(this.#env, false);
      if (daemon && await tryHealth(daemon)) return daemon;
      await this.#clock.sleep(LOOK_EVERY_MS, signal);
    }
    if (!ended) throw new Failed(`The daemon does not answer after ${START_MS_MAX / 1000} s`);
    throw new Failed("The daemon has ended");
  }

  async enter(name: DemoName): Promise<void> {
    const player = this.tmux ? await this.#enterPane(name) : this.#enterPlain(name);
    this.#players.set(name, player);
    this.#pids.push(player.pid);
  }

  /** Who has entered, in that order. */
  get players(): readonly DemoName[] {
    return [...this.#players.keys()];
  }

  /** What a peer's screen shows now. */
  async screen(name: DemoName): Promise<string> {
    return await this.#players.get(name)?.screen() ?? "";
  }

  /** Ends what was started, and only that; how many processes, or a failure with what is left. */
  async leave(): Promise<number> {
    try {
      if (existsSync(this.#socket)) await this.#tmux("kill-server");
    } finally {
      for (const child of this.#children) kill(child.pid);
      for (const pid of this.#pids) await this.#mustEnd(pid);
      await Promise.all(this.#children.map(({ status }) => status));
      await this.#complaints;
      Deno.removeSync(this.dir, { recursive: true });
    }
    const left = this.#pids.filter((pid) => isAlive(pid));
    if (left.length > 0) throw new Failed(`Still running: ${left.join(", ")}`);
    if (existsSync(this.dir)) throw new Failed(`Still there: ${this.dir}`);
    return this.#pids.length;
  }

  async #mustEnd(pid: number): Promise<void> {
    if (await endsWithin(STOP_MS_MAX, { pid }, { clock: this.#clock })) return;
    throw new Failed(`Process ${pid} has not ended after ${STOP_MS_MAX / 1000} s`);
  }

  /** What the daemon has complained of; it ends with the daemon. */
  async complaints(): Promise<string> {
    if (this.#daemon) kill(this.#daemon.pid);
    return await this.#complaints;
  }

  async #enterPane(name: DemoName): Promise<Player> {
    const { command, args } = ourselves("demo-peer", name);
    const first = this.#players.size === 0;
    const { columns, rows } = PANES;
    const place = first
      ? ["new-session", "-d", "-s", "demo", "-x", String(columns), "-y", String(rows)]
      : ["split-window", "-v", "-t", "demo"];
    const keep = first ? [";", "set-option", "-g", "remain-on-exit", "on"] : [];
    const format = "#{pane_id} #{pane_pid} #{pid}";
    const said = await this.#tmux(...place, "-P", "-F", format, "--", command, ...args, ...keep);
    const [pane = "", pid, server] = said.trim().split(" ");
    if (first) this.#pids.push(Number(server));
    return { pid: Number(pid), screen: () => this.#tmux("capture-pane", "-p", "-t", pane) };
  }

  #enterPlain(name: DemoName): Player {
    const child = this.#spawn(ourselves("demo-peer", name), "piped", "null");
    let shown = "";
    const listen = async () => {
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) shown += text;
    };
    void listen();
    return { pid: child.pid, screen: () => Promise.resolve(shown) };
  }

  #spawn(
    { command, args }: { command: string; args: string[] },
    stdout: "piped" | "null",
    stderr: "piped" | "null",
  ): Deno.ChildProcess {
    const child = new Deno.Command(command, {
      args,
      env: { ...this.#env },
      clearEnv: true,
      cwd: this.dir,
      stdin: "null",
      stdout,
      stderr,
    }).spawn();
    this.#children.push(child);
    if (stdout === "null") this.#pids.push(child.pid);
    return child;
  }

  async #tmux(...words: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, "-f", "/dev/null", ...words],
      env: { ...this.#env },
      clearEnv: true,
      cwd: this.dir,
    }).output();
    const text = new TextDecoder();
    if (!success) throw new Failed(`tmux ${words[0]}: ${text.decode(stderr).trim()}`);
    return text.decode(stdout);
  }
}

function kill(pid: number): void {
  if (isAlive(pid)) Deno.kill(pid, "SIGTERM");
}
