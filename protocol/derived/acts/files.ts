/** The changes of files that an agent asks permission for, beside the present files. No I/O. */

import { fileDiff, hunksOf, NO_LINE_END } from "protocol/derived/compare.ts";
import { countLines, type FileDiff } from "protocol/derived/diff.ts";
import { numberHunks, type PatchFile } from "protocol/derived/acts/patch.ts";

/** A file before the act: its text, or null if there is none, or why it was not read. */
export type FileBefore = { readonly text: string | null } | { readonly unread: string };
/** Maximum characters of a comparison with a file, beyond those of the input. */
const COMPARED_CHARS_MAX = 65_536;
/** The diff of a file that gets a new text. */
export function compared(before: FileBefore, path: string, text: string): FileDiff {
  const added = fileDiff(path, "", text);
  if ("unread" in before) return { ...added, note: `All lines are shown: ${before.unread}` };
  if (before.text === null) return { ...added, note: "A new file" };
  const diff = fileDiff(path, before.text, text);
  if (diff.hunks.length === 0) {
    return { ...added, note: "All lines are shown: the file has this text already" };
  }
  if (sizeOf(diff) - text.length <= COMPARED_CHARS_MAX) return diff;
  return { ...added, note: "All lines are shown: the file before is too different" };
}

export interface Edit {
  readonly old: string;
  readonly fresh: string;
  readonly all: boolean;
}

/** The diff of the edits in their file; without the file, of their texts. */
export function edited(before: FileBefore, path: string, edits: readonly Edit[]): FileDiff {
  const text = "text" in before ? before.text ?? "" : undefined;
  const after = text === undefined ? undefined : applyAll(text, edits);
  if (text !== undefined && after !== undefined) {
    const diff = fileDiff(path, text, after);
    const given = edits.reduce((sum, { old, fresh }) => sum + old.length + fresh.length, 0);
    if (sizeOf(diff) - given <= COMPARED_CHARS_MAX && diff.hunks.length > 0) return diff;
  }
  const hunks = edits.flatMap(({ old, fresh, all }) => {
    // The end of such a text is not the end of its file.
    const areAlike = old !== "" && fresh !== "" && !old.endsWith("\n") && !fresh.endsWith("\n");
    const end = areAlike ? [] : ["\\ No newline at the end of this text"];
    const remark = all ? ["\\ each place where this text is"] : [];
    return hunksOf(old, fresh).map(({ lines }) => {
      const shown = lines.flatMap((line) => line === NO_LINE_END ? end : line);
      return { old_start: null, new_start: null, lines: [...remark, ...shown] };
    });
  });
  const why = "unread" in before ? before.unread : "the text to replace is not once in the file";
  const counts = { added: countLines(hunks, "+"), removed: countLines(hunks, "-") };
  return { path, ...counts, hunks, note: `No line numbers: ${why}` };
}

/** The text after the edits; undefined unless each one's old text is in it exactly as required. */
function applyAll(before: string, edits: readonly Edit[]): string | undefined {
  let text = before;
  for (const { old, fresh, all } of edits) {
    const at = text.indexOf(old);
    const isNew = old === "" && text === "";
    if (at < 0 || (old === "" && !isNew)) return undefined;
    if (!all && !isNew && text.indexOf(old, at + 1) >= 0) return undefined;
    text = all ? text.replaceAll(old, () => fresh) : text.replace(old, () => fresh);
  }
  return text;
}

export function placed({ change, ...file }: PatchFile, before: FileBefore): FileDiff {
  if (change === "delete") return { ...file, note: "The file is deleted" };
  if ("unread" in before) return { ...file, note: `No line numbers: ${before.unread}` };
  if (change === "add") {
    return { ...file, note: before.text === null ? "A new file" : "Replaces the file" };
  }
  return { ...file, hunks: numberHunks(file.hunks, before.text ?? "") };
}

function sizeOf({ hunks }: Pick<FileDiff, "hunks">): number {
  return hunks.reduce((sum, { lines }) => sum + lines.join("\n").length, 0);
}
