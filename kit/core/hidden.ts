/**
 * Shows characters that are invisible, or that change the order of others, by their number: a
 * text must not look like another text.
 */

/**
 * Controls other than tab and line feed, format characters but the visible signs of Arabic and
 * Syriac, variation selectors, tags, fillers, and separators.
 */
export const HIDDEN: RegExp = new RegExp(
  String.raw`(?![\t\n\u0600-\u0605\u06dd\u070f\u08e2])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}` +
    String
      .raw`\u034f\ufe00-\ufe0f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\uffa0\u{e0000}-\u{e0fff}]`,
  "gu",
);
/** Joiners are needed within the words of some scripts, and within emoji. */
const JOINABLE = /[\p{L}\p{M}\p{Extended_Pictographic}\ufe0f]/u;
const SHAPED = /\p{Emoji}/u;
const LATIN = /\p{Script=Latin}/u;

/** A piece of a text: as it is, or a hidden character by its number. */
export interface Piece {
  readonly text: string;
  readonly hidden: boolean;
}

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let shown = 0;
  const add = (piece: string, hidden: boolean) => {
    if (piece) pieces.push({ text: piece, hidden });
  };
  for (const { 0: found, index } of text.matchAll(HIDDEN)) {
    if (joins(text, index, found)) continue;
    add(text.slice(shown, index), false);
    add(`U+${numberOf(found)}`, true);
    shown = index + found.length;
  }
  add(text.slice(shown), false);
  return pieces;
}

/** A text in which each hidden character is replaced by its number, such as `⟨U+202E⟩`. */
export function showHidden(text: string): string {
  return piecesOf(text.toWellFormed()).map(({ text, hidden }) => hidden ? `⟨${text}⟩` : text)
    .join("");
}

/** The same on one line: line feeds and tabs are replaced, too. */
export function showHiddenOnLine(text: string): string {
  return showHidden(text).replaceAll(/[\n\t]/g, (char) => `⟨U+${numberOf(char)}⟩`);
}

/** Removes hidden characters from copied text. */
export function withoutHidden(text: string): string {
  return piecesOf(text.replaceAll(/\r\n?/g, "\n"))
    .filter(({ hidden }) => !hidden).map(({ text }) => text).join("").replace(/\n$/, "");
}

/** A joiner between letters that are not Latin, or between emoji; the look of an emoji. */
function joins(text: string, index: number, found: string): boolean {
  if (found === "\ufe0e" || found === "\ufe0f") {
    const shape = Array.from(text.slice(Math.max(0, index - 2), index)).at(-1) ?? "";
    return SHAPED.test(shape) && !/[\d#*]/.test(shape) || text.charAt(index + 1) === "\u20e3";
  }
  if (found !== "\u200c" && found !== "\u200d") return false;
  const before = Array.from(text.slice(Math.max(0, index - 2), index)).at(-1) ?? "";
  const after = Array.from(text.slice(index + 1, index + 3))[0] ?? "";
  return [before, after].every((char) => JOINABLE.test(char) && !LATIN.test(char));
}

function numberOf(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
