/** Reads captured screens: finds an open dialog, an empty composer, and the pasted text. */

import { HOOKS } from "protocol/derived/waits.ts";
import type { ReportedWait } from "protocol/peers/record.ts";

/** A captured pane: rows keep their colours (SGR), which distinguish a placeholder from a draft. */
export interface View {
  /** Rows above the screen, oldest first, up to the number requested. */
  readonly above: readonly string[];
  /** The rows of the screen, from top to bottom. */
  readonly lines: readonly string[];
  readonly cursor_x: number;
  readonly cursor_y: number;
}

/**
 * The reader of one program's screen. A method returns `undefined` if the screen shows no evidence,
 * and the message is then not delivered.
 */
export interface Screen {
  /** The longest text to type. Longer texts are cut, with a note to use `mesh show`. */
  readonly bytes_max: number;
  /**
   * `kept` if a paste with newlines stays one message. `marked` if each newline would act as Enter,
   * so that a visible mark replaces it.
   */
  readonly newlines: "kept" | "marked";
  dialogOpen(view: View): boolean | undefined;
  /** The kind of dialog that the screen shows, if it shows one. */
  dialogShown(view: View): ReportedWait;
  composerEmpty(view: View): boolean | undefined;
  /** True if the composer shows the pasted text, including its id, and nothing typed since. */
  composerHolds(view: View, text: string): boolean;
  /** True if the composer shows only a marker in place of a long paste. */
  collapsedPaste?(view: View): boolean;
  /** The words beside the composer while Escape interrupts a turn. Absent if they are unknown. */
  readonly work?: WorkHints & {
    /** The row that shows one of these words; undefined if none does. */
    rowOf(view: View, words: string): number | undefined;
  };
}

/** The words with which an agent says that Escape interrupts, in the syntax of `DIALOG_PATTERN`. */
interface WorkHints {
  /** The words before each Escape that the agent needs. One more would open a dialog in most. */
  readonly hints: readonly [string, ...string[]];
  /** The words in a turn in which Escape would take the prompt back instead. */
  readonly takes_back?: string;
}

/** An agent's composer, as its screen shows it. */
interface Composer {
  /** The row of the prompt sign. */
  readonly top: number;
  /** The first row below the composer. */
  readonly bottom: number;
  /** The text, without the prompt sign. */
  readonly text: string;
}

/** The way to find the composer of one agent, and to read it. */
interface ComposerFormat {
  /** Finds the composer. `rows` are the rows of the screen without escape sequences. */
  find(rows: readonly string[], view: View): Composer | undefined;
  /** True if the composer shows only a marker in place of a long paste. */
  isCollapsed(composer: Composer): boolean;
  /** A row of a dialog that has none of the known phrases. */
  readonly dialog?: RegExp;
  /** True if the composer is empty. Default: it shows no text. */
  isEmpty?(composer: Composer, view: View): boolean;
  /** True if the visible characters show the whole text. Default: they are equal. */
  holds?(shown: string, whole: string): boolean;
  /** The words while a turn can be interrupted, above or below the composer. */
  readonly work?: WorkHints & { readonly side: "above" | "below" };
}

/** Rows above a composer in which an agent shows that it works. Above them is its conversation. */
const WORK_ROWS_MAX = 8;

/** The screen of an agent whose composer a dialog replaces. */
export function composerScreen(format: ComposerFormat): Screen {
  const { work } = format;
  const find = (view: View) => format.find(view.lines.map(stripEscapes), view);
  // The transcript may mention dialogs, but an open dialog is never above the composer.
  const rowsBelow = (view: View, composer = find(view)) =>
    view.lines.slice(composer?.bottom ?? 0).map(stripEscapes);
  const isEmpty = format.isEmpty ?? (({ text }: Composer) => text.trim() === "");
  const holds = format.holds ?? ((shown: string, whole: string) => shown === whole);
  return {
    bytes_max: TEXT_BYTES_MAX,
    newlines: "kept",
    dialogOpen(view) {
      const composer = find(view);
      const rows = rowsBelow(view, composer);
      if (looksLikeDialog(rows) || rows.some((row) => format.dialog?.test(row))) return true;
      return composer ? false : undefined;
    },
    dialogShown: (view) => dialogIn(rowsBelow(view)) ?? { kind: "dialog" },
    ...(work && {
      work: {
        ...work,
        rowOf(view, pattern) {
          const composer = find(view);
          const rows = view.lines.map(stripEscapes);
          return composer && rowBeside(rows, composer, { pattern, side: work.side });
        },
      },
    }),
    composerEmpty(view) {
      const composer = find(view);
      return composer && isEmpty(composer, view);
    },
    composerHolds: (view, text) => holds(visibleAscii(find(view)?.text ?? ""), visibleAscii(text)),
    collapsedPaste(view) {
      const composer = find(view);
      return composer !== undefined && format.isCollapsed(composer);
    },
  };
}

