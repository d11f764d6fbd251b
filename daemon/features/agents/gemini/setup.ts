/** Our entries in Gemini CLI's settings: put in, found again, taken out. Pure, on parsed JSON. */

import { groupsWithout, quoted, withHooks, withoutHooks } from "../hooks/settings.ts";
import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { installServer, removeServer, serverCommand } from "../mcp_server.ts";

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
  const ours = (event: string) => groupFor(event, plan);
  const hooked = withHooks(settings, { events: EVENTS, ours, withoutOurs });
  // Trusted: a dialog at each message of a peer would help nobody.
  return installServer(hooked, { ...serverCommand(plan), trust: true });
}

export function remove(settings: JsonObject): JsonObject {
  return removeServer(withoutHooks(settings, withoutOurs));
}

/** The shell is the agent's child: nothing else in its environment says which process that is. */
function groupFor(event: string, { mesh }: SetupPlan): JsonObject {
  const words = [...mesh, "hook", "gemini", event].map(quoted).join(" ");
  const command = `MESH_AGENT_PID=$PPID ${words}`;
  return { hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }] };
}

const withoutOurs = groupsWithout(isOurHook);

/** By its last words, wherever mesh was installed when it was written. */
function isOurHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  return typeof command === "string" && / hook gemini [A-Z][A-Za-z]+$/.test(command);
}
