/**
 * The doctor's checks of the daemon: whether it runs, its version, messages not accounted for, the
 * relay, and the proxies and certificate authorities of outgoing connections.
 */

import { join } from "kit/core/path.ts";
import { VERSION } from "kit/core/version.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { copyFor, migrationCopies, type MigrationCopy } from "kit/host/migration_copies.ts";
import { migrations } from "../../daemon/app/migrations/migrations.ts";
import { type Env, statePath } from "../../daemon/host/paths.ts";
import { argumentsOf, environmentOf } from "../../daemon/host/processes.ts";
import { formatHeard, formatInstant } from "../output/time.ts";
import type { Check, CheckResult } from "./finding.ts";
import type { Health } from "protocol/api/events.ts";
import { isInaccessible, type Machine } from "./machine.ts";
import type { MeshSnapshot } from "./snapshot.ts";
import { readAuthorities } from "kit/net/outgoing/authorities.ts";
import { OUTGOING_VARIABLES } from "kit/net/outgoing/proxies.ts";

const RESTART_COMMAND = "mesh restart";

export const DAEMON: Check = {
  area: "daemon",
  run(machine, snapshot) {
    const { health, refusal } = snapshot;
    if (!health) {
      const found = downFinding(snapshot);
      return [found, ...diskSchemaFindings(machine), ...copyFindings(machine)];
    }
    const found: CheckResult[] = [["ok", "DAEMON_UP", `running, process ${health.pid}`]];
    if (refusal !== undefined) {
      const fix = `if daemon.auth_token has changed, restart the daemon: ${RESTART_COMMAND}`;
      found.push(["error", "DAEMON_REFUSES", `it rejects our token: ${refusal}`, fix]);
    }
    return [
      ...found,
      versionFinding(health.version),
      schemaFinding(health.schema_version),
      ...otherDaemonFindings(machine, snapshot),
      ...storageFindings(health),
      ...restoredFindings(health),
      ...copyFindings(machine),
      ...messageFindings(snapshot),
    ];
  },
};

function storageFindings({ storage }: Health): CheckResult[] {
  if (!storage) return [];
  const { status, since, reason } = storage;
  if (status === "ok") return [["ok", "STORAGE_OK", "the database can be written"]];
  if (status === "slow") {
    const fix =
      "see which program writes to the disk of the state directory, for example with iotop";
    return [["warning", "STORAGE_SLOW", `the disk is slow: ${reason}`, fix]];
  }
  const detail = `nothing can be stored since ${formatInstant(since)}: ${reason}`;
  const fix = "make room on the disk of the state directory, or make it writable; " +
    "the daemon goes on by itself then";
  return [["error", "STORAGE_FAILING", detail, fix]];
}

function restoredFindings({ restored }: Health): CheckResult[] {
  if (!restored) return [];
  const { at, lost_messages } = restored;
  const lost = lost_messages ?? "an unknown number of";
  const detail = `the database was restored from a backup at ${formatInstant(at)}; ` +
    `${lost} messages since that backup are gone`;
  return [["note", "DATABASE_RESTORED", detail]];
}

/** Lists the copies made before a new version changed the database. */
function copyFindings(machine: Machine): CheckResult[] {
  return copiesOf(machine).map(({ path, version }) => {
    const detail = `a copy of the database with schema ${version}, from before an update: ${path}`;
    return ["note", "DATABASE_COPY", `${detail}; to go back, ${wayBack(version, path)}`];
  });
}

function copiesOf({ env, stat }: Machine): MigrationCopy[] {
  return stat(statePath(env))?.isDirectory ? migrationCopies(databaseOf(env)) : [];
}

/** The way to use a copy: only a version with its schema opens it without changing it. */
function wayBack(version: number, path: string): string {
  const install = version !== migrations.length ? "install the version that wrote it, then: " : "";
  return `${install}mesh restore "${path}"`;
}

function databaseOf(env: Env): string {
  return join(statePath(env), "mesh.db");
}

function downFinding(snapshot: MeshSnapshot): CheckResult {
  const { daemon, runtimeInfo, configErrors, isAddressTaken } = snapshot;
  if (configErrors.length > 0) {
    const at = runtimeInfo ? `process ${runtimeInfo.pid} is running, but ` : "";
    const detail = `${at}it was not checked because the configuration is invalid`;
    return ["error", "DAEMON_NOT_ASKED", detail, "mesh config check"];
  }
  if (runtimeInfo) {
    const detail = `process ${runtimeInfo.pid} does not answer at ${runtimeInfo.url}`;
    const fix =
      `see \`mesh logs\`; if it stays stuck: kill -9 ${runtimeInfo.pid} && mesh up (no data is lost)`;
    return ["error", "DAEMON_STUCK", detail, fix];
  }
  if (daemon && isAddressTaken) {
    const detail = `the program that answers at ${daemon.url} is not a mesh daemon`;
    return ["error", "ADDRESS_TAKEN", detail, "mesh config set daemon.port PORT, then mesh up"];
  }
  const at = daemon && !daemon.url.endsWith(":0") ? ` at ${daemon.url}` : "";
  return ["error", "DAEMON_DOWN", `no daemon answers${at}`, "mesh up"];
}

function versionFinding(version: string): CheckResult {
  if (version === VERSION) {
    return ["ok", "VERSION_SAME", `version ${VERSION}, the same as this program`];
  }
  const detail = `the daemon has version ${version}, this program ${VERSION}`;
  return ["warning", "VERSION_DIFFERS", detail, RESTART_COMMAND];
}

