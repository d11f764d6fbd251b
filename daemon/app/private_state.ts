/** Protects the configuration and the state from other users when the daemon starts. */

import { join } from "kit/core/path.ts";
import { type ExposedPath, makePrivate } from "kit/host/private_files.ts";
import type { Log } from "kit/core/log.ts";
import { VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { configPath, type Env, readTextOrNothing } from "../host/paths.ts";

/** The files of the state directory. SQLite gives its other files the mode of the database. */
const STATE_FILES = [
  ...["mesh.db", "mesh.db-wal", "mesh.db-shm", "hook.token", "daemon.json", "lock"],
  ...["daemon.log", "daemon.log.1", "hook.log", VERDICTS_FILE, "attachments"],
  ...["bus", "bus/network.secret", "bus/machine.keys", "bus/user.nk"],
] as const;

/** Keys of the configuration whose values may be secrets. */
const SECRET_KEY = /\b(auth_token|token|secret|env|webhook)["']?\s*:/;

/**
 * Makes the configuration private: it names programs that the daemon runs, so no other user may
 * write it, nor read it if it holds a secret. Throws if another user controls it.
 */
export function protectConfig(env: Env): ExposedPath[] {
  const path = configPath(env);
  const mayBeRead = () => !SECRET_KEY.test(readTextOrNothing(path) ?? "");
  return [makePrivate(path, mayBeRead) ?? []].flat();
}

/** Makes the state directory and its files private. Throws if another user controls it. */
export function protectState(state: string): ExposedPath[] {
  const paths = [state, ...STATE_FILES.map((name) => join(state, name))];
  return paths.flatMap((path) => makePrivate(path) ?? []);
}

/** Logs each path that other users could open. */
export function logExposed(log: Log, exposed: readonly ExposedPath[]): void {
  for (const { path, mode, changed_to } of exposed) {
    const modeNote = changed_to === undefined ? "cannot be changed" : `is now ${changed_to}`;
    log.warn(`Other users could open a private file; its mode ${modeNote}`, { path, mode });
  }
}
