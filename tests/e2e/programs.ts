/** The programs around a real agent: a tmux of its own, our own commands, and the daemon's door. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Call, client } from "kit/client.ts";
import { readBeacon } from "../../cli/daemon_client.ts";
import { readConfig } from "../../daemon/config.ts";
import { type Env, readTextOrNothing } from "../../daemon/places.ts";
import { isDescendant } from "../../daemon/processes.ts";

export const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** Where a lab lives. */
export interface Place {
  readonly dir: string;
  /** The environment of everything that runs in here. */
  readonly env: Readonly<Record<string, string>>;
}

/** The tmux program itself, on the socket in this place. */
export function tmux({ dir }: Place, args: readonly string[]): string {
  const { success, stdout, stderr } = new Deno.Command("tmux", {
    args: ["-u", "-S", join(dir, "tmux"), "-f", "/dev/null", ...args],
    env: { TMUX: "" },
  }).outputSync();
  if (!success) throw new Error(`tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trimEnd();
}

/** All that runs in the panes of this place: an agent may be a child of what was started there. */
export function inhabitants({ dir }: Place): number[] {
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
  { outside_tmux = false } = {},
): string[] {
  const named = Object.entries(env).map((pair) => pair.join("="));
  const tmux = outside_tmux ? "" : ' TMUX="$TMUX" TMUX_PANE="$TMUX_PANE"';
  const pane = `exec env -i TERM="$TERM"${tmux} "$@"`;
  return ["-c", cwd, "--", "sh", "-c", pane, "sh", ...named, ...program];
}

/** Starts a program of ours in this place; what it logs is kept there. */
export function mesh({ dir, env }: Place, words: readonly string[]): Deno.ChildProcess {
  const command = [Deno.execPath(), "run", "-A", "--quiet", MAIN, ...words];
  return new Deno.Command("sh", {
    args: ["-c", 'log=$1; shift; exec "$@" 2>>"$log"', "sh", `${dir}/mesh.log`, ...command],
    env: { ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
  }).spawn();
}

/** A client of the daemon that is up in this place. */
export function daemonIn({ env }: Place): Call {
  const beacon = readBeacon(env);
  assert(beacon, "a daemon is up");
  const token = readConfig(env, readTextOrNothing)["daemon.auth_token"]?.reveal() ?? "";
  return client(beacon.url, fetch, { authorization: `Bearer ${token}` });
}
