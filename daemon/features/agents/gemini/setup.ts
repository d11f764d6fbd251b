/** Adds and removes our entries in Gemini CLI's settings. Works on parsed JSON, without I/O. */

import { groupsWithout, shellQuote, withHooks, withoutHooks } from "../hooks/settings.ts";
import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

const EVENTS = [
  "SessionStart",
  "BeforeAgent",
  "BeforeModel", // Names the model, and shows that a dialog has ended.
  "AfterAgent",
  "Notification",
  "SessionEnd",
] as const;
/**
 * The time limit of a hook. It is more than `mesh hook` ever takes (1.5 s), in case the machine is
 * busy.
 */
const HOOK_MS_MAX = 5_000;

/** Adds our hooks and tools to `~/.gemini/settings.json`. The hooks of others keep their places. */
export function install(settings: JsonObject, plan: SetupPlan): JsonObject {
  const meshEntry = (event: string) => groupFor(event, plan);
  const withMeshHooks = withHooks(settings, { events: EVENTS, meshEntry, withoutMesh });
  // Our server is trusted, because a dialog at each message of a peer would stop the agent.
  return installServer(withMeshHooks, { ...serverCommand(plan), trust: true });
}

export function remove(settings: JsonObject): JsonObject {
  return removeServer(withoutHooks(settings, withoutMesh));
}

/**
 * A hook's group. The command passes on its shell's parent pid, because the shell is a child of the
 * agent and no variable holds the agent's pid.
 */
function groupFor(event: string, { mesh }: SetupPlan): JsonObject {
  const invocation = [...mesh, "hook", "gemini", event].map(shellQuote).join(" ");
  const command = `MESH_AGENT_PID=$PPID ${invocation}`;
  return { hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }] };
}

const withoutMesh = groupsWithout(isMeshHook);

/**
 * Recognizes our hook by the last words of its command, because mesh may have been installed in
 * another place at the time.
 */
function isMeshHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  return typeof command === "string" && / hook gemini [A-Z][A-Za-z]+$/.test(command);
}
