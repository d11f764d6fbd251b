/** Our MCP server among the `mcpServers` of an agent's settings: put in, found again, taken out. */

import { objectAt, withMember } from "./hooks/settings.ts";
import { isObject, type Json, type JsonObject, type SetupPlan, Unchangeable } from "./install.ts";

/** The name under which agents see our tools, e.g. `mcp__mesh__ask`. */
export const SERVER = "mesh";

/** The command that starts our MCP server, as most agents' settings have it. */
export function serverCommand({ mesh: [command = "", ...words] }: SetupPlan) {
  return { command, args: [...words, "mcp"] };
}

/** Settings with our MCP server; those of others stay. */
export function installServer(settings: JsonObject, ours: JsonObject): JsonObject {
  const servers = objectAt(settings, "mcpServers");
  const found = servers[SERVER];
  if (found !== undefined && !isOurServer(found)) {
    throw new Unchangeable(`mcpServers.${SERVER} is another program's; remove or rename it first`);
  }
  return { ...settings, mcpServers: { ...servers, [SERVER]: ours } };
}

export function removeServer(settings: JsonObject): JsonObject {
  const { [SERVER]: found, ...others } = objectAt(settings, "mcpServers");
  if (found === undefined || !isOurServer(found)) return settings;
  return withMember(settings, "mcpServers", others);
}

/** Known by its last word, wherever mesh was installed when it was written. */
function isOurServer(server: Json): boolean {
  const args = isObject(server) ? server["args"] : undefined;
  return Array.isArray(args) && args.at(-1) === "mcp";
}
