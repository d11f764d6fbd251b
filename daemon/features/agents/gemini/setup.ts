/** Adds and removes our entries in Gemini CLI's settings. Works on parsed JSON, without I/O. */

import { meshHooks } from "../hooks/settings.ts";
import type { SetupPlan } from "../install.ts";
import type { JsonObject } from "../settings_files/json.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

/**
 * The time limit of a hook. It is more than `mesh hook` ever takes (1.5 s), in case the machine is
 * busy.
 */
const HOOK_MS_MAX = 5_000;

/**
 * The command of a hook passes on its shell's parent pid, because the shell is a child of the agent
 * and no variable holds the agent's pid.
 */
const hooks = meshHooks({
  agent: "gemini",
  events: [
    "SessionStart",
    "BeforeAgent",
    "BeforeModel", // Names the model, and shows that a dialog has ended.
    "AfterAgent",
    "Notification",
    "SessionEnd",
  ],
  guarded_events: ["AfterTool"],
  variables: "MESH_AGENT_PID=$PPID",
  entry(event, commandOf) {
    const command = commandOf(event);
    return { hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }] };
  },
});

/** Adds our hooks and tools to `~/.gemini/settings.json`. The hooks of others keep their places. */
export function install(settings: JsonObject, plan: SetupPlan): JsonObject {
  // Our server is trusted, because a dialog at each message of a peer would stop the agent.
  return installServer(hooks.install(settings, plan), { ...serverCommand(plan), trust: true });
}

export function remove(settings: JsonObject): JsonObject {
  return removeServer(hooks.remove(settings));
}