/** The row above or below a composer that matches a pattern. */
function rowBeside(
  rows: readonly string[],
  { top, bottom }: Composer,
  { pattern, side }: { readonly pattern: string; readonly side: "above" | "below" },
): number | undefined {
  const from = side === "above" ? Math.max(0, top - WORK_ROWS_MAX) : bottom;
  const to = side === "above" ? top : rows.length;
  const words = new RegExp(pattern, "i");
  const row = rows.findLastIndex((text, at) => at >= from && at < to && words.test(text));
  return row < 0 ? undefined : row;
}

/** The composer in these rows, with its text from behind the prompt sign, without a placeholder. */
export function composerAt(
  lines: readonly string[],
  { top, bottom, sign }: { top: number; bottom: number; sign: string },
): Composer {
  const text = withoutPlaceholder(lines).slice(top, bottom).join("\n").replace(sign, "");
  return { top, bottom, text };
}

/** The longest text for a pane (contract 5). */
export const TEXT_BYTES_MAX = 8_192;
/**
 * Phrases of the known agents' dialogs, in which Enter approves something or ends the program, by
 * the kind of dialog. They must not contain `,`, `#` or braces, which have a meaning in tmux
 * formats. Read from Claude Code 2.1.329, Codex 0.169.0 and 0.171.0, Gemini CLI 0.61.0, opencode
 * 1.18.33 and Copilot CLI 1.0.102.
 */
const DIALOGS: readonly (ReportedWait & { readonly phrases: readonly string[] })[] = [
  {
    kind: "trust",
    phrases: [
      "Yes. I trust this folder",
      "Do you trust the (files|contents)",
      "Trust this folder.",
    ],
  },
  { kind: "trust", detail: HOOKS, phrases: ["Hooks need review"] },
  {
    kind: "login",
    phrases: [
      "Select login method",
      "Sign in with (ChatGPT|Google)",
      "How would you like to authenticate",
    ],
  },
  { kind: "limit", phrases: ["Usage limit reached for"] },
  { kind: "question", phrases: ["Copilot needs information"] },
  {
    kind: "permission",
    phrases: [
      "Do you want to (create|make|run|proceed|allow|edit|write|fetch|use|overwrite)",
      "Would you like to (run|make|proceed|apply)",
      "Esc to cancel . Tab to amend",
      "Allow execution of",
      "Allow once +Allow always",
      "Yes. proceed",
    ],
  },
  { kind: "dialog", phrases: ["Press enter to confirm", "Enter to (confirm|select) . "] },
];

/** One pattern that works in JavaScript and in tmux's extended regular expressions. */
export const DIALOG_PATTERN = DIALOGS.flatMap(({ phrases }) => phrases).join("|");
const DIALOG = new RegExp(DIALOG_PATTERN, "i");
const READERS = DIALOGS.map(({ phrases, ...wait }) => ({
  wait,
  pattern: new RegExp(phrases.join("|"), "i"),
}));
/** Texts beside a composer, with which an agent asks for a login. */
const LOGIN_TEXT = /Please (use|run) \/login|Not logged in|Please log in/i;

/** The selected entry of a numbered menu, e.g. ` ❯ 1. Yes`. */
export const MENU_ENTRY = /^[\s│┃|]*[❯›●]\s*\d\.\s/;

