/** `daemon.json`: where the running daemon is found. Read by hooks as well, so it loads little. */

import { type Env, readTextOrNothing, statePath, writePrivately } from "./paths.ts";
import { isAlive } from "./processes.ts";

/** What a daemon writes once it listens (contract 8). */
export interface RuntimeInfo {
  readonly pid: number;
  /** When the process began, as the kernel tells it; an earlier version does not say. */
  readonly process_started?: string | undefined;
  readonly url: string;
  readonly started_at: string;
  /** How long the hook of an approval is to wait; missing where no tool is gated. */
  readonly approval_seconds?: number;
}

export function runtimePath(env: Env): string {
  return `${statePath(env)}/daemon.json`;
}

export function writeRuntimeFile(env: Env, info: RuntimeInfo): void {
  writePrivately(runtimePath(env), JSON.stringify(info));
}

/**
 * Undefined without a daemon: at the address of one that has ended another user's program may
 * listen, for the token.
 */
export function readRuntimeFile(env: Env): RuntimeInfo | "malformed" | undefined {
  const text = readTextOrNothing(runtimePath(env));
  if (text === undefined) return undefined;
  const info = parse(text);
  if (info === undefined) return "malformed";
  return isAlive(info.pid, info.process_started) ? info : undefined;
}

/** The running daemon; undefined also where the file is malformed. */
export function runningDaemon(env: Env): RuntimeInfo | undefined {
  const info = readRuntimeFile(env);
  return info === "malformed" ? undefined : info;
}

function parse(text: string): RuntimeInfo | undefined {
  const { pid, process_started, url, started_at = "", approval_seconds } = fieldsOf(text);
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  if (typeof started_at !== "string") return undefined;
  return {
    pid,
    ...(typeof process_started === "string" && { process_started }),
    url,
    started_at,
    ...(typeof approval_seconds === "number" && { approval_seconds }),
  };
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
