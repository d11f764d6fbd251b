/** Codex's screen: its composer and its dialogs. */

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
 * The composer's first row. A `!` in place of `›` means Codex's shell mode, which takes no prompts.
 */
const PROMPT = /^›(\s|$)/;
/** Further rows of the composer: blank lines, or text behind two spaces. */
const CONTINUATION = /^(\s{2}|$)/;

/**
 * The composer begins with `›`, holds the cursor, and is above a footer of one or two rows. A
 * dialog replaces the composer. Tested with 0.169.0, idle and busy.
 */
export const codexScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen(view) {
    const rows = view.lines.map(stripEscapes);
    const composer = findComposer(view);
    // The transcript above the composer may mention dialogs, but an open dialog is never above the
    // composer.
    if (looksLikeDialog(composer ? rows.slice(composer.bottom) : rows)) return true;
    return composer ? false : undefined;
  },
  composerEmpty(view) {
    return findComposer(view) ? composerText(view).trim() === "" : undefined;
  },
  composerHolds(view, text) {
    return visibleAscii(composerText(view)) === visibleAscii(text);
  },
  collapsedPaste(view) {
    return /^\[PastedContent\d+chars\]$/.test(visibleAscii(composerText(view)));
  },
};

/** The rows of the composer: from `top` up to, not including, `bottom`. */
function findComposer({ lines, cursor_y }: View): { top: number; bottom: number } | undefined {
  const rows = lines.map(stripEscapes);
  const last = rows.findLastIndex((row) => row !== "");
  const bottom = rows.slice(0, last + 1).lastIndexOf("");
  const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => PROMPT.test(row));
  if (top < 0 || cursor_y < top || cursor_y >= bottom) return undefined;
  const [first = "", ...more] = rows.slice(top, bottom);
  return MENU_ENTRY.test(first) || !more.every((row) => CONTINUATION.test(row))
    ? undefined
    : { top, bottom };
}

/** The composer's text, without its prompt sign. */
function composerText(view: View): string {
  const composer = findComposer(view);
  const rows = composer ? withoutPlaceholder(view.lines).slice(composer.top, composer.bottom) : [];
  return rows.join("\n").replace("›", "");
}
