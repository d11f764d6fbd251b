/** Our entries in Gemini CLI's settings: put in, found again, taken out. Pure, on parsed JSON. */

import {
  listAt,
  objectAt,
  quoted,
  removeMcp,
  same,
  type SetupPlan,
  startOf,
  withMember,
  withServer,
} from "../claude_code/setup.ts";
import { isObject, type Json, type JsonObject } from "../install.ts";

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
  const hooks = { ...objectAt(settings, "hooks") };
  for (const event of EVENTS) {
    const groups = listAt(hooks, event, "hooks.");
    const ours = groupFor(event, plan);
    const kept = groups.flatMap(withoutOurs);
    const isThere = groups.some((group) => same(group, ours)) && kept.length === groups.length - 1;
    hooks[event] = isThere ? groups : [...kept, ours];
  }
  // Trusted: a dialog at each message of a peer would help nobody.
  return withServer({ ...settings, hooks }, { ...startOf(plan), trust: true });
}

export function remove(settings: JsonObject): JsonObject {
  return removeMcp(withoutHooks(settings));
}

function withoutHooks(settings: JsonObject): JsonObject {
  const hooks = objectAt(settings, "hooks");
  const kept = Object.entries(hooks).flatMap(([event, groups]): [string, Json][] => {
    if (!Array.isArray(groups) || groups.every((group) => withoutOurs(group)[0] === group)) {
      return [[event, groups]];
    }
    const others = groups.flatMap(withoutOurs);
    return others.length > 0 ? [[event, others]] : [];
  });
  const rest = Object.fromEntries(kept);
  return same(rest, hooks) ? settings : withMember(settings, "hooks", rest);
}

/** The shell is the agent's child: nothing else in its environment says which process that is. */
function groupFor(event: string, { mesh }: SetupPlan): JsonObject {
  const words = [...mesh, "hook", "gemini", event].map(quoted).join(" ");
  const command = `MESH_AGENT_PID=$PPID ${words}`;
  return { hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }] };
}

/** The group as it is, what others have in it, or nothing when it was all ours. */
function withoutOurs(group: Json): readonly Json[] {
  const entries = isObject(group) ? group["hooks"] : undefined;
  if (!isObject(group) || !Array.isArray(entries) || !entries.some(isOurHook)) return [group];
  const others = entries.filter((entry) => !isOurHook(entry));
  return others.length > 0 ? [{ ...group, hooks: others }] : [];
}

/** By its last words, wherever mesh was installed when it was written. */
function isOurHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  return typeof command === "string" && / hook gemini [A-Z][A-Za-z]+$/.test(command);
}
