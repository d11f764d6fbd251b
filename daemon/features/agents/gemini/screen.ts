/** Gemini CLI's screen: its composer, and the dialogs that replace it. */

import { composerScreen, stripEscapes, type View, visibleAscii } from "../screens.ts";

/** A rule. The composer is below the lowest one. A dialog's box begins with a corner instead. */
const RULE = /^─{20}/;
/**
 * The composer's first row. Only `>` takes prompts. A `!` in its place means the shell mode, whose
 * lines are commands.
 */
const PROMPT = /^ > /;
const PLACEHOLDER = "Type your message or @path/to/file";
/** The cursor's column in an empty composer. */
const FIRST_COLUMN = 3;
/** The head of the table below the composer; users may hide it or choose other columns. */
const FOOTER = /^ workspace \(\/directory\)/;
/** The text that is shown while a turn runs, with the elapsed seconds. */
const RUNNING = /\(esc to cancel, \d+/;

/** Tested with 0.61.0: idle, busy, with drafts, at dialogs, in shell mode. */
export const geminiScreen = composerScreen({
  find(rows) {
    const rule = rows.findLastIndex((row) => RULE.test(row));
    const top = rows.findIndex((row, at) => at > rule && PROMPT.test(`${row} `));
    if (rule < 0 || top < 0) return undefined;
    const footer = rows.findLastIndex((row) => FOOTER.test(row));
    const bottom = footer > top ? footer : rows.length;
    const [first = "", ...rest] = rows.slice(top, bottom);
    return { top, bottom, text: [first.slice(2), ...rest].join("\n") };
  },
  isEmpty({ top, text }, { cursor_x, cursor_y }) {
    if (text.trim() === "") return true;
    return text.trim() === PLACEHOLDER && cursor_x === FIRST_COLUMN && cursor_y === top;
  },
  isCollapsed: ({ text }) => /^\[PastedText:\d+(chars|lines)\]$/.test(visibleAscii(text)),
});

/** The turn state that the screen shows; undefined if it cannot be read. */
export function turnStateShown(view: View): "idle" | "working" | "awaiting_input" | undefined {
  const dialog = geminiScreen.dialogOpen(view);
  if (dialog === undefined) return undefined;
  if (dialog) return "awaiting_input";
  return view.lines.some((row) => RUNNING.test(stripEscapes(row))) ? "working" : "idle";
}
