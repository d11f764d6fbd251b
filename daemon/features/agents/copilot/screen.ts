/** What Copilot CLI's screen tells: its composer, and the dialogs that take its place. */

import {
  looksLikeDialog,
  MENU_ENTRY,
  type Screen,
  stripEscapes,
  TEXT_BYTES_MAX,
  type View,
  visibleAscii,
  withoutPlaceholder,
} from "../screens.ts";

/** The composer stands between the two lowest rules; all else is indented, or in a box. */
const RULE = /^─{20}/;
/** `❯` takes prompts; `!` in its place is the shell mode, and other words are a search. */
const PROMPT = /^❯(\s|$)/;
/** Its further rows: a draft's blank lines, or text behind two blanks. */
const CONTINUATION = /^(\s{2}|$)/;
/** Where the cursor stands in an empty composer. */
const FIRST_COLUMN = 2;
/** The last row of its lists, and of the help, which takes a key to go away. */
const PROMPT_ROW = /\benter (accept|open)\b|\bany key close help\b/;
/** A composer that shows the end of a long text only: enough of it to know the text by. */
const END_CHARS_MIN = 200;

/** Proved with 1.0.102: idle, busy, with drafts, at dialogs, in menus and in shell mode. */
export const copilotScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen({ lines }) {
    const rows = lines.map(stripEscapes);
    const composer = findComposer(rows);
    // The transcript may speak of dialogs; an open one is never above the composer.
    const shownText = composer ? rows.slice(composer.bottom) : rows;
    if (looksLikeDialog(shownText) || shownText.some((row) => PROMPT_ROW.test(row))) return true;
    return composer ? false : undefined;
  },
  composerEmpty(view) {
    const composer = findComposer(view.lines.map(stripEscapes));
    if (!composer) return undefined;
    const first = view.cursor_x === FIRST_COLUMN && view.cursor_y === composer.top;
    return first && composerText(view, composer).trim() === "";
  },
  /** The composer was empty before the paste, so that what it ends with is all there is. */
  composerHolds(view, text) {
    const composer = findComposer(view.lines.map(stripEscapes));
    if (!composer) return false;
    const [shownText, whole] = [visibleAscii(composerText(view, composer)), visibleAscii(text)];
    return shownText === whole || (shownText.length >= END_CHARS_MIN && whole.endsWith(shownText));
  },
  collapsedPaste(view) {
    const composer = findComposer(view.lines.map(stripEscapes));
    if (!composer) return false;
    return /^\[Paste#\d+-\d+lines\]$/.test(visibleAscii(composerText(view, composer)));
  },
};

interface ComposerRows {
  /** The row of the prompt sign. */
  readonly top: number;
  /** The first row below. */
  readonly bottom: number;
}

function findComposer(rows: readonly string[]): ComposerRows | undefined {
  const bottom = rows.findLastIndex((row) => RULE.test(row));
  const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => RULE.test(row)) + 1;
  const [first = "", ...more] = rows.slice(top, bottom);
  if (top < 1 || !PROMPT.test(first) || MENU_ENTRY.test(first)) return undefined;
  return more.every((row) => CONTINUATION.test(row)) ? { top, bottom } : undefined;
}

/** All that stands in the composer, without its prompt sign. */
function composerText({ lines }: View, { top, bottom }: ComposerRows): string {
  return withoutPlaceholder(lines).slice(top, bottom).join("\n").replace("❯", "");
}
