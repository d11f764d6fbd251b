/** Shared parts of the commands that run a chat surface: errors in settings, and the log. */

import { hideCredentials } from "kit/core/text.ts";
import { configPath, type Env, isLoopback } from "../../daemon/host/paths.ts";
import type { CommandContext } from "../../cli/command/command.ts";
import {
  ConfigError,
  type DaemonClient,
  DaemonUnreachable,
} from "../../cli/client/daemon_client.ts";
import { styled } from "../../cli/output/terminal.ts";
import { formatClockTime } from "../../cli/output/time.ts";

export function missingSettings(env: Env, lines: readonly string[]): ConfigError {
  return new ConfigError([...lines, `The settings are in ${configPath(env)}`].join("\n"));
}

/** Prints a line with the time of day to standard error. */
export function timedLog({ terminal, clock }: CommandContext): (text: string) => void {
  return (text) => {
    const at = formatClockTime(new Date(clock.now()).toISOString());
    terminal.printError(styled("dim", at), "  ", text);
  };
}

export function tryDaemonUrl(daemon: DaemonClient): string | undefined {
  try {
    return daemon.trustedUrl();
  } catch (error) {
    if (error instanceof DaemonUnreachable) return undefined;
    throw error;
  }
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
  throw new ConfigError(
    `${variable}: "${
      hideCredentials(base)
    }" is not allowed; use an https URL, or an http URL on this machine`,
  );
}
