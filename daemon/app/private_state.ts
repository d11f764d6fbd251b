/** A start closes to other users what is ours to close, and refuses what another user controls. */

import { join } from "node:path";
import { type ExposedPath, makePrivate } from "kit/host/private_files.ts";
import type { Log } from "kit/core/log.ts";
import { VERDICTS_FILE } from "../features/agents/selftest/contract.ts";
import { configPath, type Env, readTextOrNothing } from "../host/paths.ts";

/** What the state directory holds. SQLite gives the mode of the database to what it adds. */
const STATE_FILES = [
  ...["mesh.db", "mesh.db-wal", "mesh.db-shm", "hook.token", "daemon.json", "lock"],
  ...["daemon.log", "daemon.log.1", "hook.log", VERDICTS_FILE, "attachments"],
] as const;

/** Keys whose values may be secrets, as they stand in a configuration. */
const SECRET_KEY = /\b(auth_token|token|secret|env|webhook)["']?\s*:/;

/**
 * The configuration names programs that run as us, so nobody else may write it; where it holds a
 * secret, nobody else may read it either. Throws one sentence where that cannot be had.
 */
export function protectConfig(env: Env): ExposedPath[] {
  const path = configPath(env);
  const mayBeRead = () => !SECRET_KEY.test(readTextOrNothing(path) ?? "");
  return toList(makePrivate(path, mayBeRead));
}

/** The state directory and what is in it. Throws one sentence where another user controls it. */
export function protectState(state: string): ExposedPath[] {
  const paths = [state, ...STATE_FILES.map((name) => join(state, name))];
  return paths.flatMap((path) => toList(makePrivate(path)));
}

/** One line for each path that was open to others. */
export function logExposed(log: Log, exposed: readonly ExposedPath[]): void {
  for (const { path, mode, changed_to } of exposed) {
    const modeNote = changed_to === undefined ? "cannot be changed" : `is now ${changed_to}`;
    log.warn(`Other users could open a private file; its mode ${modeNote}`, { path, mode });
  }
}

function toList(exposed: ExposedPath | undefined): ExposedPath[] {
  return exposed === undefined ? [] : [exposed];
}
