/** Where one agent is tested: a home, a daemon and a tmux server of its own, and their end. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Clock } from "kit/core/clock.ts";
import type { Call } from "kit/http/client.ts";
import type { Fixture, TestHome } from "../../daemon/features/agents/selftest/fixture.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { isAlive, sendSignal, startTimeOf, terminate } from "../../daemon/host/processes.ts";
import { whyUnsafeFolder } from "../../daemon/host/trusted_socket.ts";
import { CommandError } from "../client/failures.ts";
import { createDaemonClient } from "../client/daemon_client.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { getHealth, selfCommand } from "../client/daemon_process.ts";
import { isolatedEnv } from "../client/isolated_env.ts";

const DAEMON_MS_MAX = 20_000;
/** What was told to end and has not by then is killed. */
const END_MS_MAX = 3_000;
/** A machine that is busy with other things takes its time. */
const WAIT_MS_MAX = 45_000;
const REMOVAL_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 25;
/** The size of a terminal that a person might have. */
const WINDOW_SIZE = ["-x", "160", "-y", "50"] as const;
const SESSION = "selftest";

export interface Pane {
  readonly pane_id: string;
  readonly pid: number;
}

export class TestHarness {
  readonly testHome: TestHome;
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #env: Env;
  #daemon: Deno.ChildProcess | undefined;
  #client: Deno.ChildProcess | undefined;

