/** Claude Code's screen: its composer and its dialogs. */

import {
  looksLikeDialog,
  MENU_ENTRY,
  type Screen,
  stripEscapes,
  TEXT_BYTES_MAX,
  visibleAscii,
  withoutPlaceholder,
} from "../screens.ts";

/** A horizontal rule across the screen; Claude Code may write a label into it. */
const RULE = /^\s*[─╭╰]?─{8}/;
/**
 * The first row of the composer. A no-break space follows the prompt sign. A `!` in place of the
 * sign means Claude Code's shell mode.
 */
const PROMPT = /^❯(\s|$)/;

/**
 * The composer is between two rules and begins with `❯`. A dialog replaces the composer. Tested
 * with 2.1.329, in all permission modes, idle and busy.
 */
export const claudeScreen: Screen = {
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
  composerEmpty({ lines }) {
    if (!findComposer(lines.map(stripEscapes))) return undefined;
    return composerText(lines).replace("❯", "").trim() === "";
  },
  composerHolds({ lines }, text) {
    return visibleAscii(composerText(lines)) === visibleAscii(text);
  },
  collapsedPaste({ lines }) {
    return /^\[Pastedtext#\d+(\+\d+lines)?\]$/.test(visibleAscii(composerText(lines)));
  },
};

/** The rows of the lowest composer: from `top` up to, not including, `bottom`. */
function findComposer(rows: readonly string[]): { top: number; bottom: number } | undefined {
  const rules = rows.flatMap((row, at) => RULE.test(row) ? [at] : []);
  for (let last = rules.length - 1; last > 0; last--) {
    const [above, below] = [rules[last - 1] ?? 0, rules[last] ?? 0];
    const first = rows[above + 1] ?? "";
    if (PROMPT.test(first) && !MENU_ENTRY.test(first)) return { top: above + 1, bottom: below };
  }
  return undefined;
}

/** The composer's text, with its prompt sign. */
function composerText(lines: readonly string[]): string {
  const composer = findComposer(lines.map(stripEscapes));
  return composer ? withoutPlaceholder(lines).slice(composer.top, composer.bottom).join("") : "";
}
