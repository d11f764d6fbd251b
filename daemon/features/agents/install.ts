/**
 * Changes settings files of other programs, and finds our part in them. Changes can be shown first,
 * are backed up, and are atomic. Setup, uninstalling and the doctor read the files only here.
 */

import { unlessError } from "kit/host/file_errors.ts";
import { formatDiff } from "./settings_files/difference.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  refusalOf,
  Unchangeable,
  unlessRefused,
} from "./settings_files/json.ts";
import { parseJson, patchJson } from "./settings_files/json_patch.ts";
import { commentsIn } from "./settings_files/jsonc.ts";
import type { MeshPrograms } from "./settings_files/mesh_programs.ts";
import type { Argv } from "./settings_files/shell_words.ts";
import { parseToml } from "./settings_files/toml.ts";
import {
  mustBeWritable,
  readBackup,
  readFile,
  readText,
  replaceFile,
} from "./settings_files/text_file.ts";

/** The parts that setup adds to another program's settings. */
export interface SetupPlan {
  /** The command that runs mesh, as words; absolute, because agents' `PATH`s differ. */
  readonly mesh: Argv;
  /** Distinguishes the hooks and servers of mesh from those of other programs. */
  readonly programs: MeshPrograms;
  /** If true, our MCP server replaces another program's server of our name. */
  readonly replace: boolean;
  /** The path of the agent's hook script; undefined where bash cannot run it. */
  readonly hook_script?: string | undefined;
  /** The script of a status line. `wanted`: the user asked for it. */
  readonly status_line?: { readonly script: string; readonly wanted: boolean };
}

/** Attempts at a change: the agent may write the same file meanwhile. */
const ATTEMPTS_MAX = 5;

/** Our part in a settings file. */
export interface MeshPart {
  /** The commands of our hooks, without `hook AGENT EVENT`. */
  readonly hooks: readonly Argv[];
  /** The commands of our MCP server, without `mcp`. */
  readonly servers: readonly Argv[];
}

/**
 * A file of an agent and our changes to it, as a JSON object or as text. Each function returns the
 * whole changed file. It must be pure, because it may run more than once, and throws `Unchangeable`
 * for content that cannot be changed. A change of text keeps all other bytes.
 */
export type Edit = JsonEdit | TextEdit;

interface EditOf<Format, Content> {
  readonly path: string;
  readonly format: Format;
  readonly add: (before: Content) => Content;
  /** `original` is the file before our first change; empty if there was none. */
  readonly remove: (before: Content, original: Content) => Content;
  /** Adds commands that have our mark to the programs of the plan. */
  readonly learn?: (content: Content) => void;
  readonly find?: (content: Content) => MeshPart;
}

type JsonEdit = EditOf<"json", JsonObject>;

interface TextEdit extends EditOf<"text", string> {
  /** True if we created a file that holds only our part. Default: we did. */
  readonly isCreated?: (before: string) => boolean;
}

/**
 * Adds the programs that our marks name, from all files of an agent, before any file is changed.
 * Skips files that cannot be read; the edit of such a file is refused later.
 */
export function learnPrograms(edits: readonly Edit[]): void {
  for (const edit of edits) {
    unlessRefused(() =>
      onContent(edit, {
        text: (textEdit, text) => textEdit.learn?.(text),
        json: (jsonEdit, json) => jsonEdit.learn?.(json),
      })
    );
  }
}

/** Finds our part in a file. Throws if the file cannot be read as the agent's settings. */
export function findMesh(edit: Edit, text?: string): MeshPart {
  return onContent(edit, {
    text: (textEdit, content) => textEdit.find?.(content),
    json: (jsonEdit, json) => jsonEdit.find?.(json),
  }, text) ?? { hooks: [], servers: [] };
}

function onContent<T>(
  edit: Edit,
  on: {
    readonly text: (edit: TextEdit, content: string) => T;
    readonly json: (edit: JsonEdit, content: JsonObject) => T;
  },
  text = readFile(edit.path).text ?? "",
): T {
  return withFileName(
    edit.path,
    () => edit.format === "text" ? on.text(edit, text) : on.json(edit, parseJson(text)),
  );
}

/** Reads a file of JSON settings; undefined if there is no file. */
export function readJsonSettings(path: string): JsonObject | undefined {
  const { text } = readFile(path);
  return text === undefined ? undefined : withFileName(path, () => parseJson(text));
}

/** Reads a file of TOML settings; undefined if there is no file. */
export function readTomlSettings(path: string): JsonObject | undefined {
  const { text } = readFile(path);
  // Dates become strings; none of our settings is a date.
  return text === undefined
    ? undefined
    : withFileName(path, () => JSON.parse(JSON.stringify(parseToml(text))));
}

interface Plan {
  /** The difference as text; empty if nothing changes. */
  readonly difference: string;
  /** Set if the file cannot be written. The user may then add the difference at another place. */
  readonly refusal?: string;
}

/** Plans an edit: its difference, or the reason why it is impossible. Changes nothing. */
export function planEdit(edit: Edit, undo = false): Plan {
  const { path } = edit;
  const { real, text: before } = readFile(path);
  const after = withFileName(path, () => changedText(edit, before, { real, undo }));
  if (before === after) return { difference: "" };
  const difference = differenceOf(edit, before, after);
  try {
    mustBeWritable(real, path);
    return { difference };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return { difference, refusal };
  }
}

