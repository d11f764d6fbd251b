/** The entry of mesh's plugin for opencode, which `deno task gen` bundles into one file. */

import { execFileSync } from "node:child_process";
import process from "node:process";
import { type Env, hooksAreOff } from "../../../../host/paths.ts";
import type { Hooks, PluginContext } from "./opencode.ts";
import { ignoreErrors, readText } from "./ignore_errors.ts";
import { Session } from "./session.ts";

/** Inputs that a test passes instead of this process's own. */
interface TestInputs {
  readonly env: Env;
  readonly args: readonly string[];
}

const nothing = () => Promise.resolve();
const SILENT: Hooks = { event: nothing, "chat.message": nothing, dispose: nothing };

/** The only export, because opencode takes each export as a plugin. */
export const MeshPlugin = (ctx: PluginContext, inputs?: TestInputs): Promise<Hooks> => {
  const { env, args } = inputs ?? { env: environment(), args: commandLine() };
  if (hooksAreOff(env)) return Promise.resolve(SILENT);
  const session = new Session(ctx, env, args);
  session.begin();
  return Promise.resolve({
    event: ignoreErrors(({ event }) => session.event(event.type, event.properties ?? {})),
    "chat.message": ignoreErrors((input, output) => session.said(input.sessionID, output)),
    dispose: ignoreErrors(() => session.end()),
  });
};

function environment(): Env {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]]
    ),
  );
}

/**
 * opencode's command line. It is read from the system, because plugins run in a worker with another
 * command line.
 */
function commandLine(): readonly string[] {
  return readText("/proc/self/cmdline")?.split("\0") ?? commandLineOfPs();
}

function commandLineOfPs(): readonly string[] {
  try {
    const args = ["-o", "args=", "-p", String(process.pid)];
    return execFileSync("ps", args, { encoding: "utf8" }).trim().split(/\s+/);
  } catch {
    return [];
  }
}
