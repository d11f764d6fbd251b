/** Prints to the terminal. Only this file cleans untrusted text before it is printed. */

import { cleanLine } from "kit/core/text.ts";
import { columnWidths, displayWidth, truncate } from "./table.ts";

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof CODES;

/**
 * A piece of a line. Colours are added after the text is cleaned, so untrusted text cannot add
 * colours.
 */
export type StyledText = string | { readonly text: string; readonly style: Style };

/** Where text is printed and how. */
export interface Terminal {
  /** The terminal's width. Undefined when the output is not a terminal, so that nothing is cut. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** True when a person uses the terminal. */
  readonly interactive: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Reads standard input to its end. */
  read(): Promise<string>;
}

export interface Column<R> {
  readonly title: string;
  readonly cell: (row: R) => StyledText;
  /** If true, the column is cut only when no other column can shrink further. */
  readonly essential?: true;
}

export function styled(style: Style, text: string): StyledText {
  return { style, text };
}

/** Matches whole escape sequences, so that removing them leaves no printable remainder. */
// deno-lint-ignore no-control-regex -- It matches control characters in order to remove them.
const SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/**
 * Returns one line without control and invisible characters, so that untrusted text cannot move or
 * hide output.
 */
export function clean(text: string): string {
  return cleanLine(text.replaceAll(SEQUENCE, ""));
}

export function print(to: Terminal, ...segments: StyledText[]): void {
  to.out(render(to, segments) + "\n");
}

/**
 * Prints an error or a hint to standard error. Only a command's answer belongs on standard output.
 */
export function printError(to: Terminal, ...segments: StyledText[]): void {
  to.err(render(to, segments) + "\n");
}

/** Prints JSON; control and invisible characters are escaped. */
export function printJson(to: Terminal, answer: unknown, indent = 2): void {
  const text = JSON.stringify(answer, undefined, indent).replaceAll(
    /[\u007f-\u009f\u2028\u2029\p{Default_Ignorable_Code_Point}]/gu,
    (character) =>
      character.replaceAll(
        /[^]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
  );
  to.out(text + "\n");
}

/** Prints a text of several lines, and cleans each line. */
export function printText(to: Terminal, text: string, indent = ""): void {
  for (const line of text.split(/\r\n|[\n\r]/)) print(to, indent, line);
}

/** Prints a table that fits the terminal. Prints `emptyText` when there are no rows. */
export function printTable<R>(
  to: Terminal,
  columns: readonly Column<R>[],
  rows: readonly R[],
  emptyText: string,
): void {
  if (rows.length === 0) return print(to, emptyText);
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const titles = columns.map(({ title }) => title);
  const widths = columnWidths([titles, ...cells.map((line) => line.map(toPlainText))], {
    columns: to.columns,
    essential: columns.map(({ essential }) => essential ?? false),
  });
  const printRow = (line: readonly StyledText[]) =>
    print(to, ...line.flatMap((cell, index) => padCell(cell, widths, index)));
  printRow(titles.map((title) => styled("bold", title)));
  for (const line of cells) printRow(line);
}

/** Prints names and values, one per line; a null, undefined or empty value is left out. */
export function printFields(
  to: Terminal,
  fields: Record<string, StyledText | null | undefined>,
): void {
  const present = Object.entries(fields).flatMap(([name, value]) =>
    value === null || value === undefined || value === "" ? [] : [{ name, value }]
  );
  const width = Math.max(0, ...present.map(({ name }) => displayWidth(name)));
  for (const { name, value } of present) print(to, styled("dim", name.padEnd(width + 2)), value);
}

function padCell(cell: StyledText, widths: readonly number[], index: number): StyledText[] {
  const width = widths[index] ?? 0;
  const text = truncate(toPlainText(cell), width);
  const segment = typeof cell === "string" ? text : { ...cell, text };
  const last = index === widths.length - 1;
  return last ? [segment] : [segment, " ".repeat(width - displayWidth(text) + 2)];
}

function toPlainText(segment: StyledText): string {
  return clean(typeof segment === "string" ? segment : segment.text);
}

function render({ colours }: Terminal, segments: readonly StyledText[]): string {
  return segments.map((segment) => {
    const text = toPlainText(segment);
    if (typeof segment === "string" || !colours || text === "") return text;
    return `\u001b[${CODES[segment.style]}m${text}\u001b[0m`;
  }).join("").trimEnd();
}

/** The terminal of this process. */
export function processTerminal(env: Readonly<Record<string, string>>): Terminal {
  const encoder = new TextEncoder();
  const isTerminal = Deno.stdout.isTerminal();
  return {
    // A terminal of unknown width reports 0.
    columns: isTerminal ? Deno.consoleSize().columns || undefined : undefined,
    colours: isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    interactive: [Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal()),
    out: (text) => writeAll(Deno.stdout, encoder.encode(text)),
    err: (text) => writeAll(Deno.stderr, encoder.encode(text)),
    read: () => new Response(Deno.stdin.readable).text(),
  };
}

interface Writer {
  writeSync(bytes: Uint8Array): number;
}

function writeAll(to: Writer, bytes: Uint8Array): void {
  let index = 0;
  while (index < bytes.length) index += to.writeSync(bytes.subarray(index));
}
