/**
 * Reads the settings that a client needs without the schemas of all settings, if their form is
 * plain. Loading those schemas takes longer than everything else that a command does.
 */

import { configPath, type Env, readTextOrNothing } from "../../daemon/host/paths.ts";
import {
  DEFAULT_HOST,
  DEFAULT_PORT,
  runningDaemon,
  type RuntimeInfo,
} from "../../daemon/host/runtime_file.ts";
import { type ClientSettings, toUrl } from "./daemon_client.ts";
import { unlessError } from "kit/host/file_errors.ts";

const PORT_MAX = 65_535;

/** A token that YAML reads as the same text, in the environment and in the file. */
const TOKEN = /^(?=.*[a-z])(?!\d+e)\w[\w-]{15,}$/i;
/** The only line of the file with a token: in a section, or by its dotted name. */
const TOKEN_LINE = /^( +|daemon\.)auth_token: +(["']?)([\w-]+)\2 *$/m;

/**
 * Undefined if the configuration must be read and checked: it has changed since the daemon's start,
 * or no daemon runs, or it has settings in other forms than the plain ones.
 */
export function readPlainSettings(env: Env): ClientSettings | undefined {
  const variables = variablesOf(env);
  if (!variables) return undefined;
  // A file that cannot be read is reported when the configuration is read.
  return unlessError((error) => error instanceof Error, () => {
    const path = configPath(env);
    const text = readTextOrNothing(path);
    const daemon = runningDaemon(env);
    if (text !== undefined && !(daemon && isChecked(path, daemon))) return undefined;
    const inFile = tokenIn(text ?? "");
    if (inFile === "unclear") return undefined;
    const url = daemon?.url ?? toUrl(DEFAULT_HOST, variables.port ?? DEFAULT_PORT);
    return { url, token: variables.token ?? inFile };
  });
}

/** A setting that is perhaps written with `_` for `__`. The daemon sets the excepted variable. */
const ONE_UNDERSCORE =
  /^MESH_(?:APPROVALS|ASKS|DAEMON|HUMAN|JOBS|MESH|PANES|RELAY|ROUTING|SPAWN(?!_ID$)|SURFACES|TELEMETRY)_/;

/** Undefined if the environment has another setting, or one that may be a mistake. */
function variablesOf(env: Env) {
  let port: number | undefined;
  let token: string | undefined;
  for (const [name, text] of Object.entries(env)) {
    if (!/^MESH_.*__/.test(name) && !ONE_UNDERSCORE.test(name)) continue;
    if (name === "MESH_DAEMON__PORT" && isPort(text)) port = Number(text);
    else if (name === "MESH_DAEMON__AUTH_TOKEN" && TOKEN.test(text)) token = text;
    else return undefined;
  }
  return { port, token };
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= PORT_MAX;
}

/** True if the running daemon has read this text of the file. */
function isChecked(path: string, { started_at }: RuntimeInfo): boolean {
  const changed_at = Deno.statSync(path).mtime?.getTime() ?? Infinity;
  return changed_at < Date.parse(started_at);
}

/** The token in the text of a file that has no mistake. */
function tokenIn(text: string): string | "unclear" | undefined {
  // A backslash may hide the key of the token.
  if (!/auth_token|\\/.test(text)) return undefined;
  const [line, place, , token = ""] = TOKEN_LINE.exec(text) ?? [];
  const mentions = text.match(/auth_token/g) ?? [];
  if (line === undefined || mentions.length > 1 || text.includes("\\")) return "unclear";
  // A text of several lines may look like a section.
  if (/[|>][-+\d]*[ \t]*$/m.test(text) || !TOKEN.test(token)) return "unclear";
  const heads = text.slice(0, text.indexOf(line)).match(/^[^\s#].*$/gm);
  const section = heads?.at(-1);
  return place === "daemon." || section === "daemon:" ? token : "unclear";
}
