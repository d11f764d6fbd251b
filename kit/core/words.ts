/**
 * Splits text of any language into words for SQLite's tokenizer `unicode61`, which treats a run of
 * letters as one word. Scripts without spaces between words, and Korean, whose particles are
 * attached to words, become pairs of characters, as in search engines. An emoji is a word.
 */

/** The scripts whose runs are cut into pairs. */
const UNSPACED = "Han Hiragana Katakana Hangul Thai Lao Khmer Myanmar Tibetan"
  .replaceAll(/(\w+) ?/g, "\\p{sc=$1}");

/** Minimum length of a part that finds its word: `test` would find `latest` and `contest`. */
export const PART_CHARS_MIN = 6;

/** Marks of Japanese kana. Without its mark, a kana is a different letter. */
const KANA_MARKS = "\\u3099\\u309a";

interface Patterns {
  readonly token: RegExp;
  readonly mark: RegExp;
  readonly longWord: RegExp;
}
let patterns: Patterns | undefined;

/** Builds the patterns on first use, because classes of Unicode take a millisecond. */
function loadPatterns(): Patterns {
  const unspaced = `[${UNSPACED}\\u30fc\\u3005]`;
  return patterns ??= {
    token: new RegExp(
      `(?<run>${unspaced}+)|(?<symbol>\\p{So})|(?<word>(?:(?!${unspaced})[\\p{L}\\p{N}\\p{Co}])+)`,
      "gu",
    ),
    mark: new RegExp(`(?![${KANA_MARKS}])\\p{M}+`, "gu"),
    longWord: new RegExp(`(?:(?!${unspaced})\\p{L}){${PART_CHARS_MIN + 1},}`, "gu"),
  };
}

const ASCII = /^[\0-\x7f]*$/;

/** Normalizes a text: lower case, no accents, and one form of each letter. */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replaceAll(loadPatterns().mark, "").normalize("NFC").toLowerCase();
}

export interface Token {
  readonly text: string;
  /** `last`: the last character of a run that has others; `single`: the only one of a run. */
  readonly kind: "word" | "symbol" | "pair" | "last" | "single";
}

/**
 * The tokens of a text. A run of an unspaced script gives each pair of neighbours, then its last
 * character alone, so that a token begins at each character.
 */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const { groups = {} } of foldText(text).matchAll(loadPatterns().token)) {
    const { run, symbol, word } = groups;
    if (word !== undefined) tokens.push({ text: word, kind: "word" });
    if (symbol !== undefined) tokens.push({ text: symbol, kind: "symbol" });
    if (run !== undefined) tokens.push(...pairsOf(Array.from(run)));
  }
  return tokens;
}

function pairsOf(characters: readonly string[]): Token[] {
  const end = characters.length === 1 ? "single" : "last";
  return characters.map((character, at) => {
    const next = characters[at + 1];
    return next === undefined
      ? { text: character, kind: end }
      : { text: character + next, kind: "pair" };
  });
}

/** The text in the form that `unicode61` indexes. */
export function indexedText(text: string): string {
  return ASCII.test(text) ? text : tokensOf(text).map((token) => token.text).join(" ");
}

/** Maximum length of a word whose ends are indexed. Longer words are ids, keys and encoded data. */
const WHOLE_CHARS_MAX = 40;
/** Maximum number of characters of a text that are searched for long words. */
const CHARS_MAX = 20_000;

/**
 * The ends of the long words of a text, one from each letter on. A prefix search among them finds a
 * part of a word, such as `verbindung` in `Datenbankverbindung`.
 */
export function wordEnds(text: string): string {
  const words = foldText(text.slice(0, CHARS_MAX)).match(loadPatterns().longWord) ?? [];
  const ends = words.filter(({ length }) => length <= WHOLE_CHARS_MAX).flatMap((word) =>
    Array.from({ length: word.length - PART_CHARS_MIN }, (_, at) => word.slice(at + 1))
  );
  return [...new Set(ends)].join(" ");
}

/** An FTS5 phrase of tokens. */
interface Phrase {
  readonly text: string;
  /** True if the last token matches the beginning of an indexed token. */
  readonly isPrefix: boolean;
}

/**
 * The phrase that finds a text within indexed texts; undefined for a text without tokens. The last
 * character of a run is left out, because the last pair contains it. A single character matches the
 * beginning of a pair.
 */
export function phraseOf(text: string): Phrase | undefined {
  const tokens = tokensOf(text);
  const end = tokens.at(-1)?.kind;
  if (end === undefined) return undefined;
  const kept = end === "last" ? tokens.slice(0, -1) : tokens;
  return { text: kept.map((token) => token.text).join(" "), isPrefix: end === "single" };
}
