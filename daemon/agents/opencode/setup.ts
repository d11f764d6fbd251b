/** What `mesh setup` writes for opencode: the plugin, and our server among its MCP servers. Pure. */

import {
  type Edit,
  isObject,
  isThere,
  type Json,
  type SetupPlan,
  Unchangeable,
} from "../install.ts";
import { SERVER } from "../mcp_server.ts";
import { type Member, membersOf, prepend, remove, rootOf, valueOf } from "./jsonc.ts";
import plugin from "./plugin/generated/mesh.js" with { type: "text" };

/** What is left of a file that we have made; nobody else would write it so. */
const EMPTY = "{\n\n}\n";
/** How the plugin begins, in every version of it. */
const MARK = "/**\n * mesh's plugin for opencode";

/** `plugin/mesh.js`: one file, that finds the daemon by itself. */
export function installPlugin(before: string): string {
  if (before !== "" && !before.startsWith(MARK)) {
    throw new Unchangeable("plugin/mesh.js is another program's; remove or rename it first");
  }
  return plugin;
}

export function removePlugin(before: string): string {
  return before.startsWith(MARK) ? "" : before;
}

/** opencode merges all of its settings files: our server stands in one of those that exist. */
export function serverEdits(files: readonly string[], { mesh }: SetupPlan): readonly Edit[] {
  const there = files.filter(isThere);
  const settings = there.length > 0 ? there : files.slice(0, 1);
  return settings.map((path, at) => ({
    path,
    putText: (text) => at === 0 ? installServer(text, mesh) : removeServer(text),
    takeText: removeServer,
  }));
}

/**
 * `opencode.json` with our MCP server in front of all others; comments and layout stay. A file
 * that has no servers yet gets ours in one line, by which it is known that all of it is ours.
 */
export function installServer(before: string, mesh: readonly string[]): string {
  const entry = `"${SERVER}": ${JSON.stringify(serverOf(mesh))}`;
  const ours = `  "mcp": { ${entry} }`;
  if (before.trim() === "") return `{\n${ours}${EMPTY.slice(1)}`;
  if (found(before, "mcp", SERVER) && isCurrent(before, mesh)) return before;
  const bare = removeServer(before);
  if (found(bare, "mcp", SERVER)) {
    throw new Unchangeable(`mcp.${SERVER} is another program's; remove or rename it first`);
  }
  if (bare === "") return installServer(bare, mesh);
  const servers = found(bare, "mcp");
  if (!servers) return prepend(bare, rootOf(bare), ours);
  if (bare[servers.value_from] !== "{") throw new Unchangeable('"mcp" is not an object');
  return prepend(bare, servers.value_from, `    ${entry}`);
}

/** Without it; an empty text where nothing else is in the file that we have made. */
export function removeServer(before: string): string {
  if (before.trim() === "") return before;
  const servers = found(before, "mcp"), server = found(before, "mcp", SERVER);
  if (!servers || !server || !isOurs(valueOf(before, server))) return before;
  const alone = before.slice(servers.value_from, server.from) === "{ " &&
    before.slice(server.to, servers.value_to) === " }";
  if (!alone) return remove(before, servers.value_from, SERVER);
  const rest = remove(before, rootOf(before), "mcp");
  return rest === EMPTY ? "" : rest;
}

function serverOf(mesh: readonly string[]): Json {
  return { type: "local", command: [...mesh, "mcp"], enabled: true };
}

function isCurrent(text: string, mesh: readonly string[]): boolean {
  const server = found(text, "mcp", SERVER);
  const value = server && valueOf(text, server);
  return value !== undefined && JSON.stringify(value) === JSON.stringify(serverOf(mesh));
}

/** By its last word, wherever mesh was installed when it was written. */
function isOurs(server: Json): boolean {
  const command = isObject(server) ? server["command"] : undefined;
  return Array.isArray(command) && command.length > 1 && command.at(-1) === "mcp";
}

/** A member, by the way that leads to it. */
function found(text: string, ...keys: readonly string[]): Member | undefined {
  let open = rootOf(text);
  let member: Member | undefined;
  for (const key of keys) {
    if (text[open] !== "{") return undefined;
    member = membersOf(text, open).find((one) => one.key === key);
    if (!member) return undefined;
    open = member.value_from;
  }
  return member;
}
