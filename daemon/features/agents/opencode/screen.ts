/** opencode's screen: its composer and its dialogs. Tested with 1.18.33. */

import { composerScreen } from "../screens.ts";

/** The lower edge of the composer; a dialog has no such edge. */
const EDGE = /^\s*╹▀{8}/;
const ROW = /^\s*┃/;
const PLACEHOLDER = /^Ask anything… "/;
/**
 * The gap before the panel beside the composer. In a row with wide characters there are fewer
 * characters than columns, so the text of the panel must be cut off here.
 */
const GAP = / {8,}/;

/** The composer is a bar of `┃` rows above its edge; its last row names the agent and model. */
export const opencodeScreen = composerScreen({
  find(rows) {
    const bottom = rows.findLastIndex((row) => EDGE.test(row));
    const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => !ROW.test(row)) + 1;
    if (top >= bottom) return undefined;
    const edge = rows[bottom] ?? "";
    const [from, to] = [edge.indexOf("╹") + 1, edge.lastIndexOf("▀") + 1];
    const cellText = (row: string) => row.slice(from, to).trim().split(GAP)[0] ?? "";
    return { top, bottom, text: rows.slice(top, bottom - 1).map(cellText).join("\n").trim() };
  },
  isEmpty: ({ text }) => text === "" || PLACEHOLDER.test(text),
  isCollapsed: ({ text }) => /^\[Pasted ~?\d+ lines?\]$/.test(text),
  dialog: /△ Permission required|Allow once/i,
});
