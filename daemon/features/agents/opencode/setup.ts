/** The files of `mesh setup` for opencode: the plugin, and our entry in the MCP servers. */

import { type Edit, exists, readJsonSettings, type SetupPlan } from "../install.ts";
import { isObject, type Json, Unchangeable, valueAt } from "../settings_files/json.ts";
import { foreignServer, programBefore, SERVER_NAME } from "../mcp_server_entry.ts";
import { memberAt, prepend, remove, rootOf } from "../settings_files/jsonc.ts";
import type { Argv } from "../settings_files/shell_words.ts";
import plugin from "./plugin/generated/mesh.js" with { type: "text" };
import { type ScopeReader, type SwitchedOff, switchesIn } from "../settings_files/switched_off.ts";
import type { Env } from "../../../host/paths.ts";

/**
 * The rest of a file that we created, once our entry is removed. No other program writes an empty
 * file this way.
 */
const EMPTY_FILE = "{\n\n}\n";
/** The first bytes of the plugin, in every version of it. */
const PLUGIN_HEADER = "/**\n * mesh's plugin for opencode";

/** The content of `plugin/mesh.js`, a single file that finds the daemon by itself. */
export function installPlugin(before: string): string {
  if (before !== "" && !before.startsWith(PLUGIN_HEADER)) {
    throw new Unchangeable("it belongs to another program: move or rename it, then try again");
  }
  return plugin;
}

export function removePlugin(before: string): string {
  return before.startsWith(PLUGIN_HEADER) ? "" : before;
}

/**
 * opencode merges all of its settings files, so the file that has our server keeps it. Without one,
 * the first existing file gets it.
 */
export function serverEdits(files: readonly string[], plan: SetupPlan): readonly Edit[] {
  const existing = files.filter(exists);
  const settings = existing.length > 0 ? existing : files.slice(0, 1);
  const present = settings.findIndex((path) => hasServer(path, plan));
  return settings.map((path, at) => ({
    path,
    format: "text",
    add: (text) =>
      at === Math.max(present, 0) ? installServer(text, plan) : withoutMesh(text, plan),
    remove: (text, original) => removeServer(text, plan, original),
    find: (text) => {
      const program = programIn(serverIn(text), plan);
      return { hooks: [], servers: program ? [program] : [] };
    },
  }));
}

function hasServer(path: string, plan: SetupPlan): boolean {
  return programIn(valueAt(readJsonSettings(path), "mcp", SERVER_NAME), plan) !== undefined;
}

/** The text of a file without our server, because another file has it. */
function withoutMesh(text: string, plan: SetupPlan): string {
  const found = serverIn(text);
  if (found !== undefined && !programIn(found, plan)) {
    throw new Unchangeable(foreignServer("mcp", found));
  }
  return removeServer(text, plan);
}

/**
 * Adds our MCP server to `opencode.json` before all others; comments and layout stay. A file that
 * has no servers yet gets ours on one line, which marks the whole member as ours.
 */
export function installServer(before: string, plan: SetupPlan): string {
  const entry = `"${SERVER_NAME}": ${JSON.stringify(serverOf(plan.mesh))}`;
  const meshEntry = `  "mcp": { ${entry} }`;
  if (before.trim() === "") return `{\n${meshEntry}${EMPTY_FILE.slice(1)}`;
  const root = rootOf(before);
  const installed = memberAt(before, root, ["mcp", SERVER_NAME]);
  if (installed) {
    if (programIn(installed.value, plan)) return withCommand(before, plan);
    if (!plan.replace) throw new Unchangeable(foreignServer("mcp", installed.value));
    const text = JSON.stringify(serverOf(plan.mesh));
    return before.slice(0, installed.value_from) + text + before.slice(installed.value_to);
  }
  const servers = memberAt(before, root, ["mcp"]);
  if (!servers) return prepend(before, root.offset, meshEntry);
  if (!isObject(servers.value)) throw new Unchangeable('"mcp" is not an object: correct it');
  return prepend(before, servers.value_from, `    ${entry}`);
}

