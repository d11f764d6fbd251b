/** Copilot CLI's screen: its composer, and the dialogs that replace it. */

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

/**
 * A horizontal rule. The composer is between the two lowest rules. Other such rows are indented or
 * in a box.
 */
const RULE = /^─{20}/;
/**
 * The composer's first row. Only `❯` takes prompts. In its place, `!` means the shell mode, and
 * other words mean a search.
 */
const PROMPT = /^❯(\s|$)/;
/** Further rows of the composer: blank lines, or text behind two spaces. */
const CONTINUATION = /^(\s{2}|$)/;
/** The cursor's column in an empty composer. */
const FIRST_COLUMN = 2;
/**
 * The last row of Copilot CLI's lists and of its help. They count as dialogs, and any key closes
 * the help.
 */
const PROMPT_ROW = /\benter (accept|open)\b|\bany key close help\b/;
/** How much of a long text's end must be shown to recognize the text. */
const END_CHARS_MIN = 200;

/** Tested with 1.0.102: idle, busy, with drafts, at dialogs, in menus and in shell mode. */
export const copilotScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen({ lines }) {
    const rows = lines.map(stripEscapes);
    const composer = findComposer(rows);
    // The transcript may mention dialogs; an open dialog is never above the composer.
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
  /** The composer was empty before the paste, so the shown end identifies the whole text. */
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
  /** The first row below the composer. */
  readonly bottom: number;
}

function findComposer(rows: readonly string[]): ComposerRows | undefined {
  const bottom = rows.findLastIndex((row) => RULE.test(row));
  const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => RULE.test(row)) + 1;
  const [first = "", ...more] = rows.slice(top, bottom);
  if (top < 1 || !PROMPT.test(first) || MENU_ENTRY.test(first)) return undefined;
  return more.every((row) => CONTINUATION.test(row)) ? { top, bottom } : undefined;
}

/** The composer's text, without its prompt sign. */
function composerText({ lines }: View, { top, bottom }: ComposerRows): string {
  return withoutPlaceholder(lines).slice(top, bottom).join("\n").replace("❯", "");
}
