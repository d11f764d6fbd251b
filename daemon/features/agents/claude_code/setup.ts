/**
 * Adds and removes our entries in Claude Code's settings: hooks and an MCP server. Works on parsed
 * JSON, without I/O.
 */

import * as groups from "../hooks/groups.ts";
import type { JsonObject, SetupPlan } from "../install.ts";
import * as server from "../mcp_server_entry.ts";

/**
 * Every hook is a command, because an `http` hook shows an error at each prompt while the daemon is
 * down. After a start or a stop the session may be idle, so a second hook waits to wake it. The
 * waiting hook ends by itself, unless its session stays idle for days without a better transport.
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

/** Adds our hooks to `~/.claude/settings.json`. The hooks of others keep their places. */
export function installHooks(settings: JsonObject, plan: SetupPlan): JsonObject {
  return groups.installHooks(settings, plan, HOOKS);
}

export function removeHooks(settings: JsonObject): JsonObject {
  return groups.removeHooks(settings, HOOKS);
}

/** Adds our MCP server to `~/.claude.json`; `alwaysLoad` keeps its tools out of the tool search. */
export function installMcp(settings: JsonObject, plan: SetupPlan): JsonObject {
  const meshEntry = { type: "stdio", ...server.serverCommand(plan), alwaysLoad: true };
  return server.installServer(settings, meshEntry);
}

export const removeMcp = server.removeServer;
