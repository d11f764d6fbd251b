/** Codex's screen: its composer and its dialogs. */

import { composerAt, composerScreen, MENU_ENTRY, visibleAscii } from "../screens.ts";

/** The composer's first row. A `!` in place of `›` is the shell mode, which takes no prompts. */
const PROMPT = /^›(\s|$)/;
/** Further rows of the composer: blank lines, or text behind two spaces. */
const CONTINUATION = /^(\s{2}|$)/;

/**
 * The composer begins with `›`, holds the cursor, and is above a footer of one or two rows. A
 * dialog replaces the composer. Tested with 0.169.0, idle and busy.
 */
export const codexScreen = composerScreen({
  find(rows, { lines, cursor_y }) {
    const last = rows.findLastIndex((row) => row !== "");
    const bottom = rows.slice(0, last + 1).lastIndexOf("");
    const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => PROMPT.test(row));
    if (top < 0 || cursor_y < top || cursor_y >= bottom) return undefined;
    const [first = "", ...more] = rows.slice(top, bottom);
    const isComposer = !MENU_ENTRY.test(first) && more.every((row) => CONTINUATION.test(row));
    return isComposer ? composerAt(lines, { top, bottom, sign: "›" }) : undefined;
  },
  isCollapsed: ({ text }) => /^\[PastedContent\d+chars\]$/.test(visibleAscii(text)),
});
