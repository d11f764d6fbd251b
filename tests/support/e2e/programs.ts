/** The programs around a real agent: a tmux of its own, our own commands, and the daemon's door. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { type Call, client } from "kit/http/client.ts";
import { createDaemonClient } from "../../../cli/client/daemon_client.ts";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import { getHealth } from "../../../cli/client/daemon_process.ts";
import { readConfig } from "../../../daemon/app/config.ts";
import { type Env, readTextOrNothing } from "../../../daemon/host/paths.ts";
import { isDescendant } from "../../../daemon/host/processes.ts";
import { until } from "./waiting.ts";

export const MAIN = fileURLToPath(new URL("../../../main.ts", import.meta.url));

/** Where a lab lives. */
export interface HomeFolder {
  readonly dir: string;
  /** The environment of everything that runs in here. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a program prints; nothing when it is not there, or fails. */
export function run(program: string, args: readonly string[]): string {
  try {
    const { success, stdout } = new Deno.Command(program, { args: [...args], stderr: "null" })
      .outputSync();
    return success ? new TextDecoder().decode(stdout) : "";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** The environment of a person who lives in a directory, with this program on the PATH. */
export function userEnvironment(dir: string, bin: string): Record<string, string> {
  return {
    HOME: join(dir, "home"),
    TMPDIR: join(dir, "tmp"),
    MESH_STATE: join(dir, "state"),
    DENO_DIR: denoDir(),
    PATH: `${dirname(bin)}:${Deno.env.get("PATH") ?? "/usr/bin:/bin"}`,
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
  };
}

/** Without it, a new HOME would fetch all modules again. */
export function denoDir(): string {
  return z.object({ denoDir: z.string() })
    .parse(JSON.parse(run(Deno.execPath(), ["info", "--json"]))).denoDir;
}

/** The tmux program itself, on the socket in this place. */
export function tmux({ dir }: HomeFolder, args: readonly string[]): string {
  const { success, stdout, stderr } = new Deno.Command("tmux", {
    args: ["-u", "-S", join(dir, "tmux"), "-f", "/dev/null", ...args],
    env: { TMUX: "" },
  }).outputSync();
  if (!success) throw new Error(`tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trimEnd();
}

/** All that runs in the panes of this place: an agent may be a child of what was started there. */
export function processesIn({ dir }: HomeFolder): number[] {
  const list = ["-S", join(dir, "tmux"), "list-panes", "-a", "-F", "#{pane_pid}"];
  const { stdout } = new Deno.Command("tmux", { args: list, stderr: "null" }).outputSync();
  const panes = new TextDecoder().decode(stdout).split("\n").filter((pid) => pid !== "");
  const running = Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name));
  return running.filter((pid) => panes.some((pane) => isDescendant(pid, Number(pane))));
}

/**
 * What tmux is told to run in a pane: a program in its folder, with this environment alone. It may
 * be left in the dark about tmux, as one in a bare terminal is.
 */
export function inPane(
  cwd: string,
  env: Env,
  program: readonly string[],
  { without_tmux_env = false } = {},
): string[] {
  const named = Object.entries(env).map((pair) => pair.join("="));
  const tmux = without_tmux_env ? "" : ' TMUX="$TMUX" TMUX_PANE="$TMUX_PANE"';
  const pane = `exec env -i TERM="$TERM"${tmux} "$@"`;
  return ["-c", cwd, "--", "sh", "-c", pane, "sh", ...named, ...program];
}

/** Starts a program of ours in this place; what it logs is kept there. */
export function mesh({ dir, env }: HomeFolder, args: readonly string[]): Deno.ChildProcess {
  const command = [Deno.execPath(), "run", "-A", "--quiet", MAIN, ...args];
  return new Deno.Command("sh", {
    args: ["-c", 'log=$1; shift; exec "$@" 2>>"$log"', "sh", `${dir}/mesh.log`, ...command],
    env: { ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
  }).spawn();
}

interface Plan {
  readonly agent?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The mesh of a place: its configuration, what `mesh setup` writes, and its daemon. */
export class Mesh implements AsyncDisposable {
  readonly #home: HomeFolder;
  #daemon: Deno.ChildProcess | undefined;

  constructor(home: HomeFolder) {
    this.#home = home;
  }

  /** Sets up all agents, or one, with what the configuration says beside. */
  async setUp({ agent, config }: Plan = {}): Promise<void> {
    const path = join(this.#home.dir, "home/.config/mesh/config.yaml");
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, JSON.stringify({ daemon: { port: 0 }, ...config }));
    const agentArgs = agent === undefined ? [] : ["--agent", agent];
    const { success } = await mesh(this.#home, ["setup", ...agentArgs]).status;
    assert(success, "mesh setup");
  }

  /** Starts the daemon, with this in its environment as well, and waits until it answers. */
  async up(more: Env = {}): Promise<void> {
    const { dir, env } = this.#home;
    const { pid } = this.#daemon = mesh({ dir, env: { ...env, ...more } }, ["daemon"]);
    await until("the daemon", async () => {
      return runningDaemon(env)?.pid === pid && await getHealth(createDaemonClient(env, false));
    });
  }

  /** Ends the daemon as a fault would: no goodbye, nothing written. */
  async crash(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: Deno.Signal): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    daemon?.kill(signal);
    await daemon?.status;
  }

  /** A client of the daemon that is up. */
  get call(): Call {
    const { env } = this.#home;
    const beacon = runningDaemon(env);
    assert(beacon, "a daemon is up");
    const token = readConfig(env, readTextOrNothing)["daemon.auth_token"]?.reveal() ?? "";
    return client(beacon.url, fetch, { authorization: `Bearer ${token}` });
  }
}
