/**
 * Adds and removes our entries in Claude Code's settings: hooks and an MCP server. Works on parsed
 * JSON, without I/O.
 */

import { DECISION_SECONDS_MAX, meshHooks } from "../hooks/settings.ts";
import type { SetupPlan } from "../install.ts";
import type { JsonObject } from "../settings_files/json.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

/** The time limit of a hook. It must be more than `mesh hook` takes (1.5 s). */
const HOOK_SECONDS_MAX = 5;
const WAKE_SECONDS_MAX = 7 * 86_400;

/**
 * Our hooks in `~/.claude/settings.json`. Every hook is a command, because an `http` hook shows an
 * error at each prompt while the daemon is down. After a start or a stop the session may be idle,
 * so a second hook waits to wake it. The waiting hook ends by itself, unless its session stays idle
 * for days without a better transport.
 */
export const { install: installHooks, remove: removeHooks } = meshHooks({
  agent: "claude-code",
  events: [
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "StopFailure",
    "Notification",
    "PermissionRequest",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
  ],
  guarded_events: ["PostToolBatch"],
  entry(event, command) {
    const timeout = event === "PermissionRequest" ? DECISION_SECONDS_MAX : HOOK_SECONDS_MAX;
    const report = { type: "command", command: command(event), timeout };
    if (event !== "SessionStart" && event !== "Stop") return { hooks: [report] };
    const wait = { type: "command", command: command("Wake"), timeout: WAKE_SECONDS_MAX };
    return { hooks: [report, { ...wait, asyncRewake: true }] };
  },
});

/** Adds our MCP server to `~/.claude.json`; `alwaysLoad` keeps its tools out of the tool search. */
export function installMcp(settings: JsonObject, plan: SetupPlan): JsonObject {
  return installServer(settings, { type: "stdio", ...serverCommand(plan), alwaysLoad: true });
}

export const removeMcp = removeServer;
