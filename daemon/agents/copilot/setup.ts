/** Our entries in Copilot CLI's files: put in, found again, taken out. Pure, on parsed JSON. */

import {
  listAt,
  objectAt,
  quoted,
  same,
  type SetupPlan,
  startOf,
  withMember,
  withServer,
} from "../claude_code/setup.ts";
import { isObject, type Json, type JsonObject } from "../install.ts";

/** None for each use of a tool but the one that may answer: what a tool does is in the records. */
const EVENTS = [
  "sessionStart",
  "userPromptSubmitted",
  "permissionRequest",
  "notification",
  "agentStop",
  "sessionEnd",
] as const;
/** Longer than `mesh hook` ever takes (1.5 s), should the machine be busy. */
const HOOK_SECONDS_MAX = 5;
/** A gated tool is held as long as the human may think: an hour at most (contract 8). */
const HELD_SECONDS_MAX = 3_660;

/** `~/.copilot/settings.json` with our hooks; those of others stay, and stay where they are. */
export function installHooks(settings: JsonObject, plan: SetupPlan): JsonObject {
  const hooks = { ...objectAt(settings, "hooks") };
  for (const event of EVENTS) {
    const entries = listAt(hooks, event, "hooks.");
    const ours = entryFor(event, plan);
    const others = entries.filter((entry) => !isOurHook(entry));
    const isThere = entries.some((entry) => same(entry, ours)) &&
      others.length === entries.length - 1;
    hooks[event] = isThere ? entries : [...others, ours];
  }
  return { ...settings, hooks };
}

export function removeHooks(settings: JsonObject): JsonObject {
  const hooks = objectAt(settings, "hooks");
  const kept = Object.entries(hooks).flatMap(([event, entries]): [string, Json][] => {
    if (!Array.isArray(entries) || !entries.some(isOurHook)) return [[event, entries]];
    const others = entries.filter((entry) => !isOurHook(entry));
    return others.length > 0 ? [[event, others]] : [];
  });
  const rest = Object.fromEntries(kept);
  return same(rest, hooks) ? settings : withMember(settings, "hooks", rest);
}

/** `~/.copilot/mcp-config.json` with our MCP server, and all of its tools. */
export function installMcp(config: JsonObject, plan: SetupPlan): JsonObject {
  return withServer(config, { type: "local", ...startOf(plan), tools: ["*"] });
}

/** The shell is the agent's child: nothing else in its environment says which process that is. */
function entryFor(event: (typeof EVENTS)[number], { mesh }: SetupPlan): JsonObject {
  const words = [...mesh, "hook", "copilot", event].map(quoted).join(" ");
  const timeoutSec = event === "permissionRequest" ? HELD_SECONDS_MAX : HOOK_SECONDS_MAX;
  return { type: "command", bash: `MESH_AGENT_PID=$PPID ${words}`, timeoutSec };
}

/** By its last words, wherever mesh was installed when it was written. */
function isOurHook(entry: Json): boolean {
  const command = isObject(entry) ? entry["bash"] : undefined;
  return typeof command === "string" && / hook copilot [a-z][A-Za-z]+$/.test(command);
}
