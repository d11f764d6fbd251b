/** Our entries in Copilot CLI's files: put in, found again, taken out. Pure, on parsed JSON. */

import { DECISION_SECONDS_MAX } from "../hooks/groups.ts";
import { shellQuote, withHooks, withoutHooks } from "../hooks/settings.ts";
import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

/** None for each use of a tool but the one that may answer: what a tool does is in the records. */
const EVENTS = [
  "sessionStart",
  "userPromptSubmitted",
  "permissionRequest",
  "notification",
  "agentStop",
  "sessionEnd",
] as const;
/** Longer than `mesh hook` ever takes (1.5 s), should the machine be busy. */
const HOOK_SECONDS_MAX = 5;

/** `~/.copilot/settings.json` with our hooks; those of others stay, and stay where they are. */
export function installHooks(settings: JsonObject, plan: SetupPlan): JsonObject {
  const meshEntry = (event: string) => entryFor(event, plan);
  return withHooks(settings, { events: EVENTS, meshEntry, withoutMesh });
}

export function removeHooks(settings: JsonObject): JsonObject {
  return withoutHooks(settings, withoutMesh);
}

/** `~/.copilot/mcp-config.json` with our MCP server, and all of its tools. */
export function installMcp(config: JsonObject, plan: SetupPlan): JsonObject {
  return installServer(config, { type: "local", ...serverCommand(plan), tools: ["*"] });
}

export const removeMcp = removeServer;

/** The shell is the agent's child: nothing else in its environment says which process that is. */
function entryFor(event: string, { mesh }: SetupPlan): JsonObject {
  const invocation = [...mesh, "hook", "copilot", event].map(shellQuote).join(" ");
  const timeoutSec = event === "permissionRequest" ? DECISION_SECONDS_MAX : HOOK_SECONDS_MAX;
  return { type: "command", bash: `MESH_AGENT_PID=$PPID ${invocation}`, timeoutSec };
}

function withoutMesh(entry: Json): readonly Json[] {
  return isMeshHook(entry) ? [] : [entry];
}

/** By its last words, wherever mesh was installed when it was written. */
function isMeshHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["bash"] : undefined;
  return typeof command === "string" && / hook copilot [a-z][A-Za-z]+$/.test(command);
}
