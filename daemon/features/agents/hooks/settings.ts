/** Adds, recognizes and removes our hooks in an agent's parsed settings. No I/O. */

import { markerPath } from "../../../host/paths.ts";
import type { SetupPlan } from "../install.ts";
import { isObject, type Json, type JsonObject, Unchangeable } from "../settings_files/json.ts";
import { type Argv, commandsIn, shellQuote } from "../settings_files/shell_words.ts";

/** Time limit of a hook that waits for the human's decision, an hour at most (contract 8). */
export const DECISION_SECONDS_MAX = 3_660;

/** The form in which one agent writes its hooks. */
interface HookFormat {
  /** The agent's id in the hook's command. */
  readonly agent: string;
  readonly events: readonly string[];
  /** Events within a turn: they start `mesh` only while an urgent message waits. */
  readonly guarded_events: readonly string[];
  /** An event that only our hooks use, so that it marks them. */
  readonly own_event?: string;
  /** Variables that the shell sets for the command, such as `MESH_AGENT_PID=$PPID`. */
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

/** A hook whose command has the form of ours. It may belong to another program. */
interface HookCommand {
  /** The command without `hook AGENT EVENT`. */
  readonly program: Argv;
  readonly event: string;
  readonly has_more_words: boolean;
  /** True if the command has a part that occurs only in our hooks. */
  readonly is_marked: boolean;
}

/** Our hooks in the settings of one agent. The hooks of others keep their places. */
export class MeshHooks {
  readonly #format: HookFormat;
  readonly #guard: string;
  readonly #events: readonly string[];
  readonly #key: NonNullable<HookFormat["command_key"]>;

  constructor(format: HookFormat) {
    this.#format = format;
    this.#guard = guardOf(format.agent);
    this.#events = [...format.events, ...format.guarded_events];
    this.#key = format.command_key ?? "command";
  }

  install(settings: JsonObject, plan: SetupPlan): JsonObject {
    const hooks = { ...objectAt(settings, "hooks") };
    for (const event of this.#events) {
      const entries = listAt(hooks, event, "hooks.");
      const next = this.#installed(entries, event, plan);
      hooks[event] = isEqual(next, entries) ? entries : next;
    }
    return { ...settings, hooks };
  }

  remove(settings: JsonObject, plan: SetupPlan): JsonObject {
    const hooks = objectAt(settings, "hooks");
    const kept = Object.entries(hooks).flatMap(([event, entries]): [string, Json][] => {
      if (!Array.isArray(entries)) return [[event, entries]];
      const others = entries.flatMap((entry) => this.#revised(entry, plan, () => []));
      if (isEqual(others, entries)) return [[event, entries]];
      return others.length > 0 ? [[event, others]] : [];
    });
    const rest = Object.fromEntries(kept);
    return isEqual(rest, hooks) ? settings : withMember(settings, "hooks", rest);
  }

  /** Adds the programs of hooks that have our mark. */
  learn(settings: JsonObject, { programs }: SetupPlan): void {
    for (const hook of allHooks(settings)) {
      const command = this.#read(hook);
      if (command?.is_marked) programs.add(command.program);
    }
  }

  /** The programs of our hooks. */
  find(settings: JsonObject, plan: SetupPlan): readonly Argv[] {
    return allHooks(settings).flatMap((hook) => {
      const command = this.#readMesh(hook, plan);
      return command ? [command.program] : [];
    });
  }

  /**
   * The command line of an event, for `sh`. It runs the hook's script with bash; without bash or
   * the script it starts mesh.
   */
  #lineOf({ mesh, hook_script }: SetupPlan, event: string): string {
    const { agent, variables, guarded_events, own_event } = this.#format;
    const assigned = variables === undefined ? "" : `${variables} `;
    const program = [...mesh, "hook", agent, event].map(shellQuote).join(" ");
    const isGuarded = guarded_events.includes(event);
    if (hook_script === undefined || event === own_event) {
      return `${isGuarded ? `${this.#guard} ` : ""}${assigned}${program}`;
    }
    const file = shellQuote(hook_script);
    const script = `${assigned}LC_ALL=C exec bash -p ${file} ${event}`;
    const line = `[ -f ${file} ] && command -v bash >/dev/null && ${script}; ${assigned}${program}`;
    return isGuarded ? `${this.#guard} { ${line}; }` : line;
  }

  #read(hook: Json): HookCommand | undefined {
    const { agent, variables, own_event } = this.#format;
    const line = isObject(hook) ? hook[this.#key] : undefined;
    if (typeof line !== "string") return undefined;
    for (const command of commandsIn(line)) {
      const { words } = command;
      const at = words.findIndex((word, index) => word === "hook" && words[index + 1] === agent);
      const event = words[at + 2];
      if (at < 1 || event === undefined) continue;
      const is_marked = line.startsWith(this.#guard) || event === own_event ||
        (variables !== undefined && command.variables.includes(variables));
      const has_more_words = words.length > at + 3;
      return { program: words.slice(0, at), event, has_more_words, is_marked };
    }
    return undefined;
  }

  /** The command of our hook; undefined for any other. Its form alone does not make it ours. */
  #readMesh(hook: Json, { programs }: SetupPlan): HookCommand | undefined {
    const command = this.#read(hook);
    if (!command) return undefined;
    const { program, event, has_more_words } = command;
    if (programs.includes(program)) return command;
    const isOurs = this.#events.includes(event) || event === this.#format.own_event;
    return isOurs && !has_more_words && programs.isFormer(program) ? command : undefined;
  }

  /** Replaces each of our hooks by the result of `revise`. Removes groups that become empty. */
  #revised(entry: Json, plan: SetupPlan, revise: Revise): readonly Json[] {
    const revisedHook = (hook: Json): readonly Json[] => {
      const command = this.#readMesh(hook, plan);
      return command && isObject(hook) ? revise(hook, command) : [hook];
    };
    const hooks = isObject(entry) ? entry["hooks"] : undefined;
    if (!isObject(entry) || !Array.isArray(hooks)) return revisedHook(entry);
    const kept = hooks.flatMap(revisedHook);
    if (isEqual(kept, hooks)) return [entry];
    return kept.length > 0 ? [{ ...entry, hooks: kept }] : [];
  }

