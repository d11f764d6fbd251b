/** The display width of text in a terminal, and the column widths of a table. */

/** The gap between two columns. */
export const GAP_COLUMNS = 2;
/** Columns get narrower than this only when the table does not fit otherwise. */
const COLUMN_MIN = 6;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
/** Characters that take two cells: the wide and fullwidth characters of Unicode UAX 11. */
const DOUBLE_WIDTH =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
const EMOJI = /^\p{Emoji_Presentation}|^\p{Extended_Pictographic}.*\ufe0f|^\p{Regional_Indicator}/u;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** The width in cells: two for wide characters and emoji, none for combining marks. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += graphemeWidth(segment);
  return width;
}

/** The text, cut with an ellipsis if it does not fit. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return "";
  return `${cutToWidths(text, columns - 1).next().value ?? ""}…`;
}

/** The text in pieces of at most `columns` cells. Only a wide character may be wider. */
export function* cutToWidths(text: string, columns: number): Generator<string> {
  let piece = "", width = 0;
  for (const { segment } of graphemesOf(text)) {
    const added = graphemeWidth(segment);
    if (width + added > columns && (piece !== "" || columns < 1)) {
      yield piece;
      piece = "";
      width = 0;
    }
    piece += segment;
    width += added;
  }
  if (piece !== "") yield piece;
}

/** The space that a table may fill. */
interface TableLayout {
  /** The width of the terminal. If undefined, nothing is cut. */
  readonly columns: number | undefined;
  /** The columns that shrink last. */
  readonly essential?: readonly boolean[];
  /** The columns that are never cut, such as ids. They may make a line longer than the terminal. */
  readonly whole?: readonly boolean[];
}

/** The width of each column. If the table does not fit, the widest columns shrink first. */
export function columnWidths(
  lines: readonly (readonly string[])[],
  { columns, essential = [], whole = [] }: TableLayout,
): number[] {
  const count = Math.max(0, ...lines.map((line) => line.length));
  const widths = Array.from({ length: count }, (_, index) => widestCell(lines, index));
  if (columns === undefined) return widths;
  const available = columns - GAP_COLUMNS * (count - 1);
  // Caps each column first, so that a peer's very long text is not shortened cell by cell.
  for (const [index, width] of widths.entries()) {
    if (!whole[index]) widths[index] = Math.min(width, Math.max(0, available));
  }
  const minOf = (index: number, min: number) => whole[index] ? Infinity : min;
  shrink(widths, available, (index) => minOf(index, essential[index] ? Infinity : COLUMN_MIN));
  shrink(widths, available, (index) => minOf(index, COLUMN_MIN));
  shrink(widths, available, (index) => minOf(index, 0));
  return widths;
}

/** Shrinks the widest column cell by cell until the columns fit or reach their minimum. */
function shrink(widths: number[], available: number, min: (index: number) => number): void {
  let total = widths.reduce((sum, width) => sum + width, 0);
  while (total > available) {
    const shrinkable = widths.map((width, index) => width > min(index) ? width : 0);
    const max = Math.max(...shrinkable);
    if (max === 0) return;
    widths[shrinkable.lastIndexOf(max)] = max - 1;
    total--;
  }
}

function widestCell(lines: readonly (readonly string[])[], index: number): number {
  return lines.reduce((max, line) => Math.max(max, displayWidth(line[index] ?? "")), 0);
}

let segmenter: Intl.Segmenter | undefined;

/** The segmenter is made on first use, because making it takes 8 ms. */
function graphemesOf(text: string): Intl.Segments {
  return (segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(text);
}

function graphemeWidth(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return DOUBLE_WIDTH.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}
