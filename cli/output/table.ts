/** How wide text stands in a terminal, and how columns share its width. Pure; prints nothing. */

/** Between two columns. */
const GAP = 2;
/** No column is cut below this, unless the terminal is narrower than all of them. */
const COLUMN_MIN = 6;

const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const PLAIN = /^[\x20-\x7e]*$/;
/** Scripts and forms that take two cells (Unicode UAX 11, wide and fullwidth). */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
const EMOJI = /^\p{Emoji_Presentation}|^\p{Extended_Pictographic}.*\ufe0f|^\p{Regional_Indicator}/u;
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Cells that a text takes: one each, two for wide characters and emoji, none for marks. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segments.segment(text)) width += widthOfOne(segment);
  return width;
}

/** The text, or as much of it as fits before an ellipsis. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns < 1) return "";
  let kept = "", width = 0;
  for (const { segment } of segments.segment(text)) {
    width += widthOfOne(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** What the columns of a table may use. */
interface Room {
  /** Undefined where nothing is cut. */
  readonly columns: number | undefined;
  /** Columns that give way last, such as names and ids. */
  readonly kept?: readonly boolean[];
}

/** The width of each column; the widest give way first. */
export function layOut(
  lines: readonly (readonly string[])[],
  { columns, kept = [] }: Room,
): number[] {
  const count = Math.max(0, ...lines.map((line) => line.length));
  const widths = Array.from({ length: count }, (_, at) => widest(lines, at));
  if (columns === undefined) return widths;
  const room = columns - GAP * (count - 1);
  // None can be wider than all together: a text of a peer's is not shortened cell by cell.
  for (const [at, width] of widths.entries()) widths[at] = Math.min(width, Math.max(0, room));
  shrink(widths, room, (at) => kept[at] ? Infinity : COLUMN_MIN);
  shrink(widths, room, () => COLUMN_MIN);
  shrink(widths, room, () => 0);
  return widths;
}

/** Takes cells from the widest column, one by one, while any is above its least width. */
function shrink(widths: number[], room: number, least: (at: number) => number): void {
  let total = widths.reduce((sum, width) => sum + width, 0);
  while (total > room) {
    const spare = widths.map((width, at) => width > least(at) ? width : 0);
    const most = Math.max(...spare);
    if (most === 0) return;
    widths[spare.lastIndexOf(most)] = most - 1;
    total--;
  }
}

function widest(lines: readonly (readonly string[])[], at: number): number {
  return lines.reduce((most, line) => Math.max(most, widthOf(line[at] ?? "")), 0);
}

function widthOfOne(grapheme: string): number {
  if (NOTHING.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}
