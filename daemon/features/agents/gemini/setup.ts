/** Our entries in Gemini CLI's settings: put in, found again, taken out. Pure, on parsed JSON. */

import { groupsWithout, shellQuote, withHooks, withoutHooks } from "../hooks/settings.ts";
import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server_entry.ts";

const EVENTS = [
  "SessionStart",
  "BeforeAgent",
  "BeforeModel", // Names the model, and tells that a dialog is past.
  "AfterAgent",
  "Notification",
  "SessionEnd",
] as const;
/** Longer than `mesh hook` ever takes (1.5 s), should the machine be busy. */
const HOOK_MS_MAX = 5_000;

/** `~/.gemini/settings.json` with our hooks and tools; those of others stay where they are. */
export function install(settings: JsonObject, plan: SetupPlan): JsonObject {
  const meshEntry = (event: string) => groupFor(event, plan);
  const withMeshHooks = withHooks(settings, { events: EVENTS, meshEntry, withoutMesh });
  // Trusted: a dialog at each message of a peer would help nobody.
  return installServer(withMeshHooks, { ...serverCommand(plan), trust: true });
}

export function remove(settings: JsonObject): JsonObject {
  return removeServer(withoutHooks(settings, withoutMesh));
}

/** The shell is the agent's child: nothing else in its environment says which process that is. */
function groupFor(event: string, { mesh }: SetupPlan): JsonObject {
  const invocation = [...mesh, "hook", "gemini", event].map(shellQuote).join(" ");
  const command = `MESH_AGENT_PID=$PPID ${invocation}`;
  return { hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }] };
}

const withoutMesh = groupsWithout(isMeshHook);

/** By its last words, wherever mesh was installed when it was written. */
function isMeshHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  return typeof command === "string" && / hook gemini [A-Z][A-Za-z]+$/.test(command);
}
