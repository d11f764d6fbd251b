/** `daemon.json`: how to reach the running daemon. Hooks read it, so this imports little. */

import { type Env, readTextOrNothing, statePath, writePrivately } from "./paths.ts";
import { isAlive } from "./processes.ts";

/** What a daemon writes once it listens (contract 8). */
export interface RuntimeInfo {
  readonly pid: number;
  /** The start time of the process; earlier versions did not write it. */
  readonly process_started?: string | undefined;
  readonly url: string;
  readonly started_at: string;
  /** How long an approval's hook waits; missing if no tool is gated. */
  readonly approval_seconds?: number;
}

export function runtimePath(env: Env): string {
  return `${statePath(env)}/daemon.json`;
}

export function writeRuntimeFile(env: Env, info: RuntimeInfo): void {
  writePrivately(runtimePath(env), JSON.stringify(info));
}

/**
 * Undefined if no daemon runs: another user's program could now listen at the address of a daemon
 * that has ended, to obtain the token.
 */
export function readRuntimeFile(env: Env): RuntimeInfo | "malformed" | undefined {
  const text = readTextOrNothing(runtimePath(env));
  if (text === undefined) return undefined;
  const info = parse(text);
  if (info === undefined) return "malformed";
  return isAlive(info.pid, info.process_started) ? info : undefined;
}

/** The running daemon; undefined if none runs or the file is malformed. */
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
