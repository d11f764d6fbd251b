/** What `mesh setup` writes for opencode: the plugin, and our entry in opencode's MCP servers. */

import { type Edit, exists, type SetupPlan } from "../install.ts";
import { isObject, type Json, Unchangeable } from "../settings_files/json.ts";
import { SERVER_NAME } from "../mcp_server_entry.ts";
import { memberAt, prepend, remove, rootOf } from "../settings_files/jsonc.ts";
import plugin from "./plugin/generated/mesh.js" with { type: "text" };

/**
 * What is left of a file that we created when our entry is removed. No other program writes an
 * empty file this way.
 */
const EMPTY_FILE = "{\n\n}\n";
/** The first bytes of the plugin, in every version of it. */
const PLUGIN_HEADER = "/**\n * mesh's plugin for opencode";

/** The content of `plugin/mesh.js`, a single file that finds the daemon by itself. */
export function installPlugin(before: string): string {
  if (before !== "" && !before.startsWith(PLUGIN_HEADER)) {
    throw new Unchangeable("plugin/mesh.js belongs to another program: remove or rename it first");
  }
  return plugin;
}

export function removePlugin(before: string): string {
  return before.startsWith(PLUGIN_HEADER) ? "" : before;
}

/**
 * opencode merges all of its settings files, so one of the existing files gets our server and the
 * others lose it.
 */
export function serverEdits(files: readonly string[], { mesh }: SetupPlan): readonly Edit[] {
  const existing = files.filter(exists);
  const settings = existing.length > 0 ? existing : files.slice(0, 1);
  return settings.map((path, at) => ({
    path,
    addText: (text) => at === 0 ? installServer(text, mesh) : removeServer(text),
    removeText: removeServer,
  }));
}

/**
 * Adds our MCP server to `opencode.json` before all others; comments and layout stay. A file that
 * has no servers yet gets ours on one line, which marks the whole member as ours.
 */
export function installServer(before: string, mesh: readonly string[]): string {
  const entry = `"${SERVER_NAME}": ${JSON.stringify(serverOf(mesh))}`;
  const meshEntry = `  "mcp": { ${entry} }`;
  if (before.trim() === "") return `{\n${meshEntry}${EMPTY_FILE.slice(1)}`;
  const installed = memberAt(before, rootOf(before), ["mcp", SERVER_NAME]);
  if (installed && JSON.stringify(installed.value) === JSON.stringify(serverOf(mesh))) {
    return before;
  }
  const withoutServer = removeServer(before);
  if (withoutServer === "") return installServer(withoutServer, mesh);
  const root = rootOf(withoutServer);
  if (memberAt(withoutServer, root, ["mcp", SERVER_NAME])) {
    throw new Unchangeable(
      `mcp.${SERVER_NAME} belongs to another program: remove or rename it first`,
    );
  }
  const servers = memberAt(withoutServer, root, ["mcp"]);
  if (!servers) return prepend(withoutServer, root.offset, meshEntry);
  if (!isObject(servers.value)) throw new Unchangeable('"mcp" is not an object');
  return prepend(withoutServer, servers.value_from, `    ${entry}`);
}

/** Removes our server. The result is empty if we created the file and it holds nothing else. */
export function removeServer(before: string): string {
  if (before.trim() === "") return before;
  const root = rootOf(before);
  const servers = memberAt(before, root, ["mcp"]);
  const server = memberAt(before, root, ["mcp", SERVER_NAME]);
  if (!servers || !server || !isMeshServer(server.value)) return before;
  const isOnlyMember = before.slice(servers.value_from, server.from) === "{ " &&
    before.slice(server.to, servers.value_to) === " }";
  if (!isOnlyMember) return remove(before, servers.value_from, server);
  const rest = remove(before, root.offset, servers);
  return rest === EMPTY_FILE ? "" : rest;
}

function serverOf(mesh: readonly string[]): Json {
  return { type: "local", command: [...mesh, "mcp"], enabled: true };
}

/**
 * Recognizes our server by its last argument, because mesh may have been installed in another place
 * at the time.
 */
function isMeshServer(server: Json): boolean {
  const command = isObject(server) ? server["command"] : undefined;
  return Array.isArray(command) && command.length > 1 && command.at(-1) === "mcp";
}
