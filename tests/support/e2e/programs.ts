/** The programs around a real agent: a tmux of its own, our own commands, and the daemon's API. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import * as z from "zod";
import { type Call, client } from "kit/http/client.ts";
import { createDaemonClient } from "../../../cli/client/daemon_client.ts";
import { readClientSettings } from "../../../cli/client/settings.ts";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import { getHealth } from "../../../cli/client/daemon_process.ts";
import { readConfig } from "../../../daemon/app/config.ts";
import { type Env, readTextOrNothing, statePath } from "../../../daemon/host/paths.ts";
import type { View } from "../../../daemon/features/agents/screens.ts";
import { isDescendant } from "../../../daemon/host/processes.ts";
import { writeMigratedDatabase } from "../migrated.ts";
import { meshCommand } from "../programs/program.ts";
import { until } from "../waiting.ts";

/** The directory of a lab. */
export interface HomeFolder {
  readonly dir: string;
  /** The environment of every process in the lab. */
  readonly env: Readonly<Record<string, string>>;
}

/** The output of a program; empty if it is missing or fails. */
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

/** The environment of a person whose home is in a directory, with this program on the PATH. */
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

/** Runs the tmux program on the socket of this lab. */
export function tmux({ dir }: HomeFolder, args: readonly string[]): string {
  const { success, stdout, stderr } = new Deno.Command("tmux", {
    args: ["-u", "-S", join(dir, "tmux"), "-f", "/dev/null", ...args],
    env: { TMUX: "" },
  }).outputSync();
  if (!success) throw new Error(`tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trimEnd();
}

/** A pane's screen with its colours, and its cursor; empty once the pane is gone. */
export function viewOf({ dir }: Pick<HomeFolder, "dir">, pane_id: string): View {
  const capture = ["capture-pane", "-p", "-e", "-t", pane_id];
  const cursor = ["display-message", "-p", "-t", pane_id, "#{cursor_x} #{cursor_y}"];
  const shown = run("tmux", ["-u", "-S", join(dir, "tmux"), ...capture, ";", ...cursor]);
  const lines = shown.trimEnd().split("\n");
  const [cursor_x = 0, cursor_y = 0] = (lines.pop() ?? "").split(" ").map(Number);
  return { above: [], lines, cursor_x, cursor_y };
}

/** All processes in the panes of this lab: an agent may be a child of what was started there. */
export function processesIn({ dir }: HomeFolder): number[] {
  const list = ["-S", join(dir, "tmux"), "list-panes", "-a", "-F", "#{pane_pid}"];
  const { stdout } = new Deno.Command("tmux", { args: list, stderr: "null" }).outputSync();
  const panes = new TextDecoder().decode(stdout).split("\n").filter((pid) => pid !== "");
  const running = Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name));
  return running.filter((pid) => panes.some((pane) => isDescendant(pid, Number(pane))));
}

/**
 * The command that tmux runs in a pane: a program in its folder, with exactly this environment. The
 * variables of tmux can be hidden from it, as in a bare terminal.
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

/** Starts one of our programs in this lab, in a folder; its log is kept there. */
export function mesh(
  { dir, env }: HomeFolder,
  args: readonly string[],
  cwd?: string,
): Deno.ChildProcess {
  return new Deno.Command("sh", {
    args: [
      "-c",
      'log=$1; shift; exec "$@" 2>>"$log"',
      "sh",
      `${dir}/mesh.log`,
      ...meshCommand(args),
    ],
    env: { ...env },
    clearEnv: true,
    ...(cwd !== undefined && { cwd }),
    stdin: "null",
    stdout: "null",
  }).spawn();
}

interface Plan {
  readonly agent?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Further arguments of `mesh setup`. */
  readonly args?: readonly string[];
}

/** The mesh of a lab: its configuration, the files of `mesh setup`, and its daemon. */
export class Mesh implements AsyncDisposable {
  readonly #home: HomeFolder;
  #daemon: Deno.ChildProcess | undefined;

  constructor(home: HomeFolder) {
    this.#home = home;
  }

  /** Sets up all agents, or one, with additional configuration. */
  async setUp({ agent, args = [], config }: Plan = {}): Promise<void> {
    const path = join(this.#home.dir, "home/.config/mesh/config.yaml");
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, JSON.stringify({ daemon: { port: 0 }, ...config }));
    const agentArgs = agent === undefined ? [] : ["--agent", agent];
    const { success } = await mesh(this.#home, ["setup", ...agentArgs, ...args]).status;
    assert(success, "mesh setup");
  }

  /** Starts the daemon with additional variables, and waits until it answers. */
  async up(more: Env = {}): Promise<void> {
    const { dir, env } = this.#home;
    Deno.mkdirSync(statePath(env), { recursive: true, mode: 0o700 });
    writeMigratedDatabase(statePath(env));
    const { pid } = this.#daemon = mesh({ dir, env: { ...env, ...more } }, ["daemon"]);
    await until("the daemon", async () => {
      return runningDaemon(env)?.pid === pid &&
        await getHealth(createDaemonClient(env, false, readClientSettings(env)));
    });
  }

  /** Kills the daemon as a crash would: nothing is written. */
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

  /** A client of the running daemon. */
  get call(): Call {
    const { env } = this.#home;
    const beacon = runningDaemon(env);
    assert(beacon, "a daemon is up");
    const token = readConfig(env, readTextOrNothing)["daemon.auth_token"]?.reveal() ?? "";
    return client(beacon.url, fetch, { authorization: `Bearer ${token}` });
  }
}
