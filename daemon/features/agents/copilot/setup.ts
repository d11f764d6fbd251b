/** Adds and removes our entries in Copilot CLI's files. Works on parsed JSON, without I/O. */

import { DECISION_SECONDS_MAX } from "../hooks/groups.ts";
import { shellQuote, withHooks, withoutHooks } from "../hooks/settings.ts";
import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

/**
 * The events with a hook. Of the events for each tool call, only the one that can answer is used,
 * because the session records show the tool calls.
 */
const EVENTS = [
  "sessionStart",
  "userPromptSubmitted",
  "permissionRequest",
  "notification",
  "agentStop",
  "sessionEnd",
] as const;
/**
 * The time limit of a hook. It is more than `mesh hook` ever takes (1.5 s), in case the machine is
 * busy.
 */
const HOOK_SECONDS_MAX = 5;

/** Adds our hooks to `~/.copilot/settings.json`. The hooks of others keep their places. */
export function installHooks(settings: JsonObject, plan: SetupPlan): JsonObject {
  const meshEntry = (event: string) => entryFor(event, plan);
  return withHooks(settings, { events: EVENTS, meshEntry, withoutMesh });
}

export function removeHooks(settings: JsonObject): JsonObject {
  return withoutHooks(settings, withoutMesh);
}

/** Adds our MCP server, with all of its tools, to `~/.copilot/mcp-config.json`. */
export function installMcp(config: JsonObject, plan: SetupPlan): JsonObject {
  return installServer(config, { type: "local", ...serverCommand(plan), tools: ["*"] });
}

export const removeMcp = removeServer;

/**
 * A hook's entry. The command passes on its shell's parent pid, because the shell is a child of the
 * agent and no variable holds the agent's pid.
 */
function entryFor(event: string, { mesh }: SetupPlan): JsonObject {
  const invocation = [...mesh, "hook", "copilot", event].map(shellQuote).join(" ");
  const timeoutSec = event === "permissionRequest" ? DECISION_SECONDS_MAX : HOOK_SECONDS_MAX;
  return { type: "command", bash: `MESH_AGENT_PID=$PPID ${invocation}`, timeoutSec };
}

function withoutMesh(entry: Json): readonly Json[] {
  return isMeshHook(entry) ? [] : [entry];
}

/**
 * Recognizes our hook by the last words of its command, because mesh may have been installed in
 * another place at the time.
 */
function isMeshHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["bash"] : undefined;
  return typeof command === "string" && / hook copilot [a-z][A-Za-z]+$/.test(command);
}
