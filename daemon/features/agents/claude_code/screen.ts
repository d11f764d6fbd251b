/** Claude Code's screen: its composer and its dialogs. */

import { composerAt, composerScreen, MENU_ENTRY, visibleAscii } from "../screens.ts";

/** A horizontal rule across the screen; Claude Code may write a label into it. */
const RULE = /^\s*[─╭╰]?─{8}/;
/**
 * The first row of the composer. A no-break space follows the prompt sign. A `!` in place of the
 * sign means Claude Code's shell mode.
 */
const PROMPT = /^❯(\s|$)/;

/**
 * The composer is between two rules and begins with `❯`; the lowest one counts. A dialog replaces
 * the composer. Tested with 2.1.329, in all permission modes, idle and busy.
 */
export const claudeScreen = composerScreen({
  find(rows, { lines }) {
    const rules = rows.flatMap((row, at) => RULE.test(row) ? [at] : []);
    for (let last = rules.length - 1; last > 0; last--) {
      const [above = 0, bottom = 0] = rules.slice(last - 1);
      const top = above + 1;
      const first = rows[top] ?? "";
      if (!PROMPT.test(first) || MENU_ENTRY.test(first)) continue;
      return composerAt(lines, { top, bottom, sign: "❯" });
    }
    return undefined;
  },
  isCollapsed: ({ text }) => /^\[Pastedtext#\d+(\+\d+lines)?\]$/.test(visibleAscii(text)),
});