/** Replaces the command of our server. Other members belong to the user, so they stay. */
function withCommand(before: string, { mesh }: SetupPlan): string {
  const command = memberAt(before, rootOf(before), ["mcp", SERVER_NAME, "command"]);
  const next = JSON.stringify([...mesh, "mcp"]);
  if (!command || JSON.stringify(command.value) === next) return before;
  return before.slice(0, command.value_from) + next + before.slice(command.value_to);
}

/**
 * Removes our server, and restores another program's server that ours replaced. The result is empty
 * if we created the file and it holds only our server.
 */
export function removeServer(before: string, plan: SetupPlan, original = ""): string {
  if (before.trim() === "") return before;
  const root = rootOf(before);
  const servers = memberAt(before, root, ["mcp"]);
  const server = memberAt(before, root, ["mcp", SERVER_NAME]);
  if (!servers || !server || !programIn(server.value, plan)) return before;
  const replaced = original.trim() === ""
    ? undefined
    : memberAt(original, rootOf(original), ["mcp", SERVER_NAME]);
  if (replaced && !programIn(replaced.value, plan)) {
    const text = original.slice(replaced.value_from, replaced.value_to);
    return before.slice(0, server.value_from) + text + before.slice(server.value_to);
  }
  const isOnlyMember = before.slice(servers.value_from, server.from) === "{ " &&
    before.slice(server.to, servers.value_to) === " }";
  if (!isOnlyMember) return remove(before, servers.value_from, server);
  const rest = remove(before, root.offset, servers);
  return rest === EMPTY_FILE ? "" : rest;
}

function serverOf(mesh: Argv): Json {
  return { type: "local", command: [...mesh, "mcp"], enabled: true };
}

function serverIn(text: string): Json | undefined {
  return text.trim() === "" ? undefined : memberAt(text, rootOf(text), ["mcp", SERVER_NAME])?.value;
}

/** The program of our server; undefined for any other server. */
function programIn(server: Json | undefined, { programs }: SetupPlan): Argv | undefined {
  const program = programBefore([valueAt(server, "command")].flat());
  if (!program || programs.includes(program)) return program;
  const isOurForm = valueAt(server, "type") === "local" && programs.isFormer(program);
  return isOurForm ? program : undefined;
}

const FILES = ["config.json", "opencode.json", "opencode.jsonc"];

/** The settings of opencode (1.18.33) that keep our plugin or our MCP server from running. */
export function switchedOff(home: string, env: Env, files: ScopeReader): readonly SwitchedOff[] {
  const { cwd, json } = files;
  const folders = [home, cwd, `${cwd}/.opencode`];
  const own = env["OPENCODE_CONFIG"];
  const names = [
    ...folders.flatMap((folder) => FILES.map((name) => `${folder}/${name}`)),
    ...(own ? [own] : []),
  ];
  const pure = env["OPENCODE_PURE"] ?? "";
  const isPure = /^(1|true)$/i.test(pure);
  const pureSetting = `OPENCODE_PURE=${pure}, so that no plugin is loaded`;
  const enabled = `mcp.${SERVER_NAME}.enabled`;
  return [
    ...[...new Set(names)].flatMap((file) => {
      const settings = json(file);
      const isOff = valueAt(settings, "mcp", SERVER_NAME, "enabled") === false;
      const tools = Object.entries(valueAt(settings, "tools") ?? {});
      const [off] = tools.find(([name, value]) => value === false && TOOLS.test(name)) ?? [];
      return switchesIn(file, [
        [isOff, "MCP server", `${enabled}: false`, `set ${enabled} to true`],
        [off !== undefined, "MCP server", `tools["${off}"]: false`, `remove it from ${file}`],
      ]);
    }),
    ...switchesIn("the environment", [[isPure, "hooks", pureSetting, "unset OPENCODE_PURE"]]),
  ];
}

/** A pattern that covers all of our tools. */
const TOOLS = /^mesh_?\*$/;
