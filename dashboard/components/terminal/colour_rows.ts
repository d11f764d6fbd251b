/**
 * Rows of a captured screen, with no sequences except colours. So the output of a program in a
 * pane cannot move the cursor, name a link, set a title or reach the clipboard.
 */

/** A colour sequence (SGR); a shift of the character set; any other sequence or control. */
const TOKENS =
  // deno-lint-ignore no-control-regex
  /(\x1b\[[\d;:]{0,100}m)|([\x0e\x0f])|\x1b(?:\[[^@-~]*[@-~]?|[P\]X^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*.?)|[\x00-\x1f\x7f-\x9f]/gsu;

/** The row with its colours, and with the shifts in which tmux writes line drawings. */
export function withColoursOnly(row: string): string {
  return row.replace(TOKENS, (_, colours?: string, shift?: string) => colours ?? shift ?? "");
}

/** The row as plain text, for screen readers and for copying. */
export function plainText(row: string): string {
  return row.replace(TOKENS, "");
}
