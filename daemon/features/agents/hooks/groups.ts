/** Adds, recognizes and removes our hooks in groups, the form that Claude Code and Codex use. */

import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { groupsWithout, shellQuote, withHooks, withoutHooks } from "./settings.ts";

/**
 * The time limit of a hook that waits for the human's decision on a tool. The decision takes an
 * hour at most (contract 8).
 */
export const DECISION_SECONDS_MAX = 3_660;

/** The hooks of one agent. */
export interface AgentHooks {
  /** The agent's id in the hook's command. */
  readonly agent: string;
  readonly events: readonly string[];
  /** The time limit of a hook. It must be more than `mesh hook` takes (1.5 s). */
  readonly seconds_max: number;
  /** The limits of events that wait for a decision. */
  readonly held?: { readonly [event: string]: number };
  /** The events that also start a background hook, which waits to wake the session. */
  readonly wake?: { readonly events: readonly string[]; readonly seconds_max: number };
}

/** Adds our hooks to settings. The hooks of others keep their places. */
export function installHooks(settings: JsonObject, plan: SetupPlan, kind: AgentHooks): JsonObject {
  const meshEntry = (event: string) => groupFor(kind, event, plan);
  return withHooks(settings, { events: kind.events, meshEntry, withoutMesh: withoutMesh(kind) });
}

export function removeHooks(settings: JsonObject, kind: AgentHooks): JsonObject {
  return withoutHooks(settings, withoutMesh(kind));
}

function groupFor(kind: AgentHooks, event: string, plan: SetupPlan): JsonObject {
  const { agent, seconds_max, held = {}, wake } = kind;
  const command = (name: string) => [...plan.mesh, "hook", agent, name].map(shellQuote).join(" ");
  const report = { type: "command", command: command(event), timeout: held[event] ?? seconds_max };
  if (!wake?.events.includes(event)) return { hooks: [report] };
  const wait = { type: "command", command: command("Wake"), timeout: wake.seconds_max };
  return { hooks: [report, { ...wait, asyncRewake: true }] };
}

function withoutMesh({ agent }: AgentHooks) {
  return groupsWithout((entry) => isMeshHook(entry, agent));
}

/**
 * Recognizes our hook by the last words of its command, because mesh may have been installed in
 * another place at the time.
 */
function isMeshHook(entry: Json, agent: string): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  const [, found] = typeof command === "string"
    ? / hook ([a-z-]+) [A-Z][A-Za-z]+$/.exec(command) ?? []
    : [];
  return found === agent;
}
