/** Adds and removes our entries in Copilot CLI's files. Works on parsed JSON, without I/O. */

import { DECISION_SECONDS_MAX, meshHooks } from "../hooks/settings.ts";
import type { SetupPlan } from "../install.ts";
import type { JsonObject } from "../settings_files/json.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

/**
 * The time limit of a hook. It is more than `mesh hook` ever takes (1.5 s), in case the machine is
 * busy.
 */
const HOOK_SECONDS_MAX = 5;

/**
 * Our hooks in `~/.copilot/settings.json`. Of the events for each tool call, only those that can
 * answer are used, because the session records show the tool calls. The command passes on its
 * shell's parent pid, because the shell is a child of the agent and no variable holds its pid.
 */
export const { install: installHooks, remove: removeHooks } = meshHooks({
  agent: "copilot",
  events: [
    "sessionStart",
    "userPromptSubmitted",
    "permissionRequest",
    "notification",
    "agentStop",
    "subagentStart",
    "subagentStop",
    "sessionEnd",
  ],
  guarded_events: ["postToolUse"],
  variables: "MESH_AGENT_PID=$PPID",
  command_key: "bash",
  entry(event, command) {
    const timeoutSec = event === "permissionRequest" ? DECISION_SECONDS_MAX : HOOK_SECONDS_MAX;
    return { type: "command", bash: command(event), timeoutSec };
  },
});

/** Adds our MCP server, with all of its tools, to `~/.copilot/mcp-config.json`. */
export function installMcp(config: JsonObject, plan: SetupPlan): JsonObject {
  return installServer(config, { type: "local", ...serverCommand(plan), tools: ["*"] });
}

export const removeMcp = removeServer;
