/** A QR code in a terminal: two rows of squares in each line. */

import { squaresOf } from "protocol/derived/qr_squares.ts";

/** The field of quiet around the code that readers need, in squares (ISO/IEC 18004). */
const QUIET = 4;

/**
 * The lines of a text's code; undefined if the text is too long. Light squares are drawn, because
 * most terminals have a dark background.
 */
export function qrLines(text: string): string[] | undefined {
  const squares = squaresOf(text);
  if (!squares) return undefined;
  const size = squares.length + 2 * QUIET;
  const isLight = (row: number, column: number) => !squares[row - QUIET]?.[column - QUIET];
  const lines: string[] = [];
  for (let row = 0; row < size; row += 2) {
    let line = "";
    for (let column = 0; column < size; column++) {
      const [top, bottom] = [isLight(row, column), row + 1 < size && isLight(row + 1, column)];
      line += top ? bottom ? "█" : "▀" : bottom ? "▄" : " ";
    }
    lines.push(line);
  }
  return lines;
}
