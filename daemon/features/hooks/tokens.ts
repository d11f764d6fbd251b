/** An estimate of the tokens of a text that is rarely too low, without a tokenizer. */

/** A word, a blank that is part of the word after it, a mark or digit, or any other character. */
const PIECE = /(?<word>\b[A-Z]?[a-z]+)|(?<blank> (?=[A-Za-z]))|(?<ascii>[\0-@[-`{-\x7f])|./gsu;
/** Letters as no language writes them, which cost a model more tokens. */
const UNUSUAL = /^(?![^aeiouy]{1,3}$)[^aeiouy]+$|[^aeiouy]{4}|.{15}/i;

/** Tokens for each letter of a word, of an unusual word, and for a digit or a mark. */
const PER_LETTER = 0.35;
const PER_UNUSUAL_LETTER = 0.6;
const PER_ASCII = 0.75;

/**
 * Tokenizers of models differ, and not all are public. Any other character counts its bytes.
 * `docs/decisions/053-briefings.md` compares the estimate with two public tokenizers.
 */
export function estimateTokens(text: string): number {
  const encoder = new TextEncoder();
  let tokens = 0;
  for (const { 0: piece, groups } of text.matchAll(PIECE)) {
    if (groups?.["word"]) {
      const rate = UNUSUAL.test(piece) ? PER_UNUSUAL_LETTER : PER_LETTER;
      tokens += Math.max(1, piece.length * rate);
    } else if (groups?.["ascii"]) tokens += PER_ASCII;
    else if (!groups?.["blank"]) tokens += encoder.encode(piece).length;
  }
  return Math.ceil(tokens);
}
