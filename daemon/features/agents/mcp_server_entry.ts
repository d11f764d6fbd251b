/** Adds, recognizes and removes our MCP server in the `mcpServers` of an agent's settings. */

import { objectAt, withMember } from "./hooks/settings.ts";
import type { SetupPlan } from "./install.ts";
import { isObject, type Json, type JsonObject, Unchangeable } from "./settings_files/json.ts";

/** The name under which agents see our tools, e.g. `mcp__mesh__ask`. */
export const SERVER_NAME = "mesh";

/** The command that starts our MCP server, in the form that most agents use. */
export function serverCommand({ mesh: [command = "", ...args] }: SetupPlan) {
  return { command, args: [...args, "mcp"] };
}

/** Adds our MCP server to settings; keeps the servers of others. */
export function installServer(settings: JsonObject, meshEntry: JsonObject): JsonObject {
  const servers = objectAt(settings, "mcpServers");
  const found = servers[SERVER_NAME];
  if (found !== undefined && !isMeshServer(found)) {
    throw new Unchangeable(
      `mcpServers.${SERVER_NAME} belongs to another program: remove or rename it first`,
    );
  }
  return { ...settings, mcpServers: { ...servers, [SERVER_NAME]: meshEntry } };
}

export function removeServer(settings: JsonObject): JsonObject {
  const { [SERVER_NAME]: found, ...others } = objectAt(settings, "mcpServers");
  if (found === undefined || !isMeshServer(found)) return settings;
  return withMember(settings, "mcpServers", others);
}

/**
 * Recognizes our server by its last argument, because mesh may have been installed in another place
 * at the time.
 */
function isMeshServer(server: Json): boolean {
  const args = isObject(server) ? server["args"] : undefined;
  return Array.isArray(args) && args.at(-1) === "mcp";
}