  /** The entries of one event, with our hooks updated in place, or appended if they are missing. */
  #installed(entries: readonly Json[], event: string, plan: SetupPlan): readonly Json[] {
    const whole = this.#format.entry(event, (name) => this.#lineOf(plan, name));
    const missing = hooksIn(whole);
    const kept = entries.flatMap((present) =>
      this.#revised(present, plan, (hook, command) => {
        const at = missing.findIndex((wanted) => this.#read(wanted)?.event === command.event);
        const [wanted] = at < 0 ? [] : missing.splice(at, 1);
        return wanted ? [this.#upToDate(hook, wanted, isEqual(command.program, plan.mesh))] : [];
      })
    );
    if (missing.length === 0) return kept;
    if (missing.length === hooksIn(whole).length) return [...kept, whole];
    const at = kept.findIndex((item) => hooksIn(item).some((hook) => this.#readMesh(hook, plan)));
    return kept.map((present, index) =>
      index === at && isObject(present)
        ? { ...present, hooks: [...hooksIn(present), ...missing] }
        : present
    );
  }

  /** Our hook with the present command; the user's changes to it stay. */
  #upToDate(hook: JsonObject, wanted: JsonObject, runsThis: boolean): JsonObject {
    const [line, command] = [hook[this.#key], wanted[this.#key]];
    const isPresent = runsThis && String(line).includes(String(command));
    const added = Object.entries(wanted).filter(([name]) => !Object.hasOwn(hook, name));
    if (isPresent && added.length === 0) return hook;
    const changed = isPresent || command === undefined ? {} : { [this.#key]: command };
    return { ...hook, ...Object.fromEntries(added), ...changed };
  }
}

function allHooks(settings: JsonObject): readonly JsonObject[] {
  return Object.values(objectAt(settings, "hooks")).flatMap((entries) =>
    Array.isArray(entries) ? entries.flatMap(hooksIn) : []
  );
}

type Revise = (hook: JsonObject, command: HookCommand) => readonly Json[];

/** The hooks of a group; the entry itself if it is a hook. */
function hooksIn(entry: Json): JsonObject[] {
  const hooks = isObject(entry) ? entry["hooks"] : undefined;
  return (Array.isArray(hooks) ? hooks : [entry]).filter(isObject);
}

export function objectAt(whole: JsonObject, key: string): JsonObject {
  const value = whole[key] ?? {};
  if (!isObject(value)) throw new Unchangeable(`"${key}" is not an object`);
  return value;
}

export function listAt(whole: JsonObject, key: string, path: string): readonly Json[] {
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