/** Applies an edit. Returns the difference as text; empty if nothing changed. */
export function applyEdit(edit: Edit, { undo }: { readonly undo: boolean }): string {
  const { path } = edit;
  const { real } = readFile(path);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const before = readText(real, path);
    const after = withFileName(path, () => changedText(edit, before, { real, undo }));
    if (before === after) return "";
    if (replaceFile(real, { before, after, undo, shown: path })) {
      return differenceOf(edit, before, after);
    }
  }
  throw new Unchangeable(
    `Cannot change "${path}": another program keeps writing it; end that program, then try again`,
  );
}

/**
 * The difference as text. Only our values are shown: those that setup adds to an empty file, and
 * the commands of ours that are found in the file. A file that is ours as a whole is shown whole.
 */
function differenceOf(edit: Edit, before = "", after = ""): string {
  const { path } = edit;
  const isOwnFile = edit.format === "text" &&
    [before, after].every((text) => edit.remove(text, "") === "");
  if (isOwnFile) return formatDiff(path, before, after);
  const { hooks, servers } = findMesh(edit, before);
  const own = withMesh(edit, undefined) ?? "";
  return formatDiff(path, before, after, { own, commands: [...hooks, ...servers] });
}

/** Names the file in the error of a change that is not possible. */
function withFileName<T>(path: string, change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof Unchangeable)) throw error;
    throw new Unchangeable(`Cannot change "${path}": ${error.message}`, { cause: error });
  }
}

interface FileState {
  readonly real: string;
  /**
   * If true, removes our part. If only we have changed the file, it is restored byte for byte, and
   * a file that we created is deleted.
   */
  readonly undo: boolean;
}

/** The new text; undefined if the file is to be removed. */
function changedText(edit: Edit, before: string | undefined, { real, undo }: FileState) {
  if (!undo) return withMesh(edit, before);
  const backup = readBackup(real);
  // Only we have changed the file, so its first version is restored, unless that has our part.
  if (before !== backup && isWithoutMesh(edit, backup) && isOurChange(edit, backup, before)) {
    return backup;
  }
  if (edit.format === "json") {
    // A file that we created has its first backup from our second change, with our part.
    const { hooks, servers } = findMesh(edit, backup ?? "");
    const isOurs = hooks.length + servers.length > 0;
    return jsonWithoutMesh(before, edit.remove, isOurs ? undefined : backup);
  }
  const after = edit.remove(before ?? "", backup ?? "");
  if (after === (before ?? "")) return before;
  // True if there was no file before ours, or only an older version of ours.
  const isOwnFile = backup === undefined
    ? edit.isCreated?.(before ?? "") ?? true
    : backup !== "" && edit.remove(backup, "") === "";
  return isOwnFile && after === "" ? undefined : after;
}

function withMesh(edit: Edit, before: string | undefined): string | undefined {
  if (edit.format === "text") {
    const after = edit.add(before ?? "");
    return after === (before ?? "") ? before : after;
  }
  const parsed = parseJson(before ?? "");
  const next = edit.add(parsed);
  if (JSON.stringify(next) === JSON.stringify(parsed)) return before;
  const isBlank = before === undefined || before.trim() === "";
  return isBlank ? toJsonText(next, before ?? "") : patchJson(before, next);
}

function isWithoutMesh(edit: Edit, text = ""): boolean {
  if (edit.format === "text") return edit.remove(text, "") === text;
  const parsed = parseJson(text);
  return JSON.stringify(edit.remove(parsed, {})) === JSON.stringify(parsed);
}

/** True if the present text is the result of setup on the first version. */
function isOurChange(edit: Edit, first: string | undefined, present: string | undefined): boolean {
  const isUnchangeable = (error: unknown) => error instanceof Unchangeable;
  return unlessError(isUnchangeable, () => withMesh(edit, first) === present) ?? false;
}

function jsonWithoutMesh(
  before: string | undefined,
  remove: JsonEdit["remove"],
  backup: string | undefined,
): string | undefined {
  const parsed = parseJson(before ?? "");
  const original = parseJson(backup ?? "");
  const next = remove(parsed, original);
  if (before === undefined || JSON.stringify(next) === JSON.stringify(parsed)) return before;
  const isUnedited = commentsIn(before).length === 0 && before === toJsonText(parsed, before);
  // A program has rewritten the whole file, perhaps an older version of mesh.
  if (isUnedited && normalize(original) === normalize(next)) return backup;
  return patchJson(before, withEmpty(next, parsed, original), backup);
}

/** Puts back the empty objects and lists of the first version, which the removal has dropped. */
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
  return typeof value === "object" && value !== null && normalize({ value }) === normalize({});
}

/** True if something exists at the path, or if it cannot be examined, which is refused later. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    const { NotFound, NotADirectory } = Deno.errors;
    return !(error instanceof NotFound || error instanceof NotADirectory);
  }
}

/** Formats whole JSON. Keeps the file's indentation, line ends and final newline. */
function toJsonText(next: JsonObject, before: string): string {
  const indent = /^\{\r?\n([ \t]+)"/.exec(before.trimStart())?.[1] ?? "  ";
  const text = JSON.stringify(next, null, indent);
  const ended = before === "" || before.endsWith("\n") ? `${text}\n` : text;
  return before.includes("\r\n") ? ended.replaceAll("\n", "\r\n") : ended;
}

/** A form that is equal for files that differ only in layout and empty lists or objects. */
function normalize(value: JsonObject): string {
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
