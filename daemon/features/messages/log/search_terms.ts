/** Translates a search into an FTS5 query without syntax errors, and makes snippets. */

/** A parsed search. */
export interface Search {
  /** The FTS5 query. Every term is quoted, so that no character is syntax. */
  readonly match: string;
  /** Matches any term of the search in a text whose case and accents are removed. */
  readonly pattern: RegExp;
}

/**
 * Matches a phrase in quotes (the closing quote may be missing) or a run of other characters. A `*`
 * after either makes its last word a prefix.
 */
const TERM = /"([^"]*)"?(\*)?|([^\s"]+)/g;
/** A word for FTS5's tokenizer `unicode61`; all other characters separate words. */
const WORD = /[\p{L}\p{N}\p{Co}]+/gu;

/** The maximum number of terms. Further terms are ignored, because each costs time. */
const TERMS_MAX = 32;
/**
 * The maximum number of words in the pattern of all terms together: each takes V8 half a
 * millisecond, as it has classes of Unicode. A phrase is found by its first words.
 */
const PATTERN_WORDS_MAX = 48;
/**
 * A shorter prefix is treated as a whole word, because it would match a tenth of all words and take
 * long (100 ms among 100,000 messages).
 */
const PREFIX_CHARS_MIN = 3;

/** Parses a search. Undefined if it contains no word, because nothing can match it. */
export function toSearch(q: string): Search | undefined {
  const terms = [...q.toWellFormed().replaceAll("\0", " ").matchAll(TERM)].map(toTerm)
    .filter(({ text }) => wordsOf(text).length > 0).slice(0, TERMS_MAX);
  if (terms.length === 0) return undefined;
  return {
    match: terms.map(({ text, isPrefix }) => `"${text}"${isPrefix ? "*" : ""}`).join(" "),
    pattern: patternOf(terms),
  };
}

interface Term {
  readonly text: string;
  /** Whether the last word of `text` is a prefix. */
  readonly isPrefix: boolean;
}

function toTerm([, phrase, star, run = ""]: RegExpExecArray): Term {
  const text = phrase ?? run.replace(/(?<!\*)\*+$/, "");
  const hasStar = phrase === undefined ? text !== run : star !== undefined;
  const last = wordsOf(text).at(-1) ?? "";
  return { text, isPrefix: hasStar && Array.from(last).length >= PREFIX_CHARS_MIN };
}

function patternOf(terms: readonly Term[]): RegExp {
  const patterns: string[] = [];
  let left = PATTERN_WORDS_MAX;
  for (const { text, isPrefix } of terms) {
    const words = wordsOf(foldAccents(text)).slice(0, left);
    left -= words.length;
    if (words.length > 0) patterns.push(toPattern(words, isPrefix || left === 0));
  }
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${patterns.join("|")})`, "u");
}

/** A pattern for words with any separators between them; the last one may be a prefix. */
function toPattern(words: readonly string[], isPrefix: boolean): string {
  const phrase = words.join("[^\\p{L}\\p{N}]+");
  return isPrefix ? phrase : `${phrase}(?![\\p{L}\\p{N}])`;
}

function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/**
 * Removes case and accents. The length of a composed (NFC) text does not change, except that a
 * Korean syllable becomes two or three letters. Nearly all texts are composed.
 */
function foldAccents(text: string): string {
  return text.normalize("NFD").replaceAll(/\p{M}+/gu, "").normalize("NFC").toLowerCase();
}

const SNIPPET_CHARS = 160;
/** How many characters of a snippet stand before the match. */
const LEAD_CHARS = 40;

/**
 * One line around the first match in the texts. If nothing matches, the start of the first text.
 */
export function snippetOf({ pattern }: Search, texts: readonly string[]): string {
  for (const text of texts) {
    const at = foldAccents(text).search(pattern);
    if (at >= 0) return excerpt(text, at);
  }
  return excerpt(texts[0] ?? "", 0);
}

function excerpt(text: string, at: number): string {
  const from = at <= LEAD_CHARS ? 0 : at - LEAD_CHARS;
  const slice = text.slice(from, from + SNIPPET_CHARS)
    .replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "");
  const line = slice.replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${from + SNIPPET_CHARS < text.length ? "…" : ""}`;
}
