/** Gemini CLI's screen: its composer, and the dialogs that replace it. */

import {
  looksLikeDialog,
  type Screen,
  stripEscapes,
  TEXT_BYTES_MAX,
  type View,
  visibleAscii,
} from "../screens.ts";

/**
 * A horizontal rule. The composer is below the lowest rule. A dialog's box begins with a corner
 * instead.
 */
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

interface ComposerRows {
  /** The row of the prompt sign. */
  readonly top: number;
  /** The first row below the composer. */
  readonly bottom: number;
}

/** Tested with 0.61.0: idle, busy, with drafts, at dialogs, in shell mode. */
export const geminiScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen({ lines }) {
    const rows = lines.map(stripEscapes);
    const composer = findComposer(rows);
    // The transcript above the composer may mention dialogs, but an open dialog is never above the
    // composer.
    if (looksLikeDialog(composer ? rows.slice(composer.bottom) : rows)) return true;
    return composer ? false : undefined;
  },
  composerEmpty(view) {
    const composer = findComposer(view.lines.map(stripEscapes));
    if (!composer) return undefined;
    const text = composerText(view, composer).trim();
    if (text === "") return true;
    const first = view.cursor_x === FIRST_COLUMN && view.cursor_y === composer.top;
    return text === PLACEHOLDER && first;
  },
  composerHolds(view, text) {
    const composer = findComposer(view.lines.map(stripEscapes));
    return composer !== undefined &&
      visibleAscii(composerText(view, composer)) === visibleAscii(text);
  },
  collapsedPaste(view) {
    const composer = findComposer(view.lines.map(stripEscapes));
    if (!composer) return false;
    return /^\[PastedText:\d+(chars|lines)\]$/.test(visibleAscii(composerText(view, composer)));
  },
};

/** The turn state that the screen shows; undefined if it cannot be read. */
export function turnStateShown(view: View): "idle" | "working" | "awaiting_input" | undefined {
  const rows = view.lines.map(stripEscapes);
  const dialog = geminiScreen.dialogOpen(view);
  if (dialog === undefined) return undefined;
  if (dialog) return "awaiting_input";
  return rows.some((row) => RUNNING.test(row)) ? "working" : "idle";
}

function findComposer(rows: readonly string[]): ComposerRows | undefined {
  const rule = rows.findLastIndex((row) => RULE.test(row));
  const top = rows.findIndex((row, at) => at > rule && PROMPT.test(`${row} `));
  if (rule < 0 || top < 0) return undefined;
  const footer = rows.findLastIndex((row) => FOOTER.test(row));
  return { top, bottom: footer > top ? footer : rows.length };
}

/** The composer's text, without its prompt sign. */
function composerText({ lines }: View, { top, bottom }: ComposerRows): string {
  const [first = "", ...rest] = lines.slice(top, bottom).map(stripEscapes);
  return [first.slice(2), ...rest].join("\n");
}
