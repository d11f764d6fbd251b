/** opencode's screen: its composer and its dialogs. Tested with 1.18.33. */

import {
  DIALOG_PATTERN,
  type Screen,
  stripEscapes,
  TEXT_BYTES_MAX,
  visibleAscii,
} from "../screens.ts";

/** The lower edge of the composer; a dialog has no such edge. */
const EDGE = /^\s*╹▀{8}/;
const ROW = /^\s*┃/;
const PLACEHOLDER = /^Ask anything… "/;
const DIALOG = new RegExp(`${DIALOG_PATTERN}|△ Permission required|Allow once`, "i");
/**
 * The gap before the panel beside the composer. In a row with wide characters there are fewer
 * characters than columns, so the text of the panel must be cut off here.
 */
const GAP = / {8,}/;

/** The composer is a bar of `┃` rows above its edge; its last row names the agent and model. */
export const opencodeScreen: Screen = {
  bytes_max: TEXT_BYTES_MAX,
  newlines: "kept",
  dialogOpen({ lines }) {
    const rows = lines.map(stripEscapes);
    const edge = edgeOf(rows);
    // The transcript may mention dialogs, but an open dialog replaces the composer, so rows above a
    // composer are not searched.
    if ((edge === undefined ? rows : rows.slice(edge)).some((row) => DIALOG.test(row))) return true;
    return edge === undefined ? undefined : false;
  },
  composerEmpty({ lines }) {
    const text = composerText(lines);
    return text === undefined ? undefined : text === "" || PLACEHOLDER.test(text);
  },
  composerHolds({ lines }, text) {
    return visibleAscii(composerText(lines) ?? "") === visibleAscii(text);
  },
  collapsedPaste({ lines }) {
    return /^\[Pasted ~?\d+ lines?\]$/.test(composerText(lines) ?? "");
  },
};

function edgeOf(rows: readonly string[]): number | undefined {
  const at = rows.findLastIndex((row) => EDGE.test(row));
  return at < 1 ? undefined : at;
}

/** The composer's text; undefined if there is no composer. */
function composerText(lines: readonly string[]): string | undefined {
  const rows = lines.map(stripEscapes);
  const edge = edgeOf(rows);
  if (edge === undefined) return undefined;
  let top = edge;
  while (top > 0 && ROW.test(rows[top - 1] ?? "")) top--;
  if (top === edge) return undefined;
  const edgeRow = rows[edge] ?? "";
  const [from, to] = [edgeRow.indexOf("╹") + 1, edgeRow.lastIndexOf("▀") + 1];
  const cellText = (row: string) => row.slice(from, to).trim().split(GAP)[0] ?? "";
  return rows.slice(top, edge - 1).map(cellText).join("\n").trim();
}
