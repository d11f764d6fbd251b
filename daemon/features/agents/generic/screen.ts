/** The screen of an unknown program: the line at the cursor, on which a user types. */

import {
  drawnCursor,
  looksLikeDialog,
  type Screen,
  stripEscapes,
  type View,
  visibleAscii,
} from "../screens.ts";

/** A terminal in line mode keeps 4,095 bytes of a line and drops the rest (n_tty). */
const LINE_BYTES_MAX = 3_500;

/**
 * The composer is the line at the cursor. It counts as empty if it is blank or ends in a prompt
 * sign (`$ # % > ❯ › »`). Any other line counts as a draft: text after the first sign, text right
 * of the cursor, a question (`[Y/n]`, `Password:`), a line without a sign. Not detected: text typed
 * without echo, a draft of spaces, a draft above the cursor's line, a program that is busy.
 *
 * Many programs hide the terminal's cursor, leave it on a blank line below, and draw their own.
 * Then the composer reaches from the line with the sign to that cursor. A placeholder, which is
 * faint or coloured text with the cursor at its start, is no draft.
 */
export const genericScreen: Screen = {
  bytes_max: LINE_BYTES_MAX,
  newlines: "marked",
  dialogOpen({ lines }) {
    return looksLikeDialog(lines.map(stripEscapes));
  },
  composerEmpty(view) {
    const drawn = drawnComposer(view);
    if (drawn) return drawn.text.trim() === "";
    const line = stripEscapes(view.lines[view.cursor_y] ?? "");
    const prompt = /^.*?([$#>❯›»]|(?<!\d)%)(?=\s|$)/.exec(line)?.[0] ?? "";
    return line.slice(prompt.length).trim() === "";
  },
  composerHolds(view, text) {
    const { above, lines, cursor_y } = view;
    const bottom = drawnComposer(view)?.bottom ?? cursor_y;
    const rows = [...above, ...lines.slice(0, bottom + 1)].map(stripEscapes);
    return visibleAscii(rows.join("")).endsWith(visibleAscii(text));
  },
};

/** A prompt sign at the start of a line, in a box or not. */
const SIGN = /^[\s│┃|]*[$#>❯›»%]\s/;

/** The composer of a program that draws its own cursor: its text, and the row of the cursor. */
function drawnComposer({ lines, cursor_y }: View): { text: string; bottom: number } | undefined {
  if (stripEscapes(lines[cursor_y] ?? "").trim() !== "") return undefined;
  const drawn = drawnCursor(lines);
  if (!drawn) return undefined;
  const rows = [...lines.slice(0, drawn.row).map(stripEscapes), drawn.before];
  const top = rows.findLastIndex((row) => SIGN.test(row));
  if (top === -1) return undefined;
  const text = rows.slice(top).join("\n").replace(SIGN, "");
  return { text: `${text}${drawn.typed}`, bottom: drawn.row };
}
