/** Hooks in groups, as Claude Code and Codex write them: ours added, recognized, removed. */

import { isObject, type Json, type JsonObject, type SetupPlan } from "../install.ts";
import { groupsWithout, shellQuote, withHooks, withoutHooks } from "./settings.ts";

/** A gated tool waits for the human's decision, for an hour at most (contract 8). */
export const DECISION_SECONDS_MAX = 3_660;

/** The hooks of one agent. */
export interface AgentHooks {
  /** The agent's id in the hook's command. */
  readonly agent: string;
  readonly events: readonly string[];
  /** More than `mesh hook` takes (1.5 s). */
  readonly seconds_max: number;
  /** The limits of events that wait for a decision. */
  readonly held?: { readonly [event: string]: number };
  /** The events that also start a background hook, which waits to wake the session. */
  readonly wake?: { readonly events: readonly string[]; readonly seconds_max: number };
}

/** Adds our hooks to settings; keeps those of others in their places. */
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

/** Recognized by the last words of its command, wherever mesh was installed at the time. */
function isMeshHook(entry: Json, agent: string): boolean {
  const command = isObject(entry) ? entry["command"] : undefined;
  const [, found] = typeof command === "string"
    ? / hook ([a-z-]+) [A-Z][A-Za-z]+$/.exec(command) ?? []
    : [];
  return found === agent;
}
