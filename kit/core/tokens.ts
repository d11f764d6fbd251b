/** An upper bound of the tokens of a text, without a tokenizer. */

/** A run of letters, a blank that is part of the word after it, or one other character. */
const PIECE = /(?<letters>[A-Za-z]+)|(?<blank> (?=[A-Za-z]))|./gsu;

/**
 * Tokenizers of models differ, and none is open to all. The bound is a token for two letters, which
 * holds for random ones, and for each byte of any other character.
 */
export function tokensAtMost(text: string): number {
  const encoder = new TextEncoder();
  let tokens = 0;
  for (const { 0: piece, groups } of text.matchAll(PIECE)) {
    if (groups?.["letters"]) tokens += Math.ceil(piece.length / 2);
    else if (!groups?.["blank"]) tokens += encoder.encode(piece).length;
  }
  return tokens;
}
