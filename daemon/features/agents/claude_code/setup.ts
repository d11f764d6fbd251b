/** Adds, finds and removes our entries in Claude Code's settings: hooks and an MCP server. */

import { DECISION_SECONDS_MAX, MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { type AgentFiles, editsOf, meshServer } from "../mcp_server_entry.ts";

/** The time limit of a hook. It must exceed the 1.5 s of `mesh hook`. */
const HOOK_SECONDS_MAX = 5;
const WAKE_SECONDS_MAX = 7 * 86_400;

/**
 * Our hooks in `~/.claude/settings.json`. Every hook is a command, because an `http` hook shows an
 * error at each prompt while the daemon is down. After a start or a stop the session may be idle,
 * so a second hook waits to wake it. The waiting hook ends by itself, unless its session stays idle
 * for days without a better transport.
 */
export const hooks = new MeshHooks({
  agent: "claude-code",
  own_event: "Wake",
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

/** Our MCP server in `~/.claude.json`; `alwaysLoad` keeps its tools out of the tool search. */
export const server = meshServer({ type: "stdio", alwaysLoad: true });

export function edits(files: AgentFiles, plan: SetupPlan): readonly Edit[] {
  return editsOf(files, { hooks, server }, plan);
}