function schemaFinding(version: number): CheckResult {
  const expected = migrations.length;
  if (version === expected) return ["ok", "SCHEMA_SAME", `schema ${expected}`];
  const detail = `the daemon's database schema is ${version}, this program's ${expected}`;
  const fix = version < expected ? RESTART_COMMAND : "use the newer version of mesh";
  return ["warning", "SCHEMA_DIFFERS", detail, fix];
}

/** Reports a daemon that answers but may have been started with another state directory. */
function otherDaemonFindings(
  { env }: Machine,
  { runtimeInfo, health }: MeshSnapshot,
): CheckResult[] {
  if (runtimeInfo?.pid === health?.pid) return [];
  const detail = `the daemon that answers uses another state directory than "${statePath(env)}"`;
  const fix = "set MESH_STATE to the directory that the daemon was started with";
  return [["note", "DAEMON_ELSEWHERE", detail, fix]];
}

function messageFindings({ audit }: MeshSnapshot): CheckResult[] {
  if (!audit) return [];
  const { unaccounted, unproved, total } = audit;
  const lost = `${unaccounted.length} messages are unaccounted for`;
  const found: CheckResult[] = unaccounted.length === 0
    ? [["ok", "MESSAGES_ACCOUNTED", `${total} messages, 0 unaccounted`]]
    : [["error", "MESSAGES_UNACCOUNTED", lost, "mesh doctor --audit"]];
  if (unproved > 0) {
    const what = unproved === 1 ? "1 message was" : `${unproved} messages were`;
    const detail = `${what} sent but never confirmed as seen`;
    const fix = "see `mesh why <id>`; an agent confirms by its hooks, which `mesh setup` installs";
    found.push(["note", "MESSAGES_UNPROVED", detail, fix]);
  }
  return found;
}

/** The offset in a database file at which SQLite stores `pragma user_version`. */
const USER_VERSION_OFFSET = 60;

/** Reads the schema version from the database file, because no daemon runs that could report it. */
function diskSchemaFindings({ env }: Machine): CheckResult[] {
  const database = databaseOf(env);
  const version = readUserVersion(database);
  if (version === undefined || version <= migrations.length) return [];
  const detail =
    `the database has schema ${version}, but this program supports up to ${migrations.length}`;
  const copy = copyFor(database, migrations.length);
  const back = copy ? `, or go back: mesh restore "${copy.path}"` : "";
  const fix = `use the newer version of mesh that wrote it${back}`;
  return [["error", "SCHEMA_TOO_NEW", detail, fix]];
}

function readUserVersion(path: string): number | undefined {
  return unlessError(isInaccessible, () => {
    const header = new Uint8Array(USER_VERSION_OFFSET + 4);
    using file = Deno.openSync(path);
    if (file.readSync(header) !== header.length) return undefined;
    return new DataView(header.buffer).getUint32(USER_VERSION_OFFSET);
  });
}

export const RELAY: Check = {
  area: "relay",
  run({ clock }, { health }) {
    if (!health) return [];
    const { status, url, last_error, last_heard_at } = health.relay;
    if (status === "disabled") {
      return [["ok", "RELAY_DISABLED", "no relay is configured"]];
    }
    if (status === "connected") {
      const heard = last_heard_at ? `, ${formatHeard(clock.now() - last_heard_at)}` : "";
      return [["ok", "RELAY_CONNECTED", `connected to ${url}${heard}`]];
    }
    const detail = `${status}, ${url}${last_error === null ? "" : `: ${last_error}`}`;
    return [["warning", "RELAY_DOWN", detail, "see `mesh logs`"]];
  },
};

/** Deno's inspector lets anyone who can connect to it run code as this user. */
export const INSPECTOR: Check = {
  area: "inspector",
  run(_, { health, runtimeInfo }) {
    const pid = runtimeInfo?.pid ?? health?.pid;
    if (pid === undefined) return [];
    const args = argumentsOf(pid);
    if (!args) return [];
    if (!args.some((arg) => /^--inspect(-brk|-wait)?(=|$)/.test(arg))) {
      return [["ok", "INSPECTOR_CLOSED", "no debugger port is open"]];
    }
    const detail =
      `process ${pid} was started with --inspect: anyone who can connect runs code as you`;
    return [["error", "INSPECTOR_OPEN", detail, RESTART_COMMAND]];
  },
};

/** Findings never show values, because a proxy's address may hold a password. */
export const OUTGOING: Check = {
  area: "outgoing",
  run({ env }, { health, machines, runtimeInfo }) {
    const naming = "name a file with certificates in PEM, or unset the variable";
    const found: CheckResult[] = readAuthorities(env).faults
      .map((fault) => ["warning", "AUTHORITY_UNUSABLE", fault, naming]);
    // Other systems do not show the environment of a process.
    const started = runtimeInfo && environmentOf(runtimeInfo.pid);
    if (!started) return found;
    const differing = OUTGOING_VARIABLES.filter((name) =>
      (env[name] || "") !== (started.get(name) || "")
    );
    if (differing.length > 0) {
      const detail = `the daemon was started with other values of ${differing.join(", ")} ` +
        "than this shell has";
      const fix = "mesh restart; for the service that starts it: mesh setup --service";
      const goesOut = health && health.relay.status !== "disabled" ||
        machines && machines.bus.status !== "disabled";
      return [...found, [goesOut ? "warning" : "note", "OUTGOING_DIFFERS", detail, fix]];
    }
    const set = OUTGOING_VARIABLES.filter((name) => env[name]);
    const detail = set.length === 0
      ? "no proxy and no authority is named"
      : `the daemon uses ${set.join(", ")}, as this shell does`;
    return [...found, ["ok", "OUTGOING_SAME", detail]];
  },
};
