/** Our entries in Claude Code's settings: put in, found again, taken out. Pure, on parsed JSON. */

import {
  groupsWithout,
  objectAt,
  quoted,
  withHooks,
  withMember,
  withoutHooks,
} from "../hooks/settings.ts";
import { isObject, type Json, type JsonObject, Unchangeable } from "../install.ts";

/** Every hook is a command: an `http` hook shows an error at each prompt while the daemon is down. */
const EVENTS = [
  "SessionStart",
  "UserPromptSubmit",
  "Stop",
  "Notification",
  "PermissionRequest",
  "SessionEnd",
] as const;
/** Longer than `mesh hook` ever takes (1.5 s), should the machine be busy. */
const HOOK_SECONDS_MAX = 5;
/** A gated tool is held as long as the human may think: an hour at most (contract 8). */
export const HELD_SECONDS_MAX = 3_660;
/** After these a session may be idle: a hook of ours then waits, in the background, to wake it. */
const WAKING_EVENTS = ["SessionStart", "Stop"] as const;
/** It ends by itself long before, unless its session is idle for days and has no better way. */
const WAKING_SECONDS_MAX = 7 * 86_400;
/** The name under which agents see our tools, e.g. `mcp__mesh__ask`. */
const SERVER = "mesh";

export interface SetupPlan {
  /** The words that run mesh; absolute, because an agent's PATH may be any. */
  readonly mesh: readonly string[];
}

/** Whose hooks they are, and which: Codex has the same format. */
export interface HookKind {
  readonly agent: string;
  readonly events: readonly string[];
  readonly seconds_max: number;
  /** The events that may be held for longer. */
  readonly held?: { readonly [event: string]: number };
  /** The events after which a hook waits to wake the session; Claude Code alone can be woken. */
  readonly waking?: readonly string[];
}

const CLAUDE_CODE: HookKind = {
  agent: "claude-code",
  events: EVENTS,
  seconds_max: HOOK_SECONDS_MAX,
  held: { PermissionRequest: HELD_SECONDS_MAX },
  waking: WAKING_EVENTS,
};

/** `~/.claude/settings.json` with our hooks; those of others stay, and stay where they are. */
export function installHooks(
  settings: JsonObject,
  plan: SetupPlan,
  kind = CLAUDE_CODE,
): JsonObject {
  const ours = (event: string) => groupFor(kind, event, plan);
  return withHooks(settings, { events: kind.events, ours, withoutOurs: withoutOurs(kind) });
}

export function removeHooks(settings: JsonObject, kind = CLAUDE_CODE): JsonObject {
  return withoutHooks(settings, withoutOurs(kind));
}

/** `~/.claude.json` with our MCP server, whose tools are not hidden behind a search. */
export function installMcp(claude_json: JsonObject, plan: SetupPlan): JsonObject {
  return withServer(claude_json, { type: "stdio", ...startOf(plan), alwaysLoad: true });
}

/** The words that start our MCP server, as most agents' settings have them. */
export function startOf({ mesh: [command = "", ...words] }: SetupPlan) {
  return { command, args: [...words, "mcp"] };
}

/** Settings with our MCP server among those of others. */
export function withServer(settings: JsonObject, ours: JsonObject): JsonObject {
  const servers = objectAt(settings, "mcpServers");
  const found = servers[SERVER];
  if (found !== undefined && !isOurServer(found)) {
    throw new Unchangeable(`mcpServers.${SERVER} is another program's; remove or rename it first`);
  }
  return { ...settings, mcpServers: { ...servers, [SERVER]: ours } };
}

export function removeMcp(settings: JsonObject): JsonObject {
  const { [SERVER]: found, ...others } = objectAt(settings, "mcpServers");
  if (found === undefined || !isOurServer(found)) return settings;
  return withMember(settings, "mcpServers", others);
}

function groupFor(kind: HookKind, event: string, plan: SetupPlan): JsonObject {
  const { agent, seconds_max, held = {}, waking = [] } = kind;
  const command = (name: string) => [...plan.mesh, "hook", agent, name].map(quoted).join(" ");
  const told = { type: "command", command: command(event), timeout: held[event] ?? seconds_max };
  if (!waking.includes(event)) return { hooks: [told] };
  const waits = { type: "command", command: command("Wake"), timeout: WAKING_SECONDS_MAX };
  return { hooks: [told, { ...waits, asyncRewake: true }] };
}

function withoutOurs({ agent }: HookKind) {
  return groupsWithout((entry) => isOurHook(entry, agent));
}

/** By its last words, wherever mesh was installed when it was written. */
function isOurHook(entry: Json, agent: string): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  const [, hook, whose] = typeof command === "string"
    ? / (hook) ([a-z-]+) [A-Z][A-Za-z]+$/.exec(command) ?? []
    : [];
  return hook !== undefined && whose === agent;
}

function isOurServer(server: Json): boolean {
  const args = isObject(server) ? server["args"] : undefined;
  return Array.isArray(args) && args.at(-1) === "mcp";
}
