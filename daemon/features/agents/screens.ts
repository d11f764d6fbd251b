/** What a captured screen tells: is a dialog open, is the composer empty, did the paste arrive. */

/** A pane as captured: rows may hold colours (SGR), which tell a placeholder from a draft. */
export interface View {
  /** Rows that have scrolled off, oldest first; as many as were asked for. */
  readonly above: readonly string[];
  /** The rows of the screen, from its top to its bottom. */
  readonly lines: readonly string[];
  readonly cursor_x: number;
  readonly cursor_y: number;
}

/** How one kind of program shows its composer. `undefined` is no evidence, and refuses. */
export interface Screen {
  /** A text of more bytes is cut, and named for `mesh show`. */
  readonly bytes_max: number;
  /** `kept` where a paste with newlines is one message; `marked` where each would be Enter. */
  readonly newlines: "kept" | "marked";
  dialogOpen(view: View): boolean | undefined;
  composerEmpty(view: View): boolean | undefined;
  /** The composer shows the pasted text, its id included, and nothing that was typed since. */
  composerHolds(view: View, text: string): boolean;
  /** The composer shows a marker in place of a long paste, and nothing else. */
  collapsedPaste?(view: View): boolean;
}

/** What an agent's pane is given at most (contract 5). */
export const TEXT_BYTES_MAX = 8_192;
/**
 * Words of the known agents' dialogs (no `,`, `#` or brace, for tmux reads them in a format
 * too). In all of them Enter approves something, or ends the program.
 */
const DIALOG_PHRASES = [
  "Do you want to (create|make|run|proceed|allow|edit|write|fetch|use|overwrite)",
  "Would you like to (run|make|proceed|apply)",
  "Press enter to confirm",
  "Esc to cancel . Tab to amend",
  "Enter to (confirm|select) . ",
  "Allow execution of",
  "Allow once +Allow always",
  "Hooks need review",
  "Yes. I trust this folder",
  "Yes. proceed",
  "Copilot needs information",
] as const;

/** The same as one pattern: for JavaScript, and for tmux's extended regular expressions. */
export const DIALOG_PATTERN = DIALOG_PHRASES.join("|");
const DIALOG = new RegExp(DIALOG_PATTERN, "i");
/** A chosen entry of a numbered menu, e.g. ` ❯ 1. Yes`. */
export const MENU_ENTRY = /^[\s│┃|]*[❯›●]\s*\d\.\s/;

/** A row without escape sequences and trailing blanks (a no-break space stays, as in tmux). */
export function stripEscapes(row: string): string {
  // deno-lint-ignore no-control-regex -- Escape sequences are what is looked for.
  return row.replace(/\x1b\[[\d;:]*m|[\x0e\x0f]/g, "").replace(/(?<! ) +$/, "");
}

/** The first row, counted from 1, with words of a dialog; 0 for none. */
export function dialogRow({ lines }: View): number {
  return lines.findIndex((row) => DIALOG.test(stripEscapes(row))) + 1;
}

export function looksLikeDialog(rows: readonly string[]): boolean {
  return rows.some((row) => DIALOG.test(row) || MENU_ENTRY.test(row));
}

/**
 * The rows without their placeholder: faint text (SGR 2), and the one inverse character before it
 * that is the drawn cursor. tmux carries the colours of one row over into the next.
 */
export function withoutPlaceholder(lines: readonly string[]): string[] {
  let style = { faint: false, inverse: false };
  const typed: string[] = [];
  let cursor = false;
  // deno-lint-ignore no-control-regex -- Escape sequences are what is looked for.
  for (const part of lines.join("\n").split(/(\x1b\[[\d;:]*m)/)) {
    // deno-lint-ignore no-control-regex -- See above.
    const codes = /^\x1b\[([\d;:]*)m$/.exec(part)?.[1];
    if (codes !== undefined) style = applyCodes(style, codes.split(";"));
    else if (part !== "") {
      if (style.faint && cursor) typed.pop();
      typed.push(style.faint ? part.replace(/[^\n]/g, "") : part);
      cursor = style.inverse && part.length === 1;
    }
  }
  return typed.join("").split("\n");
}

interface Style {
  readonly faint: boolean;
  readonly inverse: boolean;
}

function applyCodes(style: Style, codes: readonly string[]): Style {
  let { faint, inverse } = style;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at];
    if (code === "38" || code === "48") at += codes[at + 1] === "5" ? 2 : 4; // A colour follows.
    else if (code === "2") faint = true;
    else if (code === "7") inverse = true;
    else if (code === "22") faint = false;
    else if (code === "27") inverse = false;
    else if (code === "0" || code === "") faint = inverse = false;
  }
  return { faint, inverse };
}

/**
 * What survives every way of wrapping, indenting and boxing a text: its visible ASCII. Other
 * characters are left out, because terminals disagree on how to keep them.
 */
export function visibleAscii(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "");
}
