/** A QR code, drawn with the part of the page that encodes it. */

import { useEffect, useState } from "preact/hooks";
import type * as encoder from "protocol/derived/qr_squares.ts";
import { part } from "../state/parts.ts";
import { Failed } from "./basics.tsx";

const loadEncoder = part<typeof encoder>("qr");

/** The field of quiet around the code that readers need, in squares (ISO/IEC 18004). */
const QUIET = 4;

/** Nothing for a text that is too long for a code; the text itself stands beside it. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const [squares, setSquares] = useState<encoder.Squares>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    loadEncoder().then(({ squaresOf }) => setSquares(squaresOf(text))).catch(setError);
  }, [text]);
  if (error !== undefined) return <Failed error={error} />;
  if (!squares) return null;
  const size = squares.length + 2 * QUIET;
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`}>
      <rect class="qr-ground" width={size} height={size} />
      <path class="qr-ink" d={pathOf(squares)} />
    </svg>
  );
}

/** One rectangle for each run of dark squares in a row. */
function pathOf(squares: encoder.Squares): string {
  const parts: string[] = [];
  squares.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue;
      const start = x;
      while (row[x + 1]) x++;
      const width = x - start + 1;
      parts.push(`M${start + QUIET} ${y + QUIET}h${width}v1h-${width}z`);
    }
  });
  return parts.join("");
}
