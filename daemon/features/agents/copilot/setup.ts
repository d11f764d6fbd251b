/** Adds, finds and removes our entries in Copilot CLI's files, and finds what switches them off. */

import { DECISION_SECONDS_MAX, MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { type AgentFiles, jsonEdit, meshServer, SERVER_NAME } from "../mcp_server_entry.ts";
import { type ScopeReader, type SwitchedOff, switchesIn } from "../settings_files/switched_off.ts";

/** The time limit of a hook, for a busy machine: `mesh hook` takes at most 1.5 s. */
const HOOK_SECONDS_MAX = 5;

/**
 * Our hooks in `~/.copilot/settings.json`. Of the events for each tool call, only those that can
 * answer are used, because the session records show the tool calls. The command passes on its
 * shell's parent pid, because the shell is a child of the agent and no variable holds its pid.
 */
export const hooks = new MeshHooks({
  agent: "copilot",
  events: [
    "sessionStart",
    "preCompact",
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

/** Our MCP server in `~/.copilot/mcp-config.json`, with all of its tools. */
export const server = meshServer({ type: "local", tools: ["*"] });

export function edits(files: AgentFiles, plan: SetupPlan): readonly Edit[] {
  return [jsonEdit(files.hooks, plan, { hooks }), jsonEdit(files.server, plan, { server })];
}

/** The settings of Copilot CLI (1.0.102) that keep our hooks or our MCP server from running. */
export function switchedOff(home: string, { cwd, json }: ScopeReader): readonly SwitchedOff[] {
  const names = [
    `${home}/settings.json`,
    `${home}/config.json`,
    `${cwd}/.github/copilot/settings.json`,
    `${cwd}/.github/copilot/settings.local.json`,
  ];
  const serverOff = `disabledMcpServers with "${SERVER_NAME}"`;
  const enableServer = `enable ${SERVER_NAME} with /mcp in Copilot CLI`;
  return names.flatMap((file) => {
    const { disableAllHooks, disabledMcpServers: disabled } = json(file) ?? {};
    const hasServer = Array.isArray(disabled) && disabled.includes(SERVER_NAME);
    return switchesIn(file, [
      [disableAllHooks === true, "hooks", "disableAllHooks: true", `remove it from ${file}`],
      [hasServer, "MCP server", serverOff, enableServer],
    ]);
  });
}