  /** Makes the directory, and nothing else yet. */
  constructor(env: Env, { clock, signal, version }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly version: string;
  }) {
    this.#clock = clock;
    this.#signal = signal;
    // Not among the temporary files: Codex refuses to keep its helpers there.
    const cache = env["XDG_CACHE_HOME"] || join(env["HOME"] ?? "/", ".cache");
    Deno.mkdirSync(cache, { recursive: true, mode: 0o700 });
    this.#dir = Deno.makeTempDirSync({ dir: cache, prefix: "mesh-selftest-" });
    const unsafe = whyUnsafeFolder(this.#dir);
    if (unsafe !== undefined) {
      Deno.removeSync(this.#dir);
      throw new CommandError(
        `No tmux server can be trusted there: ${unsafe}; XDG_CACHE_HOME names another`,
      );
    }
    for (const name of ["home/.cache", "state", "run", "tmp", "work"]) {
      Deno.mkdirSync(join(this.#dir, name), { recursive: true, mode: 0o700 });
    }
    this.testHome = { home: join(this.#dir, "home"), folder: join(this.#dir, "work"), version };
    const [run, tmp] = [join(this.#dir, "run"), join(this.#dir, "tmp")];
    this.#env = { ...isolatedEnv(this.#dir, env), ...USER_ENV, XDG_RUNTIME_DIR: run, TMPDIR: tmp };
    // An agent may hand its servers a few variables only; that one is not among them.
    Deno.symlinkSync(this.#env["DENO_DIR"] ?? "/", join(this.#dir, "home/.cache/deno"));
    Deno.writeTextFileSync(join(this.#dir, "config.yaml"), stringify({ daemon: { port: 0 } }), {
      mode: 0o600,
    });
  }

  get env(): Env {
    return this.#env;
  }

  /** A file that no agent makes without leave. */
  get forbidden(): string {
    return join(this.#dir, "work", "made");
  }

  get state(): string {
    return join(this.#dir, "state");
  }

  /** What all that is started from now on has in its environment as well. */
  extendEnv(env: Readonly<Record<string, string>>): void {
    this.#env = { ...this.#env, ...env };
  }

  get call(): Call {
    return createDaemonClient(this.#env, false).call;
  }

  async startDaemon(): Promise<void> {
    const { command, args } = selfCommand("daemon");
    const { folder: cwd } = this.testHome;
    const stdio = { stdin: "null", stdout: "null", stderr: "null" } as const;
    const spawnOptions = { env: { ...this.#env }, clearEnv: true, cwd, ...stdio };
    const child = this.#daemon = new Deno.Command(command, { args, ...spawnOptions }).spawn();
    let ended = false;
    child.status.then(() => ended = true);
    await this.waitFor("the daemon", async () => {
      if (ended) throw new CommandError("Its daemon has ended");
      return runningDaemon(this.#env)?.pid === child.pid &&
        await getHealth(createDaemonClient(this.#env, false));
    }, DAEMON_MS_MAX);
  }

  /** Ends the daemon as a fault would: no goodbye, nothing written. */
  async crashDaemon(): Promise<void> {
    if (this.#daemon) sendSignal(this.#daemon.pid, "SIGKILL");
    await this.#daemon?.status;
    this.#daemon = undefined;
  }

  /** Opens the terminal server, and a client as a person's is. */
  async openTmux(): Promise<void> {
    // A window of its own keeps the server when the agent has left.
    await this.tmux("new-session", "-d", "-s", SESSION, ...WINDOW_SIZE, "cat");
    this.#client = new Deno.Command("tmux", {
      args: [...this.#socket, "-C", "attach-session", "-t", SESSION],
      env: { ...this.#env },
      clearEnv: true,
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  /** From now on nobody looks at the terminal. */
  async detach(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.stdin.close();
    await client?.status;
  }

  async openPane(args: readonly string[]): Promise<Pane> {
    const windowArgs = ["new-window", "-d", "-t", `${SESSION}:`, "-c", this.testHome.folder];
    const output = await this.tmux(
      ...windowArgs,
      "-P",
      "-F",
      "#{pane_id} #{pane_pid}",
      "--",
      ...args,
    );
    const [pane_id = "", pid] = output.split(" ");
    return { pane_id, pid: Number(pid) };
  }

  isRunning({ pid }: Pane): boolean {
    return isAlive(pid);
  }

  async closePane({ pane_id, pid }: Pane): Promise<void> {
    await this.tmux("kill-pane", "-t", pane_id);
    await this.waitFor("the agent to end", () => !isAlive(pid));
  }

  async tmux(...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await this.#run("tmux", [...this.#socket, ...args]);
    const text = new TextDecoder();
    if (!success) throw new CommandError(`tmux ${args[0]}: ${text.decode(stderr).trim()}`);
    return text.decode(stdout).trimEnd();
  }

  get #socket(): string[] {
    return ["-u", "-S", join(this.#dir, "tmux"), "-f", "/dev/null"];
  }

  /** Runs a program of the agent's to its end. */
  readonly run = async (program: string, ...args: string[]): Promise<void> => {
    await this.#run(program, args);
  };

  async #run(program: string, args: string[]): Promise<Deno.CommandOutput> {
    const { folder: cwd } = this.testHome;
    const options = { args, cwd, env: { ...this.#env }, clearEnv: true };
    return await new Deno.Command(program, options).output();
  }

  now(): number {
    return this.#clock.now();
  }

  /** Whether a file is there. */
  exists(path: string): boolean {
    return existsSync(path);
  }

  pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#signal);
  }

  /** Polls until `probe` answers something; a failure that names what was waited for. */
  async waitFor<A>(
    description: string,
    probe: () => A | Promise<A>,
    maxMs = WAIT_MS_MAX,
  ): Promise<NonNullable<A>> {
    return await waitUntil(description, probe, { clock: this.#clock, signal: this.#signal, maxMs });
  }

  /** Ends all that bears this room's home in its environment, and removes what it kept. */
  async cleanUp({ end, leftovers }: Fixture): Promise<void> {
    // Read first: what is ended removes the links that lead to them.
    const paths = leftovers?.(this.testHome) ?? [];
    try {
      await end?.(this.run);
    } finally {
      await this.#removeAll(paths);
    }
  }

  async #removeAll(paths: readonly string[]): Promise<void> {
    await this.#run("tmux", [...this.#socket, "kill-server"]);
    this.#client?.stdin.close().catch(() => undefined);
    await this.crashDaemon();
    await this.#endLeftovers();
    for (const path of paths) remove(path);
    const options = { clock: this.#clock, maxMs: REMOVAL_MS_MAX };
    await waitUntil("the last writes of what was ended", () => isRemoved(this.#dir), options);
  }

  async #endLeftovers(): Promise<void> {
    const home = `HOME=${this.testHome.home}`;
    const timing = { term_ms: END_MS_MAX, kill_ms: END_MS_MAX, clock: this.#clock };
    for (let pass = 0; pass < 2; pass++) { // The second is for what the first has started.
      await Promise.all(
        leftoverPids(home).map(async (pid) => {
          const started = startTimeOf(pid);
          if (started !== undefined) await terminate({ pid, started }, timing);
        }),
      );
    }
    const remaining = leftoverPids(home);
    if (remaining.length > 0) throw new CommandError(`Still running: ${remaining.join(", ")}`);
  }
}

const USER_ENV = { LANG: "C.UTF-8", SHELL: "/bin/sh", TERM: "xterm-256color" } as const;

interface WaitOptions {
  readonly clock: Clock;
  readonly maxMs: number;
  readonly signal?: AbortSignal;
}

async function waitUntil<A>(
  description: string,
  probe: () => A | Promise<A>,
  { clock, maxMs, signal }: WaitOptions,
): Promise<NonNullable<A>> {
  const deadline = clock.now() + maxMs;
  while (true) {
    const found = await probe();
    if (found) return found;
    if (clock.now() > deadline) {
      throw new CommandError(`Waited ${maxMs / 1000} s in vain for ${description}`);
    }
    await clock.sleep(POLL_INTERVAL_MS, signal);
  }
}

/** The processes with this line in their environment; none where no system tells. */
function leftoverPids(entry: string): number[] {
  if (Deno.build.os !== "linux") return [];
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name))
    .filter((pid) => pid > 0 && pid !== Deno.pid && readEnvironment(pid).includes(entry));
}

function readEnvironment(pid: number): string[] {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/environ`).split("\0");
  } catch (error) {
    // Another user's, or gone meanwhile.
    if (error instanceof Error) return [];
    throw error;
  }
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** A process on its way out may still write into a folder that is being removed. */
export function isRemoved(dir: string): boolean {
  try {
    Deno.removeSync(dir, { recursive: true });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTEMPTY") return false;
    throw error;
  }
}
