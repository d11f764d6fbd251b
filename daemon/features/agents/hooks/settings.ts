/**
 * Adds, recognizes and removes our hooks in an agent's settings. Works on parsed JSON, without I/O.
 */

import { isObject, type Json, type JsonObject, Unchangeable } from "../install.ts";

/** How one agent writes its hooks. */
export interface HookFormat {
  readonly events: readonly string[];
  /** Our entry for an event. */
  meshEntry(event: string): JsonObject;
  /**
   * Returns the entry without our hooks. It is unchanged if it has none of ours, and absent if it
   * has no hooks of others.
   */
  withoutMesh: WithoutMesh;
}

export type WithoutMesh = (entry: Json) => readonly Json[];

/** Adds our hooks to settings. The hooks of others keep their places. */
export function withHooks(settings: JsonObject, format: HookFormat): JsonObject {
  const hooks = { ...objectAt(settings, "hooks") };
  for (const event of format.events) {
    const entries = listAt(hooks, event, "hooks.");
    const meshEntry = format.meshEntry(event);
    const kept = entries.flatMap(format.withoutMesh);
    const isInstalled = entries.some((entry) => isEqual(entry, meshEntry)) &&
      kept.length === entries.length - 1;
    hooks[event] = isInstalled ? entries : [...kept, meshEntry];
  }
  return { ...settings, hooks };
}

export function withoutHooks(settings: JsonObject, withoutMesh: WithoutMesh): JsonObject {
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
}

/**
 * Removes our hooks from groups, for agents that group an event's hooks. A group may also hold
 * hooks of others.
 */
export function groupsWithout(isMeshHook: (hook: Json) => boolean): WithoutMesh {
  return (group) => {
    const entries = isObject(group) ? group["hooks"] : undefined;
    if (!isObject(group) || !Array.isArray(entries) || !entries.some(isMeshHook)) return [group];
    const others = entries.filter((entry) => !isMeshHook(entry));
    return others.length > 0 ? [{ ...group, hooks: others }] : [];
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
export function shellQuote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
