/** Shared by the commands that run a chat surface: errors in settings, and the run itself. */

import { randomIds } from "kit/core/clock.ts";
import type { Secret } from "kit/core/settings.ts";
import { hideCredentials } from "kit/core/text.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { configPath, type Env, isLoopback } from "../../daemon/host/paths.ts";
import { type CommandContext, interruptible } from "../../cli/command/command.ts";
import { ConfigError, isUnreachable } from "../../cli/client/daemon_client.ts";
import { connectWebSocket } from "../../cli/client/daemon_connection.ts";
import { mustGetHealth } from "../../cli/client/daemon_process.ts";
import { EXIT } from "../../cli/client/failures.ts";
import { styled } from "../../cli/output/terminal.ts";
import { formatClockTime } from "../../cli/output/time.ts";
import type { ChatSurfaceDeps } from "./surface.ts";

export function missingSettings(env: Env, lines: readonly string[]): ConfigError {
  return new ConfigError([...lines, `The settings are in ${configPath(env)}`].join("\n"));
}

/** Runs a surface until Ctrl-C. `place` is where it shows the inbox. Returns the exit code. */
export async function runSurface(
  context: CommandContext,
  { place, auth_token }: { readonly place: string; readonly auth_token: Secret | undefined },
  create: (deps: Omit<ChatSurfaceDeps, "chat">) => { run(signal: AbortSignal): Promise<void> },
): Promise<number> {
  const { clock, daemon, terminal } = context;
  await mustGetHealth(daemon);
  const log = (text: string) => {
    const at = formatClockTime(new Date(clock.now()).toISOString());
    terminal.printError(styled("dim", at), "  ", text);
  };
  const surface = create({
    clock,
    ids: randomIds,
    call: daemon.call,
    daemon,
    connect: connectWebSocket,
    url: () => unlessError(isUnreachable, () => daemon.trustedUrl()),
    auth_token: auth_token?.reveal(),
    log,
  });
  log(`Showing your inbox ${place}; stop with Ctrl-C`);
  await interruptible((signal) => surface.run(signal));
  return EXIT.done;
}

/**
 * The address of a chat's API, which an environment variable may replace. Each call contains a
 * token, so the address must be https or loopback.
 */
export function apiBase(env: Env, variable: string, standard: string): string {
  const base = env[variable] || standard;
  const { protocol = "", hostname = "" } = URL.canParse(base) ? new URL(base) : {};
  if (protocol === "https:" || (protocol === "http:" && isLoopback(hostname))) {
    return base.replace(/(?<!\/)\/+$/, "");
  }
  const shown = hideCredentials(base);
  const allowed = "use an https URL, or an http URL on this machine";
  throw new ConfigError(`${variable}: "${shown}" is not allowed; ${allowed}`);
}
