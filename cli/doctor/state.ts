/** The state directory and the configuration: where they are, whose, and who else may read them. */

import { dirname, join } from "node:path";
import { configPath, type Env, statePath } from "../../daemon/host/paths.ts";
import { type Check, error, type Found, note, ok, warning } from "./finding.ts";
import type { Machine } from "./machine.ts";

/** What only its owner may read: all of it holds messages, keys or tokens. */
const PRIVATE = ["mesh.db", "mesh.db-wal", "hook.token", "daemon.json", "daemon.log"];
const OTHERS = 0o077;

export const STATE: Check = {
  area: "state",
  look(machine) {
    const path = statePath(machine.env);
    const info = machine.stat(path);
    if (!info) return [note("STATE_MISSING", `${path} is not there yet`, "mesh up")];
    if (!info.isDirectory) {
      return [error("STATE_NO_DIRECTORY", `${path} is a file`, "move it away, or set MESH_STATE")];
    }
    const files = PRIVATE.map((name) => join(path, name));
    return [
      ok("STATE_FOUND", `kept in ${path}`),
      ...guarded(machine, path, "STATE"),
      ...files.flatMap((file) => guarded(machine, file, "STATE_FILE")),
    ];
  },
};

export const CONFIG: Check = {
  area: "config",
  look(machine, { settings, mistakes }) {
    const { env } = machine;
    const path = configPath(env);
    const said = machine.stat(path) ? `read from ${path}` : `${path} is not there: defaults`;
    const fix = (line: string) =>
      /\bMESH_[A-Z_]+__/.exec(line) ? "correct or unset the variable" : `correct it in ${path}`;
    return [
      ...mistakes.map((line) => error("CONFIG_MISTAKE", line, fix(line))),
      ...(mistakes.length > 0 ? [] : [ok("CONFIG_READ", said)]),
      ...guarded(machine, path, "CONFIG"),
      ...overrides(env),
      ...(settings ? tokenOf(settings["daemon.auth_token"] !== undefined) : []),
    ];
  },
};

function tokenOf(present: boolean): Found[] {
  if (present) return [ok("TOKEN_PRESENT", "daemon.auth_token is set")];
  const detail = "no daemon.auth_token: whoever is on this machine may speak for any peer";
  return [note("TOKEN_MISSING", detail, "mesh setup")];
}

function overrides(env: Env): Found[] {
  const names = Object.keys(env).filter((name) => /^MESH_.*__/.test(name)).sort();
  if (names.length === 0) return [];
  return [note("CONFIG_OVERRIDDEN", `the environment goes before the file: ${names.join(", ")}`)];
}

/** Ours, and nobody else's to read or write. What is not there is not complained of. */
function guarded(machine: Machine, path: string, what: string): Found[] {
  const info = machine.stat(path);
  if (!info || info.mode === null) return [];
  const found: Found[] = [];
  const uid = Deno.uid();
  if (info.uid !== null && uid !== null && info.uid !== uid && uid !== 0) {
    const detail = `${path} belongs to user ${info.uid}, and we are user ${uid}`;
    found.push(error(`${what}_NOT_OURS`, detail, `sudo chown -R ${uid} ${path}`));
  }
  if ((info.mode & OTHERS) !== 0) {
    const wanted = info.isDirectory ? "0700" : "0600";
    const mode = `0${(info.mode & 0o777).toString(8)}`;
    const detail = `${path} has mode ${mode}: others may get at it`;
    found.push(warning(`${what}_OPEN`, detail, `chmod ${wanted} ${path}`));
  }
  return found;
}

const MEGABYTE = 1_048_576;
/** Below the first the daemon may fail any moment, below the second it is time to look. */
const FREE_MB = { error: 100, warning: 1024 } as const;

export const DISK: Check = {
  area: "disk",
  look(machine) {
    const path = nearest(machine, statePath(machine.env));
    const bytes = machine.free(path);
    if (bytes === undefined) return [];
    const left = Math.floor(bytes / MEGABYTE);
    const detail = `${left} MB are left where ${path} lies`;
    const fix = "make room there, or lower daemon.history_days";
    if (left < FREE_MB.error) return [error("DISK_FULL", detail, fix)];
    if (left < FREE_MB.warning) return [warning("DISK_LOW", detail, fix)];
    return [ok("DISK_ROOM", detail)];
  },
};

/** The directory itself, or the one that it will be made in. */
function nearest(machine: Machine, path: string): string {
  return machine.stat(path) || dirname(path) === path ? path : nearest(machine, dirname(path));
}

/** This program was not written before. */
const LEAST = Date.UTC(2026, 0, 1);
/** A file may be written while we look, and by a machine whose clock is a little ahead. */
const AHEAD_MS_MAX = 120_000;

export const CLOCK: Check = {
  area: "clock",
  look(machine, { answer }) {
    const now = machine.clock.now();
    const fix = "set the clock: deadlines, schedules and retention go by it";
    if (now < LEAST) {
      return [error("CLOCK_WRONG", `it is ${new Date(now).toISOString()} here`, fix)];
    }
    const state = statePath(machine.env);
    const written = ["mesh.db", "mesh.db-wal"].map((name) =>
      machine.stat(join(state, name))?.mtime?.getTime() ?? 0
    );
    const created = answer?.deliveries.map(({ created_at }) => Date.parse(created_at)) ?? [];
    const ahead = Math.max(0, ...written, ...created) - now;
    if (ahead <= AHEAD_MS_MAX) return [ok("CLOCK_PLAUSIBLE", "nothing kept is from the future")];
    const detail = `what the daemon wrote is ${Math.ceil(ahead / 1000)} s ahead of the clock`;
    return [warning("CLOCK_WENT_BACK", detail, fix)];
  },
};
