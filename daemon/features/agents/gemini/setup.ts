/** Adds, finds and removes our entries in Gemini CLI's settings. */

import { MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { meshServer } from "../mcp_server_entry.ts";

/**
 * The time limit of a hook. It is more than `mesh hook` ever takes (1.5 s), in case the machine is
 * busy.
 */
const HOOK_MS_MAX = 5_000;

/**
 * The command of a hook passes on its shell's parent pid, because the shell is a child of the agent
 * and no variable holds the agent's pid.
 */
export const hooks = new MeshHooks({
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

/**
 * Our server is trusted, because otherwise a dialog at each peer's message would stop the agent.
 */
export const server = meshServer({ trust: true });

/** Our hooks and tools in `~/.gemini/settings.json`. The hooks of others keep their places. */
export function edits(path: string, plan: SetupPlan): readonly Edit[] {
  return [{
    path,
    format: "json",
    add: (settings) => server.install(hooks.install(settings, plan), plan),
    remove: (settings, original) => server.remove(hooks.remove(settings, plan), plan, original),
    learn: (settings) => hooks.learn(settings, plan),
    find: (settings) => ({
      hooks: hooks.find(settings, plan),
      servers: server.find(settings, plan),
    }),
  }];
}
