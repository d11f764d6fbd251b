/** What Copilot CLI's screen tells: its composer, and the dialogs that take its place. */

import {
  CHOICE,
  looksLikeDialog,
  plain,
  type Screen,
  TEXT_BYTES_MAX,
  type View,
  visible,
  withoutPlaceholder,
} from "../screens.ts";

/** The composer stands between the two lowest rules; all else is indented, or in a box. */
const RULE = /^─{20}/;
/** `❯` takes prompts; `!` in its place is the shell mode, and other words are a search. */
const PROMPT = /^❯(\s|$)/;
/** Its further rows: a draft's blank lines, or text behind two blanks. */
const CONTINUED = /^(\s{2}|$)/;
/** Where the cursor stands in an empty composer. */
const FIRST_COLUMN = 2;
/** The last row of its lists, and of the help, which takes a key to go away. */
const ASKING = /\benter (accept|open)\b|\bany key close help\b/;
/** A composer that shows the end of a long text only: enough of it to know the text by. */
const END_CHARS_MIN = 200;

/** Proved with 1.0.102: idle, busy, with drafts, at dialogs, in menus and in shell mode. */
export const copilotScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen({ lines }) {
    const rows = lines.map(plain);
    const box = boxOf(rows);
    // The transcript may speak of dialogs; an open one is never above the composer.
    const shown = box ? rows.slice(box.bottom) : rows;
    if (looksLikeDialog(shown) || shown.some((row) => ASKING.test(row))) return true;
    return box ? false : undefined;
  },
  composerEmpty(view) {
    const box = boxOf(view.lines.map(plain));
    if (!box) return undefined;
    const first = view.cursor_x === FIRST_COLUMN && view.cursor_y === box.top;
    return first && textOf(view, box).trim() === "";
  },
  /** The composer was empty before the paste, so that what it ends with is all there is. */
  holds(view, text) {
    const box = boxOf(view.lines.map(plain));
    if (!box) return false;
    const [shown, whole] = [visible(textOf(view, box)), visible(text)];
    return shown === whole || (shown.length >= END_CHARS_MIN && whole.endsWith(shown));
  },
  collapsedPaste(view) {
    const box = boxOf(view.lines.map(plain));
    if (!box) return false;
    return /^\[Paste#\d+-\d+lines\]$/.test(visible(textOf(view, box)));
  },
};

interface Box {
  /** The row of the prompt sign. */
  readonly top: number;
  /** The first row below. */
  readonly bottom: number;
}

function boxOf(rows: readonly string[]): Box | undefined {
  const bottom = rows.findLastIndex((row) => RULE.test(row));
  const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => RULE.test(row)) + 1;
  const [first = "", ...more] = rows.slice(top, bottom);
  if (top < 1 || !PROMPT.test(first) || CHOICE.test(first)) return undefined;
  return more.every((row) => CONTINUED.test(row)) ? { top, bottom } : undefined;
}

/** All that stands in the composer, without its prompt sign. */
function textOf({ lines }: View, { top, bottom }: Box): string {
  return withoutPlaceholder(lines).slice(top, bottom).join("\n").replace("❯", "");
}
