/**
 * Adds, finds and removes our entries in Codex's files, hooks in JSON and an MCP server in TOML.
 * Finds what switches them off.
 */

import { isDeepStrictEqual } from "node:util";
import { parse, TomlError } from "smol-toml";
import { parseToml as read } from "../settings_files/toml.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { DECISION_SECONDS_MAX, MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { type JsonObject, plain, Unchangeable, valueAt } from "../settings_files/json.ts";
import type { Argv } from "../settings_files/shell_words.ts";
import {
  type AgentFiles,
  foreignServer,
  jsonEdit,
  programBefore,
  SERVER_NAME,
} from "../mcp_server_entry.ts";
import {
  ASK_ADMINISTRATOR,
  type ScopeReader,
  type SwitchedOff,
  switchesIn,
} from "../settings_files/switched_off.ts";

/** Codex warns about higher limits of some events; `mesh hook` takes 1.5 s at most. */
const HOOK_SECONDS_MAX = 3;
/**
 * The variables with which our server finds the daemon. Codex passes on only the variables that its
 * configuration names.
 */
const ENV_VARS = [
  "MESH_STATE",
  "MESH_CONFIG",
  "MESH_DAEMON__AUTH_TOKEN",
  "XDG_STATE_HOME",
  "XDG_CONFIG_HOME",
];
/** Members of our table besides the command. */
const OTHER_LINES = [
  'default_tools_approval_mode = "approve"',
  `env_vars = [${ENV_VARS.map((name) => `"${name}"`).join(", ")}]`,
];
const HEADER = `[mcp_servers.${SERVER_NAME}]`;
const COMMENT = "# Put here by `mesh setup`; `mesh setup --agent codex --uninstall` takes it out.";

/**
 * Our hooks in `hooks.json`. Codex does not run them until its user trusts them. It sends
 * `SessionEnd` when a session is unloaded or its process ends.
 */
