/** The doctor's checks of the state directory, configuration, disk space and clock. */

import { formatInstant } from "kit/core/local_time.ts";
import { dirname, join } from "kit/core/path.ts";
import { keyOfVariable } from "kit/core/settings.ts";
import { SETTINGS } from "../../daemon/app/config.ts";
import { configPath, type Env, statePath } from "../../daemon/host/paths.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import type { Check, CheckResult } from "./finding.ts";
import type { Machine } from "./machine.ts";

/** Files with messages, keys or tokens, which only their owner may read. */
const PRIVATE_FILES = ["mesh.db", "mesh.db-wal", "hook.token", "daemon.json", "daemon.log"];
const GROUP_AND_OTHERS_BITS = 0o077;

export const STATE: Check = {
  area: "state",
  run(machine) {
    const path = statePath(machine.env);
    const info = machine.stat(path);
    if (info && !info.isDirectory) {
      const fix = "move it away, or set MESH_STATE";
      return [["error", "STATE_NO_DIRECTORY", `${path} is a file`, fix]];
    }
    if (!info) {
      const findings = cannotCreateFindings(path, machine);
      if (findings.length > 0) return findings;
      return [["note", "STATE_MISSING", `${path} does not exist yet`, "mesh up"]];
    }
    const files = PRIVATE_FILES.map((name) => join(path, name));
    return [
      ["ok", "STATE_FOUND", `state is kept in ${path}`],
      ...permissionFindings(machine, path, "STATE"),
      ...files.flatMap((file) => permissionFindings(machine, file, "STATE_FILE")),
    ];
  },
};

/** Tries to make a folder where the daemon would: permissions do not tell of a read-only disk. */
function cannotCreateFindings(path: string, machine: Machine): CheckResult[] {
  let parent = dirname(path);
  while (parent !== "/" && !machine.stat(parent)) parent = dirname(parent);
  try {
    const trial = Deno.makeTempDirSync({ dir: parent, prefix: ".mesh-trial-" });
    Deno.removeSync(trial);
    return [];
  } catch (error) {
    const refusal = fileRefusal(error, { action: "create", path });
    if (!refusal) throw error;
    const fix = `${refusal.hint}; or set MESH_STATE to another directory`;
    return [["error", "STATE_NOT_WRITABLE", refusal.message, fix]];
  }
}

export const CONFIG: Check = {
  area: "config",
  run(machine, { settings, configErrors }) {
    const { env } = machine;
    const path = configPath(env);
    const source = machine.stat(path)
      ? `read from ${path}`
      : `${path} does not exist; using defaults`;
    const fix = (line: string) =>
      /\bMESH_[A-Z_]+/.exec(line) ? "correct or unset the variable" : `correct it in ${path}`;
    const mistakes = configErrors
      .map((line): CheckResult => ["error", "CONFIG_MISTAKE", line, fix(line)]);
    return [
      ...mistakes.length > 0 ? mistakes : [["ok", "CONFIG_READ", source] as const],
      ...permissionFindings(machine, path, "CONFIG"),
      ...overrideFindings(env),
      ...(settings ? tokenFindings(settings["daemon.auth_token"] !== undefined) : []),
    ];
  },
};

function tokenFindings(present: boolean): CheckResult[] {
  if (present) return [["ok", "TOKEN_PRESENT", "daemon.auth_token is set"]];
  const detail = "daemon.auth_token is not set: any user of this machine may act as any peer";
  return [["note", "TOKEN_MISSING", detail, "mesh setup"]];
}

function overrideFindings(env: Env): CheckResult[] {
  const names = Object.keys(env).filter((name) => keyOfVariable(SETTINGS, name)).sort();
  if (names.length === 0) return [];
  const detail = `the environment overrides the configuration file: ${names.join(", ")}`;
  return [["note", "CONFIG_OVERRIDDEN", detail]];
}

/**
 * Reports a path that has another owner or that other users may access. Reports nothing if the path
 * does not exist.
 */
function permissionFindings(machine: Machine, path: string, codePrefix: string): CheckResult[] {
  const info = machine.stat(path);
  if (!info || info.mode === null) return [];
  const found: CheckResult[] = [];
  const uid = Deno.uid();
  if (info.uid !== null && uid !== null && info.uid !== uid && uid !== 0) {
    const detail = `${path} belongs to user ${info.uid}, but this is user ${uid}`;
    found.push(["error", `${codePrefix}_NOT_OURS`, detail, `sudo chown -R ${uid} ${path}`]);
  }
  if ((info.mode & GROUP_AND_OTHERS_BITS) !== 0) {
    const expectedMode = info.isDirectory ? "0700" : "0600";
    const mode = `0${(info.mode & 0o777).toString(8)}`;
    const detail = `${path} has mode ${mode}: other users may access it`;
    found.push(["warning", `${codePrefix}_OPEN`, detail, `chmod ${expectedMode} ${path}`]);
  }
  return found;
}

const MEGABYTE = 1_048_576;
/** Below `critical` the daemon may fail at any moment. */
const FREE_MB = { critical: 100, low: 1024 } as const;

export const DISK: Check = {
  area: "disk",
  run(machine) {
    const path = nearestExisting(machine, statePath(machine.env));
    const bytes = machine.freeBytes(path);
    if (bytes === undefined) return [];
    const leftMb = Math.floor(bytes / MEGABYTE);
    const detail = `${leftMb} MB are free on the disk of ${path}`;
    const fix = "free disk space, or lower daemon.history_days";
    if (leftMb < FREE_MB.critical) return [["error", "DISK_FULL", detail, fix]];
    if (leftMb < FREE_MB.low) return [["warning", "DISK_LOW", detail, fix]];
    return [["ok", "DISK_ROOM", detail]];
  },
};

/** The directory itself, or its nearest parent that exists. */
function nearestExisting(machine: Machine, path: string): string {
  return machine.stat(path) || dirname(path) === path
    ? path
    : nearestExisting(machine, dirname(path));
}

/** If the clock shows an earlier time, it must be wrong, because this program was written later. */
const EARLIEST_PLAUSIBLE_MS = Date.UTC(2026, 0, 1);
/**
 * How far in the future a file's time may be. Allows for files written during the check, and for a
 * clock that is slightly ahead.
 */
const CLOCK_SKEW_MS_MAX = 120_000;

export const CLOCK: Check = {
  area: "clock",
  run(machine, { audit }) {
    const now = machine.clock.now();
    const fix = "set the clock: deadlines, schedules and retention depend on it";
    if (now < EARLIEST_PLAUSIBLE_MS) {
      return [["error", "CLOCK_WRONG", `the clock says ${formatInstant(now)}`, fix]];
    }
    const state = statePath(machine.env);
    const writtenAtMs = ["mesh.db", "mesh.db-wal"].map((name) =>
      machine.stat(join(state, name))?.mtime?.getTime() ?? 0
    );
    const createdAtMs = audit?.deliveries.map(({ created_at }) => Date.parse(created_at)) ?? [];
    const aheadMs = Math.max(0, ...writtenAtMs, ...createdAtMs) - now;
    if (aheadMs <= CLOCK_SKEW_MS_MAX) {
      return [["ok", "CLOCK_PLAUSIBLE", "no stored time is in the future"]];
    }
    const detail = `stored times are ${Math.ceil(aheadMs / 1000)} s ahead of the clock`;
    return [["warning", "CLOCK_WENT_BACK", detail, fix]];
  },
};
