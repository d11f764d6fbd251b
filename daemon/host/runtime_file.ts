/** `daemon.json`: how to reach the running daemon. Hooks read it, so this file imports little. */

import { tryJson } from "kit/core/text.ts";
import { writePrivately } from "kit/host/durable_files.ts";
import { type Env, readTextOrNothing, statePath } from "./paths.ts";
import { isAlive } from "./processes.ts";

/** Where a daemon listens if its settings name no address (contract 8). */
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 8377;

/** Contents of `daemon.json`, which a daemon writes when it starts to listen (contract 8). */
export interface RuntimeInfo {
  readonly pid: number;
  /** The start time of the daemon's process. Earlier versions did not write this field. */
  readonly process_started?: string | undefined;
  readonly url: string;
  readonly started_at: string;
  /** Maximum wait of the hook of an approval. Missing if no tool needs an approval. */
  readonly approval_seconds?: number;
}

export function runtimePath(env: Env): string {
  return `${statePath(env)}/daemon.json`;
}

export function writeRuntimeFile(env: Env, info: RuntimeInfo): void {
  writePrivately(runtimePath(env), JSON.stringify(info));
}

/**
 * Undefined if the daemon has ended: by then another user's program could listen at its address,
 * and a client would send that program its token.
 */
export function readRuntimeFile(env: Env): RuntimeInfo | "malformed" | undefined {
  const text = readTextOrNothing(runtimePath(env));
  if (text === undefined) return undefined;
  const info = parse(text);
  if (info === undefined) return "malformed";
  return isAlive(info.pid, info.process_started) ? info : undefined;
}

/** The running daemon's file; undefined if no daemon runs or the file is malformed. */
export function runningDaemon(env: Env): RuntimeInfo | undefined {
  const info = readRuntimeFile(env);
  return info === "malformed" ? undefined : info;
}

function parse(text: string): RuntimeInfo | undefined {
  const fields: Record<string, unknown> = Object(tryJson(text));
  const { pid, process_started, url, started_at = "", approval_seconds } = fields;
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
