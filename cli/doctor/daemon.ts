/** Whether the daemon is up, is of this program's version, and accounts for every message. */

import { join } from "node:path";
import { VERSION } from "kit/http/contract.ts";
import { migrations } from "../../daemon/app/migrations/migrations.ts";
import { statePath } from "../../daemon/host/paths.ts";
import { argumentsOf } from "../../daemon/host/processes.ts";
import { type Check, error, type Found, note, ok, warning } from "./finding.ts";
import type { Machine } from "./machine.ts";
import type { Mesh } from "./mesh.ts";

const AGAIN = "mesh down && mesh up";

export const DAEMON: Check = {
  area: "daemon",
  look(machine, mesh) {
    const { health, refused } = mesh;
    if (!health) return [down(mesh), ...schemaOnDisk(machine)];
    return [
      ok("DAEMON_UP", `up, process ${health.pid}`),
      ...(refused === undefined ? [] : [error(
        "DAEMON_REFUSES",
        `it does not take our token: ${refused}`,
        `restart it after a change of daemon.auth_token: ${AGAIN}`,
      )]),
      versionOf(health.version),
      schemaOf(health.schema_version),
      ...strangerOf(machine, mesh),
      ...messages(mesh),
    ];
  },
};

function down({ daemon, beacon, mistakes }: Mesh): Found {
  if (mistakes.length > 0) {
    const at = beacon ? `one runs as process ${beacon.pid}, but ` : "";
    const detail = `${at}it was not asked, as the configuration holds mistakes`;
    return error("DAEMON_NOT_ASKED", detail, "mesh config check");
  }
  if (beacon) {
    const detail = `process ${beacon.pid} does not answer at ${beacon.url}`;
    const fix =
      `see \`mesh logs\`; if it stays so: kill -9 ${beacon.pid}, and mesh up: nothing is lost`;
    return error("DAEMON_STUCK", detail, fix);
  }
  const at = daemon && !daemon.url.endsWith(":0") ? ` at ${daemon.url}` : "";
  return error("DAEMON_DOWN", `no daemon answers${at}`, "mesh up");
}

function versionOf(version: string): Found {
  if (version === VERSION) return ok("VERSION_SAME", `version ${VERSION}, as this program`);
  const detail = `the daemon is of version ${version}, this program of ${VERSION}`;
  return warning("VERSION_DIFFERS", detail, AGAIN);
}

function schemaOf(version: number): Found {
  const ours = migrations.length;
  if (version === ours) return ok("SCHEMA_SAME", `schema ${ours}`);
  const detail = `the daemon's schema is ${version}, this program's ${ours}`;
  return warning("SCHEMA_DIFFERS", detail, version < ours ? AGAIN : "use the newer program");
}

/** A daemon that was not started from this state directory keeps its things elsewhere. */
function strangerOf({ env }: Machine, { beacon, health }: Mesh): Found[] {
  if (beacon?.pid === health?.pid) return [];
  const detail = `the daemon that answers is not of this state directory, ${statePath(env)}`;
  return [note("DAEMON_ELSEWHERE", detail, "set MESH_STATE as it was when the daemon started")];
}

function messages({ answer }: Mesh): Found[] {
  if (!answer) return [];
  const { unaccounted, unproved, total } = answer;
  const lost = unaccounted.length;
  return [
    lost === 0
      ? ok("MESSAGES_ACCOUNTED", `${total} messages, 0 unaccounted`)
      : error("MESSAGES_UNACCOUNTED", `${lost} not accounted for`, "mesh doctor --audit"),
    ...(unproved === 0 ? [] : [note(
      "MESSAGES_UNPROVED",
      `${unproved} went out without a proof that they were seen`,
      "see one with `mesh why <id>`; its agent's hooks prove it, see `mesh setup`",
    )]),
  ];
}

/** Where SQLite keeps `pragma user_version` in the first page of a file. */
const VERSION_AT = 60;

/** Without a daemon, the file itself says whether this program can open it. */
function schemaOnDisk({ env }: Machine): Found[] {
  const version = userVersion(join(statePath(env), "mesh.db"));
  if (version === undefined || version <= migrations.length) return [];
  const detail = `the database is at schema ${version}, this program knows ${migrations.length}`;
  return [error("SCHEMA_TOO_NEW", detail, "use the newer program that wrote it")];
}

function userVersion(path: string): number | undefined {
  const head = new Uint8Array(VERSION_AT + 4);
  try {
    using file = Deno.openSync(path);
    if (file.readSync(head) !== head.length) return undefined;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return undefined;
    if (fault instanceof Deno.errors.PermissionDenied) return undefined;
    throw fault;
  }
  return new DataView(head.buffer).getUint32(VERSION_AT);
}

export const RELAY: Check = {
  area: "relay",
  look(_, { health }) {
    if (!health) return [];
    const { status, url, last_error } = health.relay;
    if (status === "disabled") {
      return [ok("RELAY_DISABLED", "no relay: nothing leaves this machine")];
    }
    if (status === "connected") return [ok("RELAY_CONNECTED", `connected to ${url}`)];
    const detail = `${status}, ${url}${last_error === null ? "" : `: ${last_error}`}`;
    return [warning("RELAY_DOWN", detail, "see `mesh logs`")];
  },
};

/** Deno's inspector lets whoever reaches it run anything, as us. */
export const INSPECTOR: Check = {
  area: "inspector",
  look(_, { health, beacon }) {
    const pid = beacon?.pid ?? health?.pid;
    if (pid === undefined) return [];
    const words = argumentsOf(pid);
    if (!words) return [];
    if (!words.some((word) => /^--inspect(-brk|-wait)?(=|$)/.test(word))) {
      return [ok("INSPECTOR_CLOSED", "the daemon runs without a debugger's door")];
    }
    const detail = `process ${pid} was started with --inspect: who reaches it can do all you can`;
    return [error("INSPECTOR_OPEN", detail, AGAIN)];
  },
};