/** A row without escape sequences and trailing spaces (a no-break space stays, as in tmux). */
export function stripEscapes(row: string): string {
  // deno-lint-ignore no-control-regex -- Matches escape sequences.
  return row.replace(/\x1b\[[\d;:]*m|[\x0e\x0f]/g, "").replace(/(?<! ) +$/, "");
}

/** The first row, counted from 1, with a dialog's phrase; 0 for none. */
export function dialogRow({ lines }: View): number {
  return lines.findIndex((row) => DIALOG.test(stripEscapes(row))) + 1;
}

/** The dialog that rows without escape sequences show; undefined if they show none. */
export function dialogIn(rows: readonly string[]): ReportedWait | undefined {
  const found = READERS.find(({ pattern }) => rows.some((row) => pattern.test(row)));
  return found?.wait ?? (rows.some((row) => MENU_ENTRY.test(row)) ? { kind: "dialog" } : undefined);
}

/**
 * The wait that the first screen of a program shows: a dialog, or a login. On a later
 * screen, the same words may be a part of the conversation.
 */
export function waitAtStart(lines: readonly string[]): ReportedWait | undefined {
  const rows = lines.map(stripEscapes);
  const needsLogin = rows.some((row) => LOGIN_TEXT.test(row));
  return dialogIn(rows) ?? (needsLogin ? { kind: "login" } : undefined);
}

export function looksLikeDialog(rows: readonly string[]): boolean {
  return rows.some((row) => DIALOG.test(row) || MENU_ENTRY.test(row));
}

/**
 * The rows without placeholders. A placeholder is faint text (SGR 2). An inverse character before
 * it is the drawn cursor, which is removed, too. tmux carries the colours of one row over into the
 * next.
 */
export function withoutPlaceholder(lines: readonly string[]): string[] {
  const typed: string[] = [];
  let cursor = false;
  for (const { part, style } of styledParts(lines.join("\n"))) {
    if (style.faint && cursor) typed.pop();
    typed.push(style.faint ? part.replace(/[^\n]/g, "") : part);
    cursor = style.inverse && part.length === 1;
  }
  return typed.join("").split("\n");
}

/** A cursor that a program draws itself: an inverse character. */
interface DrawnCursor {
  readonly row: number;
  /** The text of the row to its left. */
  readonly before: string;
  /** The character below it, and the text to its right that is not faint or coloured. */
  readonly typed: string;
}

/** The lowest drawn cursor. Ink ends a row at its cursor with an invisible character. */
export function drawnCursor(lines: readonly string[]): DrawnCursor | undefined {
  for (const [row, line] of [...lines.entries()].reverse()) {
    let text = "", before: string | undefined, typed = "";
    for (const { part, style } of styledParts(line.replaceAll("\u200b", ""))) {
      if (before !== undefined) typed += style.faint || style.coloured ? "" : part;
      else if (style.inverse && part.length === 1) [before, typed] = [text, part];
      else text += part;
    }
    if (before !== undefined) return { row, before, typed };
  }
  return undefined;
}

interface Style {
  readonly faint: boolean;
  readonly inverse: boolean;
  readonly coloured: boolean;
}

/** The texts between the colour codes, each with its style. */
function* styledParts(text: string): Generator<{ readonly part: string; readonly style: Style }> {
  let style: Style = { faint: false, inverse: false, coloured: false };
  // deno-lint-ignore no-control-regex -- Matches escape sequences.
  for (const part of text.split(/(\x1b\[[\d;:]*m)/)) {
    // deno-lint-ignore no-control-regex -- See above.
    const codes = /^\x1b\[([\d;:]*)m$/.exec(part)?.[1];
    if (codes !== undefined) style = applyCodes(style, codes.split(";"));
    else if (part !== "") yield { part, style };
  }
}

function applyCodes(style: Style, codes: readonly string[]): Style {
  let { faint, inverse, coloured } = style;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at];
    if (code === "38" || /^(3|9)[0-7]$/.test(code ?? "")) coloured = true;
    // Skips the colour that follows.
    if (code === "38" || code === "48") at += codes[at + 1] === "5" ? 2 : 4;
    else if (code === "39") coloured = false;
    else if (code === "2") faint = true;
    else if (code === "7") inverse = true;
    else if (code === "22") faint = false;
    else if (code === "27") inverse = false;
    else if (code === "0" || code === "") faint = inverse = coloured = false;
  }
  return { faint, inverse, coloured };
}

/**
 * The part of a text that survives wrapping, indenting and boxing: its visible ASCII. Terminals
 * disagree on how to keep other characters.
 */
export function visibleAscii(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "");
}
