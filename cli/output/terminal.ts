/** Prints to the terminal. Only this file cleans untrusted text before it is printed. */

import { cleanLine } from "kit/core/text.ts";
import { columnWidths, displayWidth, GAP_COLUMNS, truncate } from "./table.ts";

const CODES = { bold: 1, dim: 2, inverse: 7, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof CODES;

/**
 * A piece of a line. Colours are added after the text is cleaned, so untrusted text cannot add
 * colours.
 */
export type StyledText = string | { readonly text: string; readonly style: Style };

/** Where text is printed and how. */
export interface Device {
  /** The terminal's width. Undefined when the output is not a terminal, so that nothing is cut. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** True when a person uses the terminal. */
  readonly interactive: boolean;
  /** True when standard error is a terminal, so that progress may be shown there. */
  readonly progress: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Reads standard input to its end. */
  read(): Promise<string>;
  /**
   * Yields what the terminal sends for keys, such as `a` or an escape sequence; undefined unless
   * standard input and output are a terminal.
   */
  readonly keys: ((signal: AbortSignal) => AsyncIterable<string>) | undefined;
  /** The device for a view of the whole screen; undefined if the terminal cannot show one. */
  readonly screen: ScreenDevice | undefined;
}

/** The size of a terminal, in cells. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** The signals that concern a view of the whole screen. */
export type ScreenSignal = "SIGWINCH" | "SIGTSTP" | "SIGCONT" | "SIGHUP" | "SIGQUIT";

export interface ScreenDevice {
  size(): ScreenSize;
  /** If true, single keys are passed on, without echo. Ctrl-C and Ctrl-Z stay signals. */
  setRaw(on: boolean): void;
  /** Calls the listener on each such signal until the result is disposed. */
  listen(signal: ScreenSignal, listener: () => void): Disposable;
  /** Stops this process, as Ctrl-Z does, until it is continued. */
  stop(): void;
}

/** The cells of a row, by the title of the column. */
type Columns<R> = Readonly<Record<string, (row: R) => StyledText>>;

interface TableOptions {
  /** Titles of the columns that are cut only when no other column can shrink further. */
  readonly essential?: readonly string[];
  /** The columns that are never cut. */
  readonly whole?: readonly string[];
  /** The columns that are left out, in this order, while the last column is cut too short. */
  readonly expendable?: readonly string[];
  /** Printed when there are no rows. */
  readonly empty?: string;
}

export function styled(style: Style, text: string): StyledText {
  return { style, text };
}

/** Columns that the last cell of a row gets before other columns are left out for it. */
const LAST_COLUMNS_MIN = 20;

/** Matches whole escape sequences, so that removing them leaves no printable remainder. */
// deno-lint-ignore no-control-regex -- It matches control characters in order to remove them.
const SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/** A colour or another style of text (SGR). */
// deno-lint-ignore no-control-regex -- It matches escape sequences in order to keep these.
const COLOUR = /(\x1b\[[\d;:]*m)/;

/**
 * Returns one line without control and invisible characters, so that untrusted text cannot move or
 * hide output.
 */
export function clean(text: string): string {
  return cleanLine(text.replaceAll(SEQUENCE, ""));
}

export class Terminal {
  readonly device: Device;

  constructor(device: Device) {
    this.device = device;
  }

  print(...segments: StyledText[]): void {
    this.device.out(renderLine(segments, this.device) + "\n");
  }

  /** Prints to standard error. Only a command's answer belongs on standard output. */
  printError(...segments: StyledText[]): void {
    this.device.err(renderLine(segments, this.device) + "\n");
  }

  /** Prints JSON; control and invisible characters are escaped. */
  printJson(answer: unknown, indent = 2): void {
    const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const text = JSON.stringify(answer, undefined, indent).replaceAll(
      /[\u007f-\u009f\u2028\u2029\p{Default_Ignorable_Code_Point}]/gu,
      (character) => character.replaceAll(/[^]/g, escapeUnit),
    );
    this.device.out(text + "\n");
  }

  /** Prints a text of several lines, and cleans each line. */
  printText(text: string, indent = ""): void {
    for (const line of text.split(/\r\n|[\n\r]/)) this.print(indent, line);
  }

  /** Prints the text of a message as it was written. */
  printMessage(text: string): void {
    this.printText(text);
  }

  /**
   * Prints the rows of another screen. Their colours are kept if this terminal has colours, or
   * `coloured` says so; everything else is cleaned.
   */
  printScreen(rows: readonly string[], coloured: boolean): void {
    const keepsColours = coloured || this.device.colours;
    const lines = rows.map((row) =>
      row.split(COLOUR).map((part, at) => at % 2 === 0 ? clean(part) : keepsColours ? part : "")
        .join("").trimEnd()
    );
    const reset = keepsColours && rows.some((row) => COLOUR.test(row)) ? "\x1b[0m" : "";
    this.device.out(lines.map((line) => `${line}\n`).join("") + reset);
  }

  /** Prints a table that fits the terminal. */
  printTable<R>(
    rows: readonly R[],
    columns: Columns<R>,
    { essential = [], whole = [], expendable = [], empty = "" }: TableOptions = {},
  ): void {
    if (rows.length === 0) return this.print(empty);
    const table = Object.entries(columns).map(([title, cell]) => {
      const cells = rows.map(cell);
      const widths = [title, ...cells.map(toPlainText)].map(displayWidth);
      return { title, cells, width: widths.reduce((max, width) => Math.max(max, width)) };
    });
    const shown = fittingColumns(table, expendable, this.device.columns);
    const titles = shown.map(({ title }) => title);
    const cells = rows.map((_, row) => shown.map((column) => column.cells[row] ?? ""));
    const widths = columnWidths([titles, ...cells.map((line) => line.map(toPlainText))], {
      columns: this.device.columns,
      essential: titles.map((title) => essential.includes(title)),
      whole: titles.map((title) => whole.includes(title)),
    });
    for (const line of [titles.map((title) => styled("bold", title)), ...cells]) {
      this.print(...line.flatMap((cell, index) => padCell(cell, widths, index)));
    }
  }

  /** Prints names and values, one per line; a null, undefined or empty value is left out. */
  printFields(fields: Record<string, StyledText | null | undefined>): void {
    const present = Object.entries(fields).flatMap(([name, value]) =>
      value ? [{ name, value }] : []
    );
    const width = Math.max(0, ...present.map(({ name }) => displayWidth(name)));
    for (const { name, value } of present) this.print(styled("dim", name.padEnd(width + 2)), value);
  }
}

/** The text that shows a line, without untrusted control characters and blanks at its end. */
export function renderLine(
  segments: readonly StyledText[],
  { colours }: Pick<Device, "colours">,
): string {
  const line = segments.map((segment) => {
    const text = toPlainText(segment);
    if (typeof segment === "string" || !colours || text === "") return text;
    return `\u001b[${CODES[segment.style]}m${text}\u001b[0m`;
  });
  return line.join("").trimEnd();
}

interface TableColumn {
  readonly title: string;
  readonly cells: readonly StyledText[];
  /** The width of its widest cell. */
  readonly width: number;
}

/** The columns that leave the last one enough room; expendable ones are left out in their order. */
function fittingColumns(
  table: readonly TableColumn[],
  expendable: readonly string[],
  columns = Infinity,
): readonly TableColumn[] {
  const last = table.at(-1);
  const needed = table.reduce((sum, { width }) => sum + width + GAP_COLUMNS, 0) - GAP_COLUMNS -
    Math.max(0, (last?.width ?? 0) - LAST_COLUMNS_MIN);
  const [dropped, ...others] = expendable;
  if (needed <= columns || dropped === undefined) return table;
  return fittingColumns(table.filter(({ title }) => title !== dropped), others, columns);
}

function padCell(cell: StyledText, widths: readonly number[], index: number): StyledText[] {
  const width = widths[index] ?? 0;
  const text = truncate(toPlainText(cell), width);
  const segment = typeof cell === "string" ? text : { ...cell, text };
  const last = index === widths.length - 1;
  return last ? [segment] : [segment, " ".repeat(width - displayWidth(text) + 2)];
}

/** The text of a segment as it is shown. */
export function toPlainText(segment: StyledText): string {
  return clean(typeof segment === "string" ? segment : segment.text);
}
