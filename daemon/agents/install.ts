/** Changes another program's JSON file so that the change can be seen first, and undone exactly. */

import { dirname } from "node:path";
import { isObject, type Json, type JsonObject } from "./claude_code/setup.ts";

/** Cells of the table that finds what two texts share; beyond it, all of both is shown. */
const DIFF_CELLS_MAX = 4_000_000;

export type Change = (json: JsonObject) => JsonObject;

export interface Manner {
  /** Only tell what would be changed. */
  readonly dry_run: boolean;
  /** `undo` takes back an earlier change: with the backup's bytes where nothing else changed. */
  readonly direction?: "do" | "undo";
}

export interface Changed {
  readonly path: string;
  /** Lines that come (`+`) and go (`-`); empty when there is nothing to change. */
  readonly diff: string;
}

/** The file cannot be read as what it must be; it was left as it is. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Applies a change to a JSON file, which is replaced whole or not at all. */
export function applyChange(path: string, change: Change, manner: Manner): Changed {
  const target = followed(path);
  const before = readOrNothing(target);
  if (before === undefined && manner.direction === "undo") return { path, diff: "" };
  const json = before === undefined ? {} : parse(target, before);
  const changed = change(json);
  if (isSame(changed, json)) return { path, diff: "" };
  const backup = `${target}.mesh-backup`;
  const after = manner.direction === "undo"
    ? undone(changed, { before, original: readOrNothing(backup), change })
    : rendered(changed, before);
  const diff = diffOf(before ?? "", after ?? "");
  if (!manner.dry_run) {
    write(target, { before, after, backup, isUndone: manner.direction === "undo" });
  }
  return { path, diff };
}

/** The text to write; undefined for a file that we had made and that holds nothing else. */
function undone(
  changed: JsonObject,
  { before, original, change }: {
    before: string | undefined;
    original: string | undefined;
    change: Change;
  },
): string | undefined {
  if (original === undefined && isSame(changed, {})) return undefined;
  const json = original === undefined ? undefined : tryParse(original);
  // The change also takes away what is empty: both sides must have been through it.
  if (isObject(json) && isSame(change(json), changed)) return original;
  return rendered(changed, before);
}

function write(
  target: string,
  { before, after, backup, isUndone }: {
    before: string | undefined;
    after: string | undefined;
    backup: string;
    isUndone: boolean;
  },
): void {
  if (after === undefined) {
    Deno.removeSync(target);
    return;
  }
  const mode = before === undefined ? 0o600 : (Deno.statSync(target).mode ?? 0o600) & 0o777;
  Deno.mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  if (before !== undefined && !isUndone) backUpOnce(backup, before);
  const fresh = `${target}.mesh-new`;
  Deno.writeTextFileSync(fresh, after, { mode });
  Deno.chmodSync(fresh, mode); // The umask may have taken from it.
  Deno.renameSync(fresh, target);
  if (isUndone && readOrNothing(backup) !== undefined) Deno.removeSync(backup);
}

function backUpOnce(backup: string, text: string): void {
  if (readOrNothing(backup) !== undefined) return;
  Deno.writeTextFileSync(backup, text, { mode: 0o600, createNew: true });
}

/** In the manner of the text that is there: its indentation, its last newline. */
function rendered(json: JsonObject, before: string | undefined): string {
  const indent = /^[{\[]\r?\n([ \t]+)/.exec(before ?? "")?.[1] ?? "  ";
  const end = before === undefined || before.endsWith("\n") ? "\n" : "";
  return JSON.stringify(json, null, indent) + end;
}

function parse(path: string, text: string): JsonObject {
  const json = tryParse(text);
  if (isObject(json)) return json;
  const what = json === undefined ? "not JSON" : "not a JSON object";
  throw new Unreadable(`${path} is ${what}; it was left as it is. Repair it, then run this again`);
}

function tryParse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Where a symbolic link leads: renaming onto the link would replace it. */
function followed(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return path;
    throw error;
  }
}

function readOrNothing(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function isSame(left: JsonObject, right: JsonObject): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** Only the lines that differ: what stands around them may hold other programs' secrets. */
export function diffOf(before: string, after: string): string {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < Math.min(old.length, fresh.length) && old[start] === fresh[start]) start++;
  let end = 0;
  const shorter = Math.min(old.length, fresh.length) - start;
  while (end < shorter && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  const gone = old.slice(start, old.length - end);
  const come = fresh.slice(start, fresh.length - end);
  if (gone.length * come.length > DIFF_CELLS_MAX) {
    return [...gone.map((line) => `- ${line}`), ...come.map((line) => `+ ${line}`)].join("\n");
  }
  return differing(gone, come).join("\n");
}

/** Two lists of lines, laid beside each other by what they share the most. */
function differing(old: readonly string[], fresh: readonly string[]): string[] {
  const width = fresh.length + 1;
  const shared = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number) => shared[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = fresh.length - 1; column >= 0; column--) {
      shared[row * width + column] = old[row] === fresh[column]
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: string[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < fresh.length) {
    const isShared = row < old.length && column < fresh.length && old[row] === fresh[column];
    const goes = column === fresh.length ||
      (row < old.length && at(row + 1, column) >= at(row, column + 1));
    if (isShared) row++, column++;
    else if (goes) lines.push(`- ${old[row++]}`);
    else lines.push(`+ ${fresh[column++]}`);
  }
  return lines;
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
