/** The demo's harness: starts its daemon, directory and tmux server, and removes them. */

import { makeTemporaryFolder } from "kit/host/file_errors.ts";
import { existsSync } from "node:fs";
import { join } from "kit/core/path.ts";
import type { Clock } from "kit/core/clock.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { isAlive, waitForExit } from "../../daemon/host/processes.ts";
import { CommandError } from "../../cli/client/failures.ts";
import { createDaemonClient, type DaemonClient } from "../../cli/client/daemon_client.ts";
import { readClientSettings } from "../../cli/client/settings.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { getHealth } from "../../cli/client/daemon_process.ts";
import { hasTmux, isolatedEnv, runTmux } from "../../cli/client/isolated_env.ts";
import { meshCommand } from "../../cli/client/program.ts";
import type { DemoName } from "protocol/derived/demo_script.ts";
import { DEMO_HUMAN } from "./peer.ts";

const START_MS_MAX = 20_000;
const STOP_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 25;
/** The size of the detached terminal, which holds both panes one above the other. */
const PANE_SIZE = { columns: 78, rows: 25 } as const;

/** A demo peer, in a pane or as a plain process. */
interface DemoProcess {
  readonly pid: number;
  screen(): Promise<string>;
}

export class DemoHarness {
  readonly dir: string;
  readonly tmux: boolean;
  readonly #env: Env;
  readonly #clock: Clock;
  readonly #socket: string;
  readonly #peers = new Map<DemoName, DemoProcess>();
  readonly #pids: number[] = [];
  #daemon: Deno.ChildProcess | undefined;
  #daemonErrors: Promise<string> = Promise.resolve("");
  #children: Deno.ChildProcess[] = [];

  /** Creates the directory, but starts no process yet. */
  constructor(env: Env, clock: Clock) {
    this.dir = makeTemporaryFolder("mesh-demo-");
    this.#socket = join(this.dir, "tmux.sock");
    this.#clock = clock;
    this.#env = isolatedEnv(this.dir, env);
    this.tmux = hasTmux(this.#env);
    for (const name of ["home", "state"]) Deno.mkdirSync(join(this.dir, name), { mode: 0o700 });
    const config = { daemon: { port: 0 }, human: { name: DEMO_HUMAN } };
    Deno.writeTextFileSync(join(this.dir, "config.yaml"), JSON.stringify(config), { mode: 0o600 });
  }

  async startDaemon(signal: AbortSignal): Promise<DaemonClient> {
    const child = this.#spawn(["daemon"], "null", "piped");
    this.#daemon = child;
    this.#daemonErrors = new Response(child.stderr).text();
    let ended = false;
    child.status.then(() => ended = true);
    const deadline = this.#clock.monotonic() + START_MS_MAX;
    while (!ended && this.#clock.monotonic() < deadline) {
      const daemon = runningDaemon(this.#env) &&
        createDaemonClient(this.#env, false, readClientSettings(this.#env));
      if (daemon && await getHealth(daemon)) return daemon;
      await this.#clock.sleep(POLL_INTERVAL_MS, signal);
    }
    if (!ended) throw new CommandError(`The daemon has not answered in ${START_MS_MAX / 1000} s`);
    throw new CommandError("The daemon has exited");
  }

  async addPeer(name: DemoName): Promise<void> {
    const process = this.tmux ? await this.#startInPane(name) : this.#startAsProcess(name);
    this.#peers.set(name, process);
    this.#pids.push(process.pid);
  }

  get peers(): readonly DemoName[] {
    return [...this.#peers.keys()];
  }

  /** The text on a peer's screen now. */
  async screen(name: DemoName): Promise<string> {
    return await this.#peers.get(name)?.screen() ?? "";
  }

  /**
   * Ends all processes that were started. Returns their number, or throws if any of them still
   * runs.
   */
  async cleanUp(): Promise<number> {
    try {
      if (existsSync(this.#socket)) await this.#tmux("kill-server");
    } finally {
      for (const child of this.#children) kill(child.pid);
      for (const pid of this.#pids) await this.#mustExit(pid);
      await Promise.all(this.#children.map(({ status }) => status));
      await this.#daemonErrors;
      Deno.removeSync(this.dir, { recursive: true });
    }
    const remaining = this.#pids.filter((pid) => isAlive(pid));
    if (remaining.length > 0) {
      throw new CommandError(`Processes are still running: ${remaining.join(", ")}`);
    }
    if (existsSync(this.dir)) throw new CommandError(`"${this.dir}" could not be removed`);
    return this.#pids.length;
  }

  async #mustExit(pid: number): Promise<void> {
    if (await waitForExit(STOP_MS_MAX, { pid }, { clock: this.#clock })) return;
    throw new CommandError(`Process ${pid} has not exited within ${STOP_MS_MAX / 1000} s`);
  }

  /** Stops the daemon and returns its error output. */
  async daemonErrors(): Promise<string> {
    if (this.#daemon) kill(this.#daemon.pid);
    return await this.#daemonErrors;
  }

  async #startInPane(name: DemoName): Promise<DemoProcess> {
    const first = this.#peers.size === 0;
    const { columns, rows } = PANE_SIZE;
    const paneArgs = first
      ? ["new-session", "-d", "-s", "demo", "-x", String(columns), "-y", String(rows)]
      : ["split-window", "-v", "-t", "demo"];
    const keepArgs = first ? [";", "set-option", "-g", "remain-on-exit", "on"] : [];
    const printing = ["-P", "-F", "#{pane_id} #{pane_pid} #{pid}"];
    const program = ["--", ...meshCommand(), "demo-peer", name];
    const output = await this.#tmux(...paneArgs, ...printing, ...program, ...keepArgs);
    const [pane = "", pid, server] = output.trim().split(" ");
    if (first) this.#pids.push(Number(server));
    return { pid: Number(pid), screen: () => this.#tmux("capture-pane", "-p", "-t", pane) };
  }

  #startAsProcess(name: DemoName): DemoProcess {
    const child = this.#spawn(["demo-peer", name], "piped", "null");
    let output = "";
    const collect = async () => {
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) output += text;
    };
    void collect();
    return { pid: child.pid, screen: () => Promise.resolve(output) };
  }

  #spawn(
    role: readonly string[],
    stdout: "piped" | "null",
    stderr: "piped" | "null",
  ): Deno.ChildProcess {
    const [command = "", ...args] = [...meshCommand(), ...role];
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

  #tmux(...args: string[]): Promise<string> {
    return runTmux(this.#socket, args, { env: this.#env, cwd: this.dir });
  }
}

function kill(pid: number): void {
  if (isAlive(pid)) Deno.kill(pid, "SIGTERM");
}
