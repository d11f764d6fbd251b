/**
 * Changes configuration files of other programs. Changes can be shown first, are backed up, and are
 * atomic.
 */

import { closeSync, fchmodSync, fchownSync, fsyncSync, openSync, writeSync } from "node:fs";
import { dirname } from "kit/core/path.ts";
import { diffArrays } from "diff";
import { syncDirectory } from "kit/host/durable_files.ts";
import { readTextOrNothing, removeIfPresent, unlessMissing } from "../../host/paths.ts";
import { isObject, type Json, type JsonObject, Unchangeable } from "./settings_files/json.ts";
import { parseJson, patchJson } from "./settings_files/json_patch.ts";
import { commentsIn } from "./settings_files/jsonc.ts";

/** What setup needs to add mesh to another program's settings. */
export interface SetupPlan {
  /** The command that runs mesh, as words; absolute, because agents' `PATH`s differ. */
  readonly mesh: readonly string[];
}

/** Returns the whole changed file. The function must be pure, because it may run more than once. */
export type JsonChange = (before: JsonObject) => JsonObject;

export interface ChangeOptions {
  /** If true, only reports what would change. */
  readonly dry_run: boolean;
  /**
   * If true, removes our part. If nothing else has changed since, the file is restored byte for
   * byte, and a file that we created is removed.
   */
  readonly undo?: boolean;
}

const BACKUP = ".mesh-backup";
/** A new file is only for its owner, because it may hold the daemon's token. */
const NEW_FILE_MODE = 0o600;
/** How often a change is attempted, because the agent may write the same file at the same time. */
const ATTEMPTS_MAX = 5;
/** Limits the search for common lines, whose time grows with the square of the edits. */
const EDITS_MAX = 2000;

/**
 * Returns the whole changed text; all bytes outside of the change stay the same. Throws
 * `Unchangeable` if the text cannot be changed.
 */
export type TextChange = (before: string) => string;

/** A file of an agent, and our changes to it: as a JSON object or as text. */
export type Edit =
  | { readonly path: string; readonly add: JsonChange; readonly remove: JsonChange }
  | { readonly path: string; readonly addText: TextChange; readonly removeText: TextChange };

/** Applies `change` to a JSON file. Returns the difference as text, empty if there is none. */
export function applyChange(path: string, change: JsonChange, options: ChangeOptions): string {
  return apply(path, (real, before) => changedJson(real, before, change, options), options);
}

/**
 * Like `applyChange`, for a file in another format. To undo, `change` itself must remove our part.
 */
export function applyTextChange(path: string, change: TextChange, options: ChangeOptions): string {
  return apply(path, (real, before) => {
    const after = change(before ?? "");
    if (after === (before ?? "")) return before;
    const backup = readTextOrNothing(real + BACKUP);
    // True if there was no file before ours, or only an older version of ours.
    const isOwnFile = options.undo && (backup === undefined || change(backup) === "");
    return isOwnFile && after === "" ? undefined : after;
  }, options);
}

function apply(
  path: string,
  next: (path: string, before: string | undefined) => string | undefined,
  options: ChangeOptions,
): string {
  // Configuration files are often symbolic links, and they must stay links.
  const real = unlessMissing(() => Deno.realPathSync(path)) ?? path;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const before = readTextOrNothing(real);
    const after = named(path, () => next(real, before));
    const diff = formatDiff(path, before ?? "", after ?? "");
    if (diff === "" || options.dry_run) return diff;
    if (replaceIfUnchanged(real, before, after, options)) return diff;
  }
  throw new Unchangeable(`Cannot change "${path}": another program keeps writing it`);
}

/** Names the file in the error of a change that is not possible. */
function named<T>(path: string, change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof Unchangeable)) throw error;
    throw new Unchangeable(`Cannot change "${path}": ${error.message}`, { cause: error });
  }
}

/** The new text; undefined if the file is to be removed. */
function changedJson(
  path: string,
  before: string | undefined,
  change: JsonChange,
  { undo }: ChangeOptions,
): string | undefined {
  const parsed = parseJson(before ?? "");
  const next = change(parsed);
  if (JSON.stringify(next) === JSON.stringify(parsed)) return before;
  if (before === undefined || before.trim() === "") return toJsonText(next, before ?? "");
  if (!undo) return patchJson(before, next);
  const backup = readTextOrNothing(path + BACKUP);
  const original = backup === undefined ? {} : parseJson(backup);
  const isUnedited = commentsIn(before).length === 0 && before === toJsonText(parsed, before);
  // A program has rewritten the whole file, perhaps an older version of mesh.
  if (isUnedited && normalized(original) === normalized(next)) return backup;
  return patchJson(before, withEmpty(next, parsed, original), backup);
}