export const hooks = new MeshHooks({
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

export function edits(files: AgentFiles, plan: SetupPlan): readonly Edit[] {
  return [jsonEdit(files.hooks, plan, { hooks }), {
    path: files.server,
    format: "text",
    add: (text) => installServer(text, plan),
    remove: (text, original) => removeServer(text, plan, original),
    isCreated: (text) => text.startsWith(COMMENT),
    learn: (text) => learnServer(text, plan),
    find: (text) => {
      const program = programIn(serversOf(read(text))[SERVER_NAME], plan);
      return { hooks: [], servers: program ? [program] : [] };
    },
  }];
}

/**
 * Adds our MCP server at the end of `config.toml`; no byte before it changes. Our tools need no
 * approval, because they do only what a peer may do. Throws `Unchangeable` for a text that is not
 * TOML, for a server of our name that is another program's, and for a file that has no place for a
 * table.
 */
export function installServer(text: string, plan: SetupPlan): string {
  const before = read(text);
  const found = serversOf(before)[SERVER_NAME];
  const block = blockOf(plan);
  if (found !== undefined) {
    const program = programIn(found, plan);
    if (program && isDeepStrictEqual(program, plan.mesh)) return text;
    if (program) return withCommand(text, before, plan);
    if (!plan.replace) throw new Unchangeable(foreignServer("mcp_servers", found));
    return installServer(withoutServer(text, before), plan);
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
    throw new Unchangeable(
      `mcp_servers is an inline table: write it as tables, [mcp_servers.NAME], then try again`,
    );
  }
  return after;
}

/**
 * Removes our server, and restores another program's server that ours replaced. The result is the
 * original text byte for byte, except for later edits.
 */
export function removeServer(text: string, plan: SetupPlan, original = ""): string {
  const before = read(text);
  if (!programIn(serversOf(before)[SERVER_NAME], plan)) return text;
  const after = withoutServer(text, before);
  const replaced = serversOf(read(original))[SERVER_NAME];
  if (replaced === undefined || programIn(replaced, plan)) return after;
  const place = serverBlock(original, read(original));
  const block = place ? original.slice(place.from, place.to) : "";
  return after === "" || after.endsWith("\n") ? after + block : `${after}\n${block}`;
}

/** Adds the program of a server that has our comment, or our variable in `env_vars`. */
function learnServer(text: string, { programs }: SetupPlan): void {
  const config = read(text);
  const server = serversOf(config)[SERVER_NAME];
  if (!isTable(server)) return;
  const variables = server["env_vars"];
  const isMarked = Array.isArray(variables) && variables.includes("MESH_STATE") ||
    serverBlock(text, config)?.has_comment;
  const program = isMarked ? commandOf(server) : undefined;
  if (program) programs.add(program);
}

/** The program of our server; undefined for any other server. */
function programIn(server: unknown, { programs }: SetupPlan): Argv | undefined {
  const program = isTable(server) ? commandOf(server) : undefined;
  return program && programs.includes(program) ? program : undefined;
}

function commandOf({ command, args }: Toml): Argv | undefined {
  return programBefore([command, args].flat());
}

function blockOf({ mesh }: SetupPlan): readonly string[] {
  return [COMMENT, HEADER, ...commandLines(mesh), ...OTHER_LINES];
}

function commandLines([command = "", ...args]: Argv): readonly string[] {
  // A basic string of TOML has the same escapes as JSON.
  const quoted = [...args, "mcp"].map((argument) => JSON.stringify(argument));
  return [`command = ${JSON.stringify(command)}`, `args = [${quoted.join(", ")}]`];
}

/** Replaces the command of our server in place. Other members belong to the user, so they stay. */
function withCommand(text: string, before: Toml, plan: SetupPlan): string {
  const [command = "", ...args] = plan.mesh;
  const server = serversOf(before)[SERVER_NAME];
  const next = { ...(isTable(server) && server), command, args: [...args, "mcp"] };
  const servers = { ...serversOf(before), [SERVER_NAME]: next };
  for (const { from, to } of blocksIn(text)) {
    const lines = text.slice(from, to).split(/(?<=\n)/);
    const [newCommand = "", newArgs = ""] = commandLines(plan.mesh);
    const changed = lines.map((line) =>
      line.replace(/^(\s*)command\s*=.*?(?=\r?\n|$)/, (_, indent) => indent + newCommand)
        .replace(/^(\s*)args\s*=\s*\[.*\][^\r\n]*(?=\r?\n|$)/, (_, indent) => indent + newArgs)
    ).join("");
    const after = text.slice(0, from) + changed + text.slice(to);
    if (parsesTo(after, { ...before, mcp_servers: servers })) return after;
  }
  return installServer(withoutServer(text, before), plan);
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly has_comment: boolean;
}

/** The header of our table, or of a table below it, as people write it. */
const OWN_HEADER =
  /^\s*\[\s*(?:mcp_servers|"mcp_servers"|'mcp_servers')\s*\.\s*(?:mesh|"mesh"|'mesh')\s*[.\]]/;

/**
 * The places that may hold our table and its subtables, each with our comment and blank line above.
 * Ours is appended to the file, so the last place comes first. A multi-line string may look like a
 * table, so a place is only a candidate.
 */
function blocksIn(text: string): readonly Block[] {
  const lines = text.split(/(?<=\n)/);
  const offsets = [0];
  for (const line of lines) offsets.push((offsets.at(-1) ?? 0) + line.length);
  const lineAt = (index: number) => (lines[index] ?? "").trim();
  const isOwn = lines.map((line) => OWN_HEADER.test(line));
  return lines.flatMap((_, first): Block[] => {
    if (!isOwn[first] || isOwn[first - 1]) return [];
    let end = first + 1;
    while (end < lines.length && (isOwn[end] || !lineAt(end).startsWith("["))) end++;
    const isLast = end === lines.length;
    // Comments and blank lines above the next table belong to that table.
    while (/^(#.*)?$/.test(lineAt(end - 1)) && end > first) end--;
    const has_comment = lineAt(first - 1) === COMMENT;
    let start = has_comment ? first - 1 : first;
    if (has_comment && start > 0 && lineAt(start - 1) === "") start--;
    const to = offsets[end] ?? text.length;
    const wasCutOff = has_comment && isLast && to === text.length && !text.endsWith("\n");
    const blank = wasCutOff ? /\r?\n$/.exec(text.slice(0, offsets[start]))?.[0].length ?? 0 : 0;
    return [{ from: (offsets[start] ?? 0) - blank, to, has_comment }];
  }).reverse();
}

/** The text without the server of our name, even if it is another program's. */
function withoutServer(text: string, before: Toml): string {
  const block = serverBlock(text, before);
  if (block) return text.slice(0, block.from) + text.slice(block.to);
  throw new Unchangeable(`mcp_servers.${SERVER_NAME} was rewritten: remove it by hand`);
}

/** The place to cut out to remove the server; undefined if the server is not written as a table. */
function serverBlock(text: string, before: Toml): Block | undefined {
  const { [SERVER_NAME]: _, ...others } = serversOf(before);
  const { mcp_servers: __, ...rest } = before;
  const isNone = Object.keys(others).length === 0;
  return blocksIn(text).find(({ from, to }) => {
    const after = text.slice(0, from) + text.slice(to);
    return parsesTo(after, { ...rest, mcp_servers: others }) || (isNone && parsesTo(after, rest));
  });
}

function parsesTo(text: string, expected: Toml): boolean {
  const isNotToml = (error: unknown) => error instanceof TomlError;
  return unlessError(isNotToml, () => isDeepStrictEqual(plain(parse(text)), plain(expected))) ??
    false;
}

function serversOf(config: Toml): Toml {
  const servers = config["mcp_servers"] ?? {};
  if (!isTable(servers)) throw new Unchangeable("mcp_servers is not a table: correct it");
  return servers;
}

function isTable(value: unknown): value is Toml {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The folder of the settings that an administrator manages. */
const MANAGED = "/etc/codex";
/** The feature, and its former name. */
const FEATURES = ["hooks", "codex_hooks"];

/** The settings of Codex (0.169.0) that keep our hooks or our MCP server from running. */
export function switchedOff(home: string, files: ScopeReader): readonly SwitchedOff[] {
  const { cwd, toml } = files;
  const managed = ["config.toml", "managed_config.toml", "requirements.toml"].map((name) =>
    `${MANAGED}/${name}`
  );
  const names = [
    ...managed,
    `${home}/config.toml`,
    `${home}/managed_config.toml`,
    `${cwd}/.codex/config.toml`,
  ];
  return [...new Set(names)].flatMap((file) => {
    const config = toml(file);
    const fix = managed.includes(file) ? ASK_ADMINISTRATOR : `remove it from ${file}`;
    return config ? inFile(file, config, fix) : [];
  });
}

function inFile(file: string, config: JsonObject, fix: string): SwitchedOff[] {
  const { profile, allow_managed_hooks_only: managedOnly } = config;
  const ofProfile = typeof profile === "string" ? [["profiles", profile, "features"]] : [];
  const features = [["features"], ...ofProfile].flatMap((table) =>
    FEATURES.map((feature) => [...table, feature])
  );
  const server = ["mcp_servers", SERVER_NAME, "enabled"];
  const isFalse = (keys: readonly string[]) => valueAt(config, ...keys) === false;
  return switchesIn(file, [
    ...features.map((keys) => [isFalse(keys), "hooks", `${keys.join(".")} = false`, fix] as const),
    [managedOnly === true, "hooks", "allow_managed_hooks_only = true", fix],
    [isFalse(server), "MCP server", `${server.join(".")} = false`, fix],
  ]);
}
