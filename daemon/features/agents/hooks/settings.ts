/**
 * Adds, recognizes and removes our hooks in an agent's settings. Works on parsed JSON, without I/O.
 */

import { markerPath } from "../../../host/paths.ts";
import type { SetupPlan } from "../install.ts";
import { isObject, type Json, type JsonObject, Unchangeable } from "../settings_files/json.ts";

/**
 * The time limit of a hook that waits for the human's decision on a tool. The decision takes an
 * hour at most (contract 8).
 */
export const DECISION_SECONDS_MAX = 3_660;

/** How one agent writes its hooks. */
export interface HookFormat {
  /** The agent's id in the hook's command. */
  readonly agent: string;
  readonly events: readonly string[];
  /** Events within a turn: they start `mesh` only while an urgent message waits. */
  readonly guarded_events: readonly string[];
  /** What the shell sets for the command, such as `MESH_AGENT_PID=$PPID`. */
  readonly variables?: string;
  /** The member of a hook that holds its command. */
  readonly command_key?: "command" | "bash";
  /** Our entry for an event: a hook, or a group of hooks. `command` is the command of an event. */
  entry(event: string, command: (event: string) => string): JsonObject;
}

/**
 * The beginning of a command line of `sh` that starts no process unless the agent's marker exists.
 * The path is that of `statePath`. No variable is nested in another, because Gemini CLI replaces
 * the variables in its settings by itself, and reads a nested one wrongly (0.61.0).
 */
function guardOf(agent: string): string {
  const marker = markerPath("${MESH_STATE:-$s}", agent);
  return `s="\${XDG_STATE_HOME:-$HOME/.local/state}/mesh"; [ ! -e "${marker}" ] ||`;
}

/** Adds and removes our hooks in an agent's settings. The hooks of others keep their places. */
export function meshHooks(
  { agent, events, guarded_events, variables, command_key = "command", entry: entryOf }: HookFormat,
) {
  const commandOf = (mesh: readonly string[], event: string): string => {
    const words = [...mesh, "hook", agent, event].map(shellQuote);
    const command = [...(variables === undefined ? [] : [variables]), ...words].join(" ");
    return guarded_events.includes(event) ? `${guardOf(agent)} ${command}` : command;
  };
  /** The entry without our hooks: absent if it has no hooks of others. A group may hold both. */
  const withoutMesh = (entry: Json): readonly Json[] => {
    if (isMeshHook(entry)) return [];
    const hooks = isObject(entry) ? entry["hooks"] : undefined;
    if (!isObject(entry) || !Array.isArray(hooks) || !hooks.some(isMeshHook)) return [entry];
    const others = hooks.filter((hook) => !isMeshHook(hook));
    return others.length > 0 ? [{ ...entry, hooks: others }] : [];
  };
  /**
   * Recognizes our hook by the last words of its command, because mesh may have been installed in
   * another place at the time.
   */
  const isMeshHook = (hook: Json): boolean => {
    const command = isObject(hook) ? hook[command_key] : undefined;
    const words = typeof command === "string" ? / hook ([a-z-]+) [A-Za-z]+$/.exec(command) : null;
    return words?.[1] === agent;
  };
  return {
    install(settings: JsonObject, { mesh }: SetupPlan): JsonObject {
      const command = (event: string) => commandOf(mesh, event);
      const hooks = { ...objectAt(settings, "hooks") };
      for (const event of [...events, ...guarded_events]) {
        const entries = listAt(hooks, event, "hooks.");
        const meshEntry = entryOf(event, command);
        const kept = entries.flatMap(withoutMesh);
        const isInstalled = entries.some((entry) => isEqual(entry, meshEntry)) &&
          kept.length === entries.length - 1;
        hooks[event] = isInstalled ? entries : [...kept, meshEntry];
      }
      return { ...settings, hooks };
    },
    remove(settings: JsonObject): JsonObject {
      const hooks = objectAt(settings, "hooks");
      const kept = Object.entries(hooks).flatMap(([event, entries]): [string, Json][] => {
        if (!Array.isArray(entries) || entries.every((entry) => withoutMesh(entry)[0] === entry)) {
          return [[event, entries]];
        }
        const others = entries.flatMap(withoutMesh);
        return others.length > 0 ? [[event, others]] : [];
      });
      const rest = Object.fromEntries(kept);
      return isEqual(rest, hooks) ? settings : withMember(settings, "hooks", rest);
    },
  };
}

export function objectAt(whole: JsonObject, key: string): JsonObject {
  const value = whole[key] ?? {};
  if (!isObject(value)) throw new Unchangeable(`"${key}" is not an object`);
  return value;
}

function listAt(whole: JsonObject, key: string, path: string): readonly Json[] {
  const value = whole[key] ?? [];
  if (!Array.isArray(value)) throw new Unchangeable(`"${path}${key}" is not a list`);
  return value;
}

/** The object with this member, or without it if the value is empty. */
export function withMember(whole: JsonObject, key: string, value: JsonObject): JsonObject {
  if (Object.keys(value).length > 0) return { ...whole, [key]: value };
  return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== key));
}

function isEqual(left: Json, right: Json): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** Quotes one word for `sh`. */
function shellQuote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
