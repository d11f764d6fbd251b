/** The one door to the terminal: whatever others wrote is cleaned here, and nowhere else. */

import { cleanLine } from "kit/core/text.ts";
import { fit, layOut, widthOf } from "./table.ts";

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof CODES;

/** A piece of a line; colours are added after cleaning, so no text can bring its own. */
export type Piece = string | { readonly text: string; readonly style: Style };

/** Where lines go, and how much room there is. */
export interface Terminal {
  /** Undefined when it is no terminal: then nothing is cut. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** True when a person sits at it. */
  readonly person: boolean;
  out(text: string): void;
  err(text: string): void;
  /** All that comes on the standard input. */
  read(): Promise<string>;
}

export interface Column<R> {
  readonly title: string;
  readonly of: (row: R) => Piece;
  /** Cut only when nothing else can give way. */
  readonly kept?: true;
}

export function ink(style: Style, text: string): Piece {
  return { style, text };
}

/** Colours and movements of the cursor: whole, so that no rest of them is left to read. */
// deno-lint-ignore no-control-regex -- Control characters are what is taken out.
const SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/** One line, without what steers or is not seen: a peer's text cannot move or hide anything. */
export function clean(text: string): string {
  return cleanLine(text.replaceAll(SEQUENCE, ""));
}

export function print(to: Terminal, ...pieces: Piece[]): void {
  to.out(render(to, pieces) + "\n");
}

/** For what went wrong and for hints: the answer alone belongs on the standard output. */
export function complain(to: Terminal, ...pieces: Piece[]): void {
  to.err(render(to, pieces) + "\n");
}

/** The contract's answer, unchanged: what steers or is not seen is written as an escape. */
export function printJson(to: Terminal, answer: unknown, indent = 2): void {
  const text = JSON.stringify(answer, undefined, indent).replaceAll(
    /[\u007f-\u009f\u2028\u2029\p{Default_Ignorable_Code_Point}]/gu,
    (sign) =>
      sign.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
  to.out(text + "\n");
}

/** A text of several lines, each cleaned. */
export function printText(to: Terminal, text: string, indent = ""): void {
  for (const line of text.split(/\r\n|[\n\r]/)) print(to, indent, line);
}

/** Rows under titles, as wide as the terminal at most; `nothing` is said when there are none. */
export function printTable<R>(
  to: Terminal,
  columns: readonly Column<R>[],
  rows: readonly R[],
  nothing: string,
): void {
  if (rows.length === 0) return print(to, nothing);
  const cells = rows.map((row) => columns.map(({ of }) => of(row)));
  const titles = columns.map(({ title }) => title);
  const widths = layOut([titles, ...cells.map((line) => line.map(plain))], {
    columns: to.columns,
    kept: columns.map(({ kept }) => kept ?? false),
  });
  const put = (line: readonly Piece[]) =>
    print(to, ...line.flatMap((cell, at) => padded(cell, widths, at)));
  put(titles.map((title) => ink("bold", title)));
  for (const line of cells) put(line);
}

/** Names and values under each other; a value that is null or undefined is left out. */
export function printFields(to: Terminal, fields: Record<string, Piece | null | undefined>): void {
  const known = Object.entries(fields).flatMap(([name, value]) =>
    value === null || value === undefined || value === "" ? [] : [{ name, value }]
  );
  const width = Math.max(0, ...known.map(({ name }) => widthOf(name)));
  for (const { name, value } of known) print(to, ink("dim", name.padEnd(width + 2)), value);
}

function padded(cell: Piece, widths: readonly number[], at: number): Piece[] {
  const width = widths[at] ?? 0;
  const text = fit(plain(cell), width);
  const piece = typeof cell === "string" ? text : { ...cell, text };
  const last = at === widths.length - 1;
  return last ? [piece] : [piece, " ".repeat(width - widthOf(text) + 2)];
}

function plain(piece: Piece): string {
  return clean(typeof piece === "string" ? piece : piece.text);
}

function render({ colours }: Terminal, pieces: readonly Piece[]): string {
  return pieces.map((piece) => {
    const text = plain(piece);
    if (typeof piece === "string" || !colours || text === "") return text;
    return `\u001b[${CODES[piece.style]}m${text}\u001b[0m`;
  }).join("").trimEnd();
}

/** The terminal of this process. */
export function processTerminal(env: Readonly<Record<string, string>>): Terminal {
  const encoder = new TextEncoder();
  const wide = Deno.stdout.isTerminal();
  return {
    // A terminal that does not know its width says 0.
    columns: wide ? Deno.consoleSize().columns || undefined : undefined,
    colours: wide && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    person: [Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal()),
    out: (text) => writeAll(Deno.stdout, encoder.encode(text)),
    err: (text) => writeAll(Deno.stderr, encoder.encode(text)),
    read: () => new Response(Deno.stdin.readable).text(),
  };
}

interface Writer {
  writeSync(bytes: Uint8Array): number;
}

function writeAll(to: Writer, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) at += to.writeSync(bytes.subarray(at));
}
