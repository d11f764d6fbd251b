/** The screen of an unknown program: the line at the cursor, on which a user types. */

import { looksLikeDialog, type Screen, stripEscapes, visibleAscii } from "../screens.ts";

/**
 * The longest text to type. A terminal in line mode keeps 4,095 bytes of a line and drops the rest
 * (n_tty).
 */
const LINE_BYTES_MAX = 3_500;

/**
 * The composer is the line at the cursor. It counts as empty if it is blank or ends in a prompt
 * sign (`$ # % > ❯ › »`). Anything else counts as a draft: text after the first sign, text right of
 * the cursor, a question (`[Y/n]`, `Password:`), a line without a sign. Not detected: text typed
 * without echo, a draft of spaces, a draft above the cursor's line, a program that is busy.
 */
export const genericScreen: Screen = {
  bytes_max: LINE_BYTES_MAX,
  newlines: "marked",
  dialogOpen({ lines }) {
    return looksLikeDialog(lines.map(stripEscapes));
  },
  composerEmpty({ lines, cursor_y }) {
    const line = stripEscapes(lines[cursor_y] ?? "");
    const prompt = /^.*?([$#>❯›»]|(?<!\d)%)(?=\s|$)/.exec(line)?.[0] ?? "";
    return line.slice(prompt.length).trim() === "";
  },
  composerHolds({ above, lines, cursor_y }, text) {
    const rows = [...above, ...lines.slice(0, cursor_y + 1)].map(stripEscapes);
    return visibleAscii(rows.join("")).endsWith(visibleAscii(text));
  },
};
