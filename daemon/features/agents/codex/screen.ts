/** How Codex shows its composer, and how its dialogs look. */

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

/** The composer's first row; `!` in its place is Codex's shell mode, and no composer of ours. */
const PROMPT = /^›(\s|$)/;
/** Its further rows: a draft's blank lines, or text behind two blanks. */
const CONTINUED = /^(\s{2}|$)/;

/**
 * Codex: the composer begins with `›`, holds the cursor, and stands above a footer of one or two
 * rows; a dialog takes its place. Proved with 0.169.0, idle and busy.
 */
export const codexScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen(view) {
    const rows = view.lines.map(plain);
    const box = boxOf(view);
    // The transcript may speak of dialogs; an open one is never above the composer.
    if (looksLikeDialog(box ? rows.slice(box.bottom) : rows)) return true;
    return box ? false : undefined;
  },
  composerEmpty(view) {
    return boxOf(view) ? textOf(view).trim() === "" : undefined;
  },
  holds(view, text) {
    return visible(textOf(view)) === visible(text);
  },
  collapsedPaste(view) {
    return /^\[PastedContent\d+chars\]$/.test(visible(textOf(view)));
  },
};

/** The rows of the composer: from `top` up to, not including, `bottom`. */
function boxOf({ lines, cursor_y }: View): { top: number; bottom: number } | undefined {
  const rows = lines.map(plain);
  const last = rows.findLastIndex((row) => row !== "");
  const bottom = rows.slice(0, last + 1).lastIndexOf("");
  const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => PROMPT.test(row));
  if (top < 0 || cursor_y < top || cursor_y >= bottom) return undefined;
  const [first = "", ...more] = rows.slice(top, bottom);
  return CHOICE.test(first) || !more.every((row) => CONTINUED.test(row))
    ? undefined
    : { top, bottom };
}

/** All that stands in the composer, without its prompt sign. */
function textOf(view: View): string {
  const box = boxOf(view);
  const rows = box ? withoutPlaceholder(view.lines).slice(box.top, box.bottom) : [];
  return rows.join("\n").replace("›", "");
}
