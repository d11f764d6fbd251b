/**
 * Adds and removes our entries in Codex's files: hooks in its JSON, an MCP server in its TOML. No
 * I/O.
 */

import { isDeepStrictEqual } from "node:util";
import { parse, TomlError } from "smol-toml";
import { DECISION_SECONDS_MAX, meshHooks } from "../hooks/settings.ts";
import type { SetupPlan } from "../install.ts";
import { Unchangeable } from "../settings_files/json.ts";
import { SERVER_NAME, serverCommand } from "../mcp_server_entry.ts";

/** Codex warns about higher limits of some events; `mesh hook` takes 1.5 s at most. */
const HOOK_SECONDS_MAX = 3;
/**
 * The variables that tell our server where the daemon is. Codex passes on only the variables that
 * its configuration names.
 */
const ENV_VARS = [
  "MESH_STATE",
  "MESH_CONFIG",
  "MESH_DAEMON__AUTH_TOKEN",
  "XDG_STATE_HOME",
  "XDG_CONFIG_HOME",
];
const HEADER = `[mcp_servers.${SERVER_NAME}]`;
const COMMENT = "# Put here by `mesh setup`; `mesh setup --agent codex --uninstall` takes it out.";

/**
 * Our hooks in `hooks.json`. Codex does not run them until its user trusts them. It sends
 * `SessionEnd` when a session is unloaded or its process ends.
 */
export const { install: installCodexHooks, remove: removeCodexHooks } = meshHooks({
  agent: "codex",
  events: [
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "Interrupt",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
  ],
  guarded_events: ["PostToolUse", "PostModelRequest"],
  entry(event, command) {
    const timeout = event === "PermissionRequest" ? DECISION_SECONDS_MAX : HOOK_SECONDS_MAX;
    return { hooks: [{ type: "command", command: command(event), timeout }] };
  },
});

type Toml = Readonly<Record<string, unknown>>;

/**
 * Adds our MCP server at the end of `config.toml`; no byte before it changes. Our tools need no
 * approval, because they do only what a peer may do. Throws `Unchangeable` for a text that is not
 * TOML, for a server of our name that is another program's, and for a file that has no place for a
 * table.
 */
export function installServer(text: string, plan: SetupPlan): string {
  const before = read(text);
  const found = serversOf(before)[SERVER_NAME];
  const { command, args, block } = serverOf(plan);
  if (isTable(found)) {
    // Other members of the entry are the user's, e.g. another approval mode, so they are kept.
    if (found["command"] === command && isDeepStrictEqual(found["args"], args)) return text;
    return installServer(removeStale(text, found), plan);
  }
  const line_end = text.includes("\r\n") ? "\r\n" : "\n";
  const whole = block.join(line_end);
  const after = text === ""
    ? whole + line_end
    : text.endsWith("\n")
    ? text + line_end + whole + line_end
    : text + line_end + line_end + whole;
  const servers = { ...serversOf(before), [SERVER_NAME]: serversOf(read(whole))[SERVER_NAME] };
  if (!parsesTo(after, { ...before, mcp_servers: servers })) {
    throw new Unchangeable(`mcp_servers is an inline table: add ${SERVER_NAME} to it by hand`);
  }
  return after;
}

/**
 * Removes our server. The result is the original text byte for byte, except for what was written
 * since.
 */
export function removeServer(text: string): string {
  const before = read(text);
  const { [SERVER_NAME]: found, ...others } = serversOf(before);
  if (!isTable(found) || !isMesh(found)) return text;
  const after = withoutBlock(text);
  const { mcp_servers: _, ...rest } = before;
  const whole = { ...rest, mcp_servers: others };
  if (!parsesTo(after, whole) && !(Object.keys(others).length === 0 && parsesTo(after, rest))) {
    throw new Unchangeable(`mcp_servers.${SERVER_NAME} was rewritten: remove it by hand`);
  }
  return after;
}

function removeStale(text: string, found: Toml): string {
  if (isMesh(found)) return removeServer(text);
  throw new Unchangeable(
    `mcp_servers.${SERVER_NAME} belongs to another program: remove or rename it first`,
  );
}

/**
 * Recognizes our server by its last argument, because mesh may have been installed in another place
 * at the time.
 */
function isMesh({ args }: Toml): boolean {
  return Array.isArray(args) && args.at(-1) === "mcp";
}

function serverOf(plan: SetupPlan) {
  const { command, args } = serverCommand(plan);
  const block = [
    COMMENT,
    HEADER,
    `command = ${tomlString(command)}`,
    `args = [${args.map(tomlString).join(", ")}]`,
    'default_tools_approval_mode = "approve"',
    `env_vars = [${ENV_VARS.map(tomlString).join(", ")}]`,
  ];
  return { command, args, block };
}

/** Removes our table and those below it, with the comment and the blank line that we added. */
function withoutBlock(text: string): string {
  const lines = text.split(/(?<=\n)/);
  const isHeader = (line: string) => /^\s*\[/.test(line);
  const isMesh = (line: string) =>
    line.trim().startsWith(HEADER) || line.trim().startsWith(`[mcp_servers.${SERVER_NAME}.`);
  const first = lines.findIndex(isMesh);
  if (first < 0) return text;
  let end = first + 1;
  while (end < lines.length && (!isHeader(lines[end] ?? "") || isMesh(lines[end] ?? ""))) end++;
  // Comments and blank lines above the next table belong to that table.
  while (/^(#.*)?$/.test((lines[end - 1] ?? "").trim()) && end > first) end--;
  const hasComment = lines[first - 1]?.trim() === COMMENT;
  const start = hasComment ? first - 1 : first;
  const before = lines.slice(0, hasComment && lines[start - 1]?.trim() === "" ? start - 1 : start);
  const after = lines.slice(end);
  const wasCutOff = hasComment && after.length === 0 && !text.endsWith("\n");
  return (wasCutOff ? before.join("").replace(/\r?\n$/, "") : before.join("")) + after.join("");
}

function read(text: string): Toml {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason = ""] = error.message.split("\n");
    throw new Unchangeable(`it is not TOML (${reason}, line ${error.line})`, { cause: error });
  }
}

function parsesTo(text: string, expected: Toml): boolean {
  try {
    return isDeepStrictEqual(plain(parse(text)), plain(expected));
  } catch (error) {
    if (error instanceof TomlError) return false;
    throw error;
  }
}

/** A copy without the parser's prototypes and classes, which would make the comparison fail. */
function plain(value: Toml): unknown {
  return JSON.parse(JSON.stringify(value));
}

function serversOf(config: Toml): Toml {
  const servers = config["mcp_servers"] ?? {};
  if (!isTable(servers)) throw new Unchangeable("mcp_servers is not a table");
  return servers;
}

function isTable(value: unknown): value is Toml {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Quotes a text as a basic string of TOML, which has the same escapes as JSON. */
function tomlString(text: string): string {
  return JSON.stringify(text);
}
