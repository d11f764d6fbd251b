/** The environment of a temporary mesh, for the demo and the self-test. */

import { join } from "kit/core/path.ts";
import { unlessMissing } from "kit/host/file_errors.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { CommandError } from "./failures.ts";

/** An environment without the user's configuration and state, with its home in `dir`. */
export function isolatedEnv(dir: string, env: Env): Env {
  const inherited = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "TERM"];
  const home = join(dir, "home");
  return {
    ...Object.fromEntries(inherited.flatMap((name) => env[name] ? [[name, env[name]]] : [])),
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_STATE_HOME: join(home, ".local", "state"),
    MESH_CONFIG: join(dir, "config.yaml"),
    MESH_STATE: join(dir, "state"),
    DENO_DIR: denoDir(env),
  };
}

/**
 * The folder of Deno's module cache. With a new HOME and without this folder, Deno would download
 * all modules again.
 */
export function denoDir(env: Env): string {
  const home = env["HOME"] ?? "/";
  const caches = Deno.build.os === "darwin"
    ? join(home, "Library", "Caches")
    : join(home, ".cache");
  return env["DENO_DIR"] || join(env["XDG_CACHE_HOME"] || caches, "deno");
}

/**
 * Runs a command of a private tmux server, without `runProgram`: a server that this starts must go
 * on running. Throws a `CommandError` if the command fails.
 */
export async function runTmux(
  socket: string,
  args: readonly string[],
  options: { readonly env: Env; readonly cwd: string },
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("tmux", {
    args: ["-u", "-S", socket, "-f", "/dev/null", ...args],
    env: { ...options.env },
    clearEnv: true,
    cwd: options.cwd,
  }).output();
  const text = new TextDecoder();
  if (!success) throw new CommandError(`tmux ${args[0]}: ${text.decode(stderr).trim()}`);
  return text.decode(stdout);
}

export function hasTmux(env: Env): boolean {
  const command = new Deno.Command("tmux", { args: ["-V"], env: { ...env }, clearEnv: true });
  return unlessMissing(() => command.outputSync().success) ?? false;
}
