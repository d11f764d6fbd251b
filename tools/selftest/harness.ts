/** The self-test's harness: a temporary home, daemon and tmux server for one agent. */

import { existsSync } from "node:fs";
import { join } from "kit/core/path.ts";
import { onFile } from "kit/host/file_errors.ts";
import type { Clock } from "kit/core/clock.ts";
import type { Call } from "kit/http/client.ts";
import type { Fixture, TestHome } from "../../daemon/features/agents/selftest/fixture.ts";
import { type Env, removeIfPresent } from "../../daemon/host/paths.ts";
import { runProgram } from "../../daemon/host/program_group.ts";
import {
  environmentOf,
  isAlive,
  sendSignal,
  startTimeOf,
  terminate,
} from "../../daemon/host/processes.ts";
import { whyUnsafeFolder } from "../../daemon/host/trusted_socket.ts";
import { CommandError, unlessRejected } from "../../cli/client/failures.ts";
import { createDaemonClient } from "../../cli/client/daemon_client.ts";
import { readClientSettings } from "../../cli/client/settings.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { getHealth } from "../../cli/client/daemon_process.ts";
import { isolatedEnv, runTmux } from "../../cli/client/isolated_env.ts";
import { meshCommand } from "../../cli/client/program.ts";

const DAEMON_MS_MAX = 20_000;
/** Time limit for one of the agent's programs. */
const PROGRAM_MS_MAX = 60_000;
/** A process that has not ended this long after SIGTERM is killed. */
const END_MS_MAX = 3_000;
/** Time limit of a condition. Generous, for a busy machine. */
const WAIT_MS_MAX = 45_000;
const REMOVAL_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 25;
/** A typical terminal size. */
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

  /** Creates the directory, but starts no process yet. */
  constructor(env: Env, { clock, signal, version }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly version: string;
  }) {
    this.#clock = clock;
    this.#signal = signal;
    // The directory is not in the folder for temporary files, because Codex refuses to store its
    // helpers there.
    const cache = env["XDG_CACHE_HOME"] || join(env["HOME"] ?? "/", ".cache");
    this.#dir = onFile("create", cache, () => {
      Deno.mkdirSync(cache, { recursive: true, mode: 0o700 });
      return Deno.makeTempDirSync({ dir: cache, prefix: "mesh-selftest-" });
    });
    const unsafe = whyUnsafeFolder(this.#dir);
    if (unsafe !== undefined) {
      Deno.removeSync(this.#dir);
      throw new CommandError(
        `tmux sockets cannot be trusted: ${unsafe}; set XDG_CACHE_HOME to another folder`,
      );
    }
    for (const name of ["home/.cache", "state", "run", "tmp", "work"]) {
      Deno.mkdirSync(join(this.#dir, name), { recursive: true, mode: 0o700 });
    }
    this.testHome = { home: join(this.#dir, "home"), folder: join(this.#dir, "work"), version };
    const [run, tmp] = [join(this.#dir, "run"), join(this.#dir, "tmp")];
    this.#env = { ...isolatedEnv(this.#dir, env), ...USER_ENV, XDG_RUNTIME_DIR: run, TMPDIR: tmp };
    // The home links to Deno's module cache, because agents pass only a few variables to MCP
    // servers and DENO_DIR is not one of them.
    Deno.symlinkSync(this.#env["DENO_DIR"] ?? "/", join(this.#dir, "home/.cache/deno"));
    const config = join(this.#dir, "config.yaml");
    Deno.writeTextFileSync(config, "daemon:\n  port: 0\n", { mode: 0o600 });
  }

  get env(): Env {
    return this.#env;
  }

  /** The path of a file that an agent may create only with the user's permission. */
  get forbidden(): string {
    return join(this.#dir, "work", "made");
  }

  get state(): string {
    return join(this.#dir, "state");
  }

  /** Adds variables to the environment of everything started from now on. */
  extendEnv(env: Readonly<Record<string, string>>): void {
    this.#env = { ...this.#env, ...env };
  }

  get call(): Call {
    return createDaemonClient(this.#env, false, readClientSettings(this.#env)).call;
  }

  async startDaemon(): Promise<void> {
    const [command = "", ...args] = [...meshCommand(), "daemon"];
    const { folder: cwd } = this.testHome;
    const stdio = { stdin: "null", stdout: "null", stderr: "null" } as const;
    const spawnOptions = { env: { ...this.#env }, clearEnv: true, cwd, ...stdio };
    const child = this.#daemon = new Deno.Command(command, { args, ...spawnOptions }).spawn();
    let ended = false;
    child.status.then(() => ended = true);
    await this.waitFor("the daemon to start", async () => {
      if (ended) throw new CommandError("The daemon of the self-test has exited");
      return runningDaemon(this.#env)?.pid === child.pid &&
        await getHealth(createDaemonClient(this.#env, false, readClientSettings(this.#env)));
    }, DAEMON_MS_MAX);
  }

  /** Kills the daemon, as a crash would. */
  async crashDaemon(): Promise<void> {
    if (this.#daemon) sendSignal(this.#daemon.pid, "SIGKILL");
    await this.#daemon?.status;
    this.#daemon = undefined;
  }

  /** Starts a tmux server and attaches a client. */
  async openTmux(): Promise<void> {
    // The extra window keeps the server running after the agent has ended.
    await this.tmux("new-session", "-d", "-s", SESSION, ...WINDOW_SIZE, "cat");
    this.#client = new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, "-C", "attach-session", "-t", SESSION],
      env: { ...this.#env },
      clearEnv: true,
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  async detach(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.stdin.close();
    await client?.status;
  }

  async openPane(args: readonly string[]): Promise<Pane> {
    const windowArgs = ["new-window", "-d", "-t", `${SESSION}:`, "-c", this.testHome.folder];
    const printing = ["-P", "-F", "#{pane_id} #{pane_pid}"];
    const output = await this.tmux(...windowArgs, ...printing, "--", ...args);
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
    const options = { env: this.#env, cwd: this.testHome.folder };
    return (await runTmux(this.#socket, args, options)).trimEnd();
  }

  get #socket(): string {
    return join(this.#dir, "tmux");
  }

  /** Runs one of the agent's programs to its end. */
  readonly run = async (program: string, ...args: string[]): Promise<void> => {
    const { folder: cwd } = this.testHome;
    const options = { cwd, env: this.#env, clock: this.#clock, timeout_ms: PROGRAM_MS_MAX };
    await runProgram([program, ...args], options);
  };

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return Math.round(this.#clock.monotonic());
  }

  exists(path: string): boolean {
    return existsSync(path);
  }

  pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#signal);
  }

  /** Polls until `probe` returns a truthy value; the timeout error names `description`. */
  async waitFor<A>(
    description: string,
    probe: () => A | Promise<A>,
    maxMs = WAIT_MS_MAX,
  ): Promise<NonNullable<A>> {
    return await waitUntil(description, probe, { clock: this.#clock, signal: this.#signal, maxMs });
  }

  /** Ends all processes with this home in their environment, and removes their files. */
  async cleanUp({ end, leftovers }: Fixture): Promise<void> {
    // Read before the processes end, because they may remove the links to these paths when they
    // end.
    const paths = leftovers?.(this.testHome) ?? [];
    try {
      await end?.(this.run);
    } finally {
      await this.#removeAll(paths);
    }
  }

  async #removeAll(paths: readonly string[]): Promise<void> {
    const isNotRunning = (error: unknown) => error instanceof CommandError;
    await unlessRejected(isNotRunning, () => this.tmux("kill-server"));
    this.#client?.stdin.close().catch(() => undefined);
    await this.crashDaemon();
    await this.#endLeftovers();
    paths.forEach(removeIfPresent);
    await removeFolder(this.#dir, this.#clock);
  }

  async #endLeftovers(): Promise<void> {
    const { home } = this.testHome;
    const timing = { term_ms: END_MS_MAX, kill_ms: END_MS_MAX, clock: this.#clock };
    for (let pass = 0; pass < 2; pass++) { // The second pass ends processes that started meanwhile.
      await Promise.all(
        leftoverPids(home).map(async (pid) => {
          const started = startTimeOf(pid);
          if (started !== undefined) await terminate({ pid, started }, timing);
        }),
      );
    }
    const remaining = leftoverPids(home);
    if (remaining.length > 0) {
      throw new CommandError(`Processes are still running: ${remaining.join(", ")}`);
    }
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
  const deadline = clock.monotonic() + maxMs;
  while (true) {
    const found = await probe();
    if (found) return found;
    if (clock.monotonic() > deadline) {
      throw new CommandError(`Timed out after ${maxMs / 1000} s waiting for ${description}`);
    }
    await clock.sleep(POLL_INTERVAL_MS, signal);
  }
}

/** The pids of the processes with this home in their environment; none outside of Linux. */
function leftoverPids(home: string): number[] {
  if (Deno.build.os !== "linux") return [];
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name))
    .filter((pid) => pid > 0 && pid !== Deno.pid && environmentOf(pid)?.get("HOME") === home);
}

/** Removes a folder in which ended processes may still write. Throws if it cannot be removed. */
export async function removeFolder(
  dir: string,
  clock: Clock,
  remove = Deno.removeSync,
): Promise<void> {
  const options = { clock, maxMs: REMOVAL_MS_MAX };
  await waitUntil(`${dir} to be removed`, () => isRemoved(dir, remove), options);
}

/** Removes the folder. Returns false while an ending process still writes to it. */
export function isRemoved(dir: string, remove = Deno.removeSync): boolean {
  try {
    remove(dir, { recursive: true });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // ENOENT: the process itself has removed a file meanwhile.
    if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;
  }
  return !existsSync(dir);
}
