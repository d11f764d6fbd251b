/** Reads the patch format of the tool `apply_patch`. No I/O. */

import { countLines, type FileDiff, type Hunk } from "protocol/derived/diff.ts";

/** A file of a patch. */
export interface PatchFile extends FileDiff {
  readonly change: "add" | "delete" | "update";
}

const HEADER = /^\*\*\* (Add|Delete|Update) File: (.+)$/;
const CHANGES = { Add: "add", Delete: "delete", Update: "update" } as const;

/**
 * The files of a patch; undefined unless every line of it is understood. The patch names no line
 * numbers. A hunk begins at `@@`, whose text names the place and is shown as a remark.
 */
export function readPatch(patch: string): PatchFile[] | undefined {
  const lines = patch.trim().split("\n");
  if (lines.shift() !== "*** Begin Patch" || lines.pop() !== "*** End Patch") return undefined;
  const files: { change: PatchFile["change"]; path: string; old_path?: string; hunks: Draft[] }[] =
    [];
  for (const line of lines) {
    const file = files.at(-1);
    const [, header, path] = HEADER.exec(line) ?? [];
    const moved = /^\*\*\* Move to: (.+)$/.exec(line)?.[1];
    if (header !== undefined && path !== undefined) {
      files.push({ change: CHANGES[header as keyof typeof CHANGES], path, hunks: [] });
    } else if (!file || file.change === "delete") {
      return undefined;
    } else if (moved !== undefined && file.change === "update" && file.hunks.length === 0) {
      [file.old_path, file.path] = [file.path, moved];
    } else if (!addLine(file, line)) {
      return undefined;
    }
  }
  return files.length === 0 ? undefined : files.map((file) => ({
    ...file,
    added: countLines(file.hunks, "+"),
    removed: countLines(file.hunks, "-"),
  }));
}

interface Draft extends Hunk {
  readonly lines: string[];
}

/** Adds a line of a hunk; false for any other line. */
function addLine(
  { change, hunks }: { change: PatchFile["change"]; hunks: Draft[] },
  line: string,
): boolean {
  if (change === "add") {
    if (!line.startsWith("+")) return false;
    if (hunks.length === 0) hunks.push({ old_start: 1, new_start: 1, lines: [] });
    hunks.at(-1)?.lines.push(line);
    return true;
  }
  if (line.startsWith("@@")) {
    const place = line.slice(2).trim();
    const lines = place === "" ? [] : [`\\ at ${place}`];
    hunks.push({ old_start: null, new_start: null, lines });
    return true;
  }
  if (line === "*** End of File") {
    hunks.at(-1)?.lines.push("\\ End of file");
    return hunks.length > 0;
  }
  if (!/^[ +-]/.test(line) && line !== "") return false;
  if (hunks.length === 0) hunks.push({ old_start: null, new_start: null, lines: [] });
  hunks.at(-1)?.lines.push(line || " ");
  return true;
}

/** Numbers the hunks whose lines occur exactly once in the file. */
export function numberHunks(hunks: readonly Hunk[], text: string): Hunk[] {
  const file = text.split("\n");
  let shift = 0;
  return hunks.map((hunk) => {
    const old = hunk.lines.filter((line) => /^[ -]/.test(line)).map((line) => line.slice(1));
    const at = onlyPlace(file, old);
    if (hunk.old_start !== null || at === undefined) return hunk;
    const numbered = { ...hunk, old_start: at + 1, new_start: at + 1 + shift };
    shift += countLines([hunk], "+") - countLines([hunk], "-");
    return numbered;
  });
}

/** The index at which these lines occur, if they occur once. */
function onlyPlace(file: readonly string[], lines: readonly string[]): number | undefined {
  const [first] = lines;
  if (first === undefined) return undefined;
  const isAt = (at: number) => lines.every((line, index) => file[at + index] === line);
  let found: number | undefined;
  for (let at = file.indexOf(first); at >= 0; at = file.indexOf(first, at + 1)) {
    if (!isAt(at)) continue;
    if (found !== undefined) return undefined;
    found = at;
  }
  return found;
}