/**
 * The object with the empty objects and lists that the file had before us. Removing our entries
 * from them has left them out.
 */
function withEmpty(next: JsonObject, present: JsonObject, original: JsonObject): JsonObject {
  const result: Record<string, Json> = { ...next };
  for (const [key, value] of Object.entries(original)) {
    const now = next[key], was = present[key];
    if (now === undefined && was !== undefined && isEmpty(value)) result[key] = value;
    if (isObject(now) && isObject(was) && isObject(value)) {
      result[key] = withEmpty(now, was, value);
    }
  }
  return result;
}

function isEmpty(value: Json): boolean {
  return typeof value === "object" && value !== null && normalized({ value }) === normalized({});
}

export function exists(path: string): boolean {
  return unlessMissing(() => Deno.statSync(path)) !== undefined;
}

/** Formats whole JSON. Keeps the file's indentation, line ends and final newline. */
function toJsonText(next: JsonObject, before: string): string {
  const indent = /^\{\r?\n([ \t]+)"/.exec(before.trimStart())?.[1] ?? "  ";
  const text = JSON.stringify(next, null, indent);
  const ended = before === "" || before.endsWith("\n") ? `${text}\n` : text;
  return before.includes("\r\n") ? ended.replaceAll("\n", "\r\n") : ended;
}

/** A form that is equal for files that differ only in layout and empty lists or objects. */
function normalized(value: JsonObject): string {
  const withoutEmpty = (at: Json): Json | undefined => {
    if (typeof at !== "object" || at === null) return at;
    if (isObject(at)) {
      const kept = Object.entries(at).flatMap(([key, inner]): [string, Json][] => {
        const value = withoutEmpty(inner);
        return value === undefined ? [] : [[key, value]];
      });
      return kept.length === 0 ? undefined : Object.fromEntries(kept);
    }
    return at.length === 0 ? undefined : at.map((inner) => withoutEmpty(inner) ?? null);
  };
  return JSON.stringify(withoutEmpty(value) ?? {});
}

/** Replaces the file. If its text is no longer `before`, changes nothing and returns false. */
function replaceIfUnchanged(
  path: string,
  before: string | undefined,
  after: string | undefined,
  { undo }: ChangeOptions,
): boolean {
  const backup = readTextOrNothing(path + BACKUP);
  if (after === undefined) {
    if (readTextOrNothing(path) !== before) return false;
    Deno.removeSync(path);
    if (backup !== undefined) Deno.removeSync(path + BACKUP);
    return true;
  }
  if (!undo && before !== undefined && backup === undefined) copy(path, path + BACKUP);
  const tempPath = `${path}.mesh-${Deno.pid}`;
  write(tempPath, after, before === undefined ? undefined : Deno.statSync(path));
  if (readTextOrNothing(path) !== before) {
    Deno.removeSync(tempPath);
    return false;
  }
  Deno.renameSync(tempPath, path);
  syncDirectory(dirname(path));
  if (undo && backup !== undefined) Deno.removeSync(path + BACKUP);
  return true;
}

function copy(path: string, to: string): void {
  write(to, Deno.readTextFileSync(path), Deno.statSync(path));
}

/**
 * Writes a new file with the mode and owner of the file it replaces. Root may run this in another
 * user's home, where that user may plant links. Therefore no link is followed, and mode and owner
 * are set on the open file.
 */
function write(path: string, text: string, template: Deno.FileInfo | undefined): void {
  Deno.mkdirSync(dirname(path), { recursive: true });
  const mode = template?.mode === null || template === undefined
    ? NEW_FILE_MODE
    : template.mode & 0o777;
  removeIfPresent(path);
  const file = openSync(path, "wx", 0o600);
  try {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
    if (template && template.uid !== null && template.gid !== null && template.uid !== Deno.uid()) {
      fchownSync(file, template.uid, template.gid);
    }
    if (Deno.build.os !== "windows") fchmodSync(file, mode);
  } finally {
    closeSync(file);
  }
}

/**
 * The difference as text: the path, then the removed (`-`) and added (`+`) lines. It has no context
 * lines, because they may hold secrets of other programs.
 */
function formatDiff(path: string, before: string, after: string): string {
  if (before === after) return "";
  const edits = diffLines(lines(before), lines(after));
  return [path, ...(edits.length === 0 ? ["(only the layout changes)"] : edits)].join("\n");
}

function lines(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

/** The lines that differ; all lines of both files if they have too little in common. */
function diffLines(before: string[], after: string[]): string[] {
  const parts = diffArrays(before, after, { maxEditLength: EDITS_MAX }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  return parts.filter(({ removed, added }) => removed || added)
    .flatMap(({ added, value }) => value.map((line) => `${added ? "+" : "-"} ${line}`));
}
