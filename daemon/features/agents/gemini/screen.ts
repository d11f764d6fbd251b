/** What Gemini CLI's screen tells: its composer, and the dialogs that take its place. */

import {
  looksLikeDialog,
  plain,
  type Screen,
  TEXT_BYTES_MAX,
  type View,
  visible,
} from "../screens.ts";

/** The composer stands below the lowest rule; a dialog's box begins with a corner. */
const RULE = /^─{20}/;
/** `>` alone takes prompts; `!` is the shell mode, whose lines are commands. */
const PROMPT = /^ > /;
const PLACEHOLDER = "Type your message or @path/to/file";
/** Where the cursor stands in an empty composer. */
const FIRST_COLUMN = 3;
/** The head of the table below the composer; a user may have hidden it, or named other columns. */
const FOOTER = /^ workspace \(\/directory\)/;
/** Shown with its seconds while a turn runs. */
const RUNNING = /\(esc to cancel, \d+/;

interface Box {
  /** The row of the prompt sign. */
  readonly top: number;
  /** The first row below. */
  readonly bottom: number;
}

/** Proved with 0.61.0: idle, busy, with drafts, at dialogs, in shell mode. */
export const geminiScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen({ lines }) {
    const rows = lines.map(plain);
    const box = boxOf(rows);
    // The transcript may speak of dialogs; an open one is never above the composer.
    if (looksLikeDialog(box ? rows.slice(box.bottom) : rows)) return true;
    return box ? false : undefined;
  },
  composerEmpty(view) {
    const box = boxOf(view.lines.map(plain));
    if (!box) return undefined;
    const text = textOf(view, box).trim();
    if (text === "") return true;
    const first = view.cursor_x === FIRST_COLUMN && view.cursor_y === box.top;
    return text === PLACEHOLDER && first;
  },
  holds(view, text) {
    const box = boxOf(view.lines.map(plain));
    return box !== undefined && visible(textOf(view, box)) === visible(text);
  },
  collapsedPaste(view) {
    const box = boxOf(view.lines.map(plain));
    if (!box) return false;
    return /^\[PastedText:\d+(chars|lines)\]$/.test(visible(textOf(view, box)));
  },
};

/** Whether a turn runs, as the screen has it; undefined where it shows neither. */
export function turnShown(view: View): "idle" | "working" | "awaiting_input" | undefined {
  const rows = view.lines.map(plain);
  const dialog = geminiScreen.dialogOpen(view);
  if (dialog === undefined) return undefined;
  if (dialog) return "awaiting_input";
  return rows.some((row) => RUNNING.test(row)) ? "working" : "idle";
}

function boxOf(rows: readonly string[]): Box | undefined {
  const rule = rows.findLastIndex((row) => RULE.test(row));
  const top = rows.findIndex((row, at) => at > rule && PROMPT.test(`${row} `));
  if (rule < 0 || top < 0) return undefined;
  const footer = rows.findLastIndex((row) => FOOTER.test(row));
  return { top, bottom: footer > top ? footer : rows.length };
}

/** All that stands in the composer, without its prompt sign. */
function textOf({ lines }: View, { top, bottom }: Box): string {
  const [first = "", ...rest] = lines.slice(top, bottom).map(plain);
  return [first.slice(2), ...rest].join("\n");
}
