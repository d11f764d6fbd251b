/** Whether the daemon is up, is of this program's version, and accounts for every message. */

import { join } from "node:path";
import { VERSION } from "kit/http/contract.ts";
import { migrations } from "../../daemon/app/migrations/migrations.ts";
import { statePath } from "../../daemon/host/paths.ts";
import { argumentsOf } from "../../daemon/host/processes.ts";
import {
  type Check,
  type CheckResult,
  errorFinding,
  noteFinding,
  ok,
  warningFinding,
} from "./finding.ts";
import type { Machine } from "./machine.ts";
import type { MeshSnapshot } from "./snapshot.ts";

const RESTART_COMMAND = "mesh down && mesh up";

export const DAEMON: Check = {
  area: "daemon",
  run(machine, snapshot) {
    const { health, refusal } = snapshot;
    if (!health) return [downFinding(snapshot), ...diskSchemaFindings(machine)];
    return [
      ok("DAEMON_UP", `up, process ${health.pid}`),
      ...(refusal === undefined ? [] : [errorFinding(
        "DAEMON_REFUSES",
        `it does not take our token: ${refusal}`,
        `restart it after a change of daemon.auth_token: ${RESTART_COMMAND}`,
      )]),
      versionFinding(health.version),
      schemaFinding(health.schema_version),
      ...otherDaemonFindings(machine, snapshot),
      ...messageFindings(snapshot),
    ];
  },
};

function downFinding({ daemon, runtimeInfo, configErrors }: MeshSnapshot): CheckResult {
  if (configErrors.length > 0) {
    const at = runtimeInfo ? `one runs as process ${runtimeInfo.pid}, but ` : "";
    const detail = `${at}it was not asked, as the configuration holds mistakes`;
    return errorFinding("DAEMON_NOT_ASKED", detail, "mesh config check");
  }
  if (runtimeInfo) {
    const detail = `process ${runtimeInfo.pid} does not answer at ${runtimeInfo.url}`;
    const fix =
      `see \`mesh logs\`; if it stays so: kill -9 ${runtimeInfo.pid}, and mesh up: nothing is lost`;
    return errorFinding("DAEMON_STUCK", detail, fix);
  }
  const at = daemon && !daemon.url.endsWith(":0") ? ` at ${daemon.url}` : "";
  return errorFinding("DAEMON_DOWN", `no daemon answers${at}`, "mesh up");
}

function versionFinding(version: string): CheckResult {
  if (version === VERSION) return ok("VERSION_SAME", `version ${VERSION}, as this program`);
  const detail = `the daemon is of version ${version}, this program of ${VERSION}`;
  return warningFinding("VERSION_DIFFERS", detail, RESTART_COMMAND);
}

function schemaFinding(version: number): CheckResult {
  const expected = migrations.length;
  if (version === expected) return ok("SCHEMA_SAME", `schema ${expected}`);
  const detail = `the daemon's schema is ${version}, this program's ${expected}`;
  return warningFinding(
    "SCHEMA_DIFFERS",
    detail,
    version < expected ? RESTART_COMMAND : "use the newer program",
  );
}

/** A daemon that was not started from this state directory keeps its things elsewhere. */
function otherDaemonFindings(
  { env }: Machine,
  { runtimeInfo, health }: MeshSnapshot,
): CheckResult[] {
  if (runtimeInfo?.pid === health?.pid) return [];
  const detail = `the daemon that answers is not of this state directory, ${statePath(env)}`;
  return [
    noteFinding("DAEMON_ELSEWHERE", detail, "set MESH_STATE as it was when the daemon started"),
  ];
}

function messageFindings({ audit }: MeshSnapshot): CheckResult[] {
  if (!audit) return [];
  const { unaccounted, unproved, total } = audit;
  const unaccountedCount = unaccounted.length;
  return [
    unaccountedCount === 0
      ? ok("MESSAGES_ACCOUNTED", `${total} messages, 0 unaccounted`)
      : errorFinding(
        "MESSAGES_UNACCOUNTED",
        `${unaccountedCount} not accounted for`,
        "mesh doctor --audit",
      ),
    ...(unproved === 0 ? [] : [noteFinding(
      "MESSAGES_UNPROVED",
      `${unproved} went out without a proof that they were seen`,
      "see one with `mesh why <id>`; its agent's hooks prove it, see `mesh setup`",
    )]),
  ];
}

/** Where SQLite keeps `pragma user_version` in the first page of a file. */
const USER_VERSION_OFFSET = 60;

/** Without a daemon, the file itself says whether this program can open it. */
function diskSchemaFindings({ env }: Machine): CheckResult[] {
  const version = readUserVersion(join(statePath(env), "mesh.db"));
  if (version === undefined || version <= migrations.length) return [];
  const detail = `the database is at schema ${version}, this program knows ${migrations.length}`;
  return [errorFinding("SCHEMA_TOO_NEW", detail, "use the newer program that wrote it")];
}

function readUserVersion(path: string): number | undefined {
  const header = new Uint8Array(USER_VERSION_OFFSET + 4);
  try {
    using file = Deno.openSync(path);
    if (file.readSync(header) !== header.length) return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.PermissionDenied) return undefined;
    throw error;
  }
  return new DataView(header.buffer).getUint32(USER_VERSION_OFFSET);
}

export const RELAY: Check = {
  area: "relay",
  run(_, { health }) {
    if (!health) return [];
    const { status, url, last_error } = health.relay;
    if (status === "disabled") {
      return [ok("RELAY_DISABLED", "no relay: nothing leaves this machine")];
    }
    if (status === "connected") return [ok("RELAY_CONNECTED", `connected to ${url}`)];
    const detail = `${status}, ${url}${last_error === null ? "" : `: ${last_error}`}`;
    return [warningFinding("RELAY_DOWN", detail, "see `mesh logs`")];
  },
};

/** Deno's inspector lets whoever reaches it run anything, as us. */
export const INSPECTOR: Check = {
  area: "inspector",
  run(_, { health, runtimeInfo }) {
    const pid = runtimeInfo?.pid ?? health?.pid;
    if (pid === undefined) return [];
    const args = argumentsOf(pid);
    if (!args) return [];
    if (!args.some((arg) => /^--inspect(-brk|-wait)?(=|$)/.test(arg))) {
      return [ok("INSPECTOR_CLOSED", "the daemon runs without a debugger's door")];
    }
    const detail = `process ${pid} was started with --inspect: who reaches it can do all you can`;
    return [errorFinding("INSPECTOR_OPEN", detail, RESTART_COMMAND)];
  },
};
