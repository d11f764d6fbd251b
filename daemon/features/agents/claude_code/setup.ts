/** Our entries in Claude Code's settings: hooks and an MCP server. Pure, on parsed JSON. */

import * as groups from "../hooks/groups.ts";
import type { JsonObject, SetupPlan } from "../install.ts";
import * as server from "../mcp_server_entry.ts";

/**
 * Every hook is a command: an `http` hook shows an error at each prompt while the daemon is down.
 * A session may be idle after a start or a stop: then a hook waits to wake it. That hook ends by
 * itself, unless its session is idle for days and has no better transport.
 */
const HOOKS: groups.AgentHooks = {
  agent: "claude-code",
  events: [
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "Notification",
    "PermissionRequest",
    "SessionEnd",
  ],
  seconds_max: 5,
  held: { PermissionRequest: groups.DECISION_SECONDS_MAX },
  wake: { events: ["SessionStart", "Stop"], seconds_max: 7 * 86_400 },
};

/** `~/.claude/settings.json` with our hooks; those of others stay, and stay where they are. */
export function installHooks(settings: JsonObject, plan: SetupPlan): JsonObject {
  return groups.installHooks(settings, plan, HOOKS);
}

export function removeHooks(settings: JsonObject): JsonObject {
  return groups.removeHooks(settings, HOOKS);
}

/** `~/.claude.json` with our MCP server, whose tools are not hidden behind a search. */
export function installMcp(settings: JsonObject, plan: SetupPlan): JsonObject {
  const meshEntry = { type: "stdio", ...server.serverCommand(plan), alwaysLoad: true };
  return server.installServer(settings, meshEntry);
}

export const removeMcp = server.removeServer;
