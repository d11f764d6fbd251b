/** Copilot CLI's screen: its composer, and the dialogs that replace it. */

import { composerAt, composerScreen, MENU_ENTRY, visibleAscii } from "../screens.ts";

/** A rule. The composer is between the lowest two. Other such rows are indented or in a box. */
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
/** The last row of lists and of the help. They count as dialogs: any key closes the help. */
const PROMPT_ROW = /\benter (accept|open)\b|\bany key close help\b/;
/** Minimum characters at a long text's end that must be shown to recognize it. */
const END_CHARS_MIN = 200;

/** Tested with 1.0.102: idle, busy, with drafts, at dialogs, in menus and in shell mode. */
export const copilotScreen = composerScreen({
  find(rows, { lines }) {
    const bottom = rows.findLastIndex((row) => RULE.test(row));
    const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => RULE.test(row)) + 1;
    const [first = "", ...more] = rows.slice(top, bottom);
    if (top < 1 || !PROMPT.test(first) || MENU_ENTRY.test(first)) return undefined;
    const isComposer = more.every((row) => CONTINUATION.test(row));
    return isComposer ? composerAt(lines, { top, bottom, sign: "❯" }) : undefined;
  },
  isEmpty: ({ top, text }, { cursor_x, cursor_y }) =>
    cursor_x === FIRST_COLUMN && cursor_y === top && text.trim() === "",
  /** The composer was empty before the paste, so the shown end identifies the whole text. */
  holds: (shown, whole) =>
    shown === whole || (shown.length >= END_CHARS_MIN && whole.endsWith(shown)),
  isCollapsed: ({ text }) => /^\[Paste#\d+-\d+lines\]$/.test(visibleAscii(text)),
  dialog: PROMPT_ROW,
});
