/** The squares of a QR code. */

import { encode } from "uqr";

/** Rows of squares; true is dark. */
export type Squares = readonly (readonly boolean[])[];

/** A larger code is too dense for the camera of a phone. It holds 666 bytes. */
const VERSION_MAX = 20;

/** The code of a text; undefined if the text is too long. */
export function squaresOf(text: string): Squares | undefined {
  try {
    return encode(text, { ecc: "M", border: 0, maxVersion: VERSION_MAX }).data;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
