/** Translates a search into an FTS5 query without syntax errors, and makes snippets. */

import { foldText, PART_CHARS_MIN, phraseOf, type Token, tokensOf } from "kit/core/words.ts";

/** A parsed search. */
export interface Search {
  /** The FTS5 query. Every term is quoted, so that no character is syntax. */
  readonly match: string;
  /** Matches any term of the search in a text whose case and accents are removed. */
  readonly pattern: RegExp;
}

/** A phrase in quotes (the last may be missing), or other characters; `*` makes a prefix. */
const TERM = /"([^"]*)"?(\*)?|([^\s"]+)/g;
/** The maximum number of terms. Further terms are ignored, because each costs time. */
const TERMS_MAX = 32;
/**
 * The maximum number of words in the pattern of all terms together: each takes V8 half a
 * millisecond, as it has classes of Unicode. A phrase is found by its first words.
 */
const PATTERN_WORDS_MAX = 48;
/** A shorter prefix counts as a whole word: it would match a tenth of all words, in 100 ms. */
const PREFIX_CHARS_MIN = 3;

/** Parses a search. Undefined if it contains no word, because nothing can match it. */
export function toSearch(q: string): Search | undefined {
  const terms = [...q.toWellFormed().replaceAll("\0", " ").matchAll(TERM)].flatMap(toTerm)
    .slice(0, TERMS_MAX);
  if (terms.length === 0) return undefined;
  return { match: terms.map(toMatch).join(" AND "), pattern: patternOf(terms) };
}

interface Term {
  readonly tokens: readonly Token[];
  /** The tokens as an FTS5 phrase. */
  readonly phrase: string;
  /** True if the last word of the phrase is a prefix. */
  readonly isPrefix: boolean;
  /** True if it is a single word that may also be a part of a longer word. */
  readonly isPart: boolean;
}

function toTerm([, quoted, star, run = ""]: RegExpExecArray): Term[] {
  const text = quoted ?? run.replace(/(?<!\*)\*+$/, "");
  const hasStar = quoted === undefined ? text !== run : star !== undefined;
  const phrase = phraseOf(text);
  if (!phrase) return [];
  const tokens = tokensOf(text);
  const { kind, text: last = "" } = tokens.at(-1) ?? {};
  const length = Array.from(last).length;
  return [{
    tokens,
    phrase: phrase.text,
    isPrefix: phrase.isPrefix || (hasStar && kind === "word" && length >= PREFIX_CHARS_MIN),
    isPart: quoted === undefined && tokens.length === 1 && kind === "word" &&
      length >= PART_CHARS_MIN,
  }];
}

/** Only a part of a word is looked up among the ends of words. */
function toMatch({ phrase, isPrefix, isPart }: Term): string {
  return isPart ? `"${phrase}"*` : `{text reply} : "${phrase}"${isPrefix ? "*" : ""}`;
}

function patternOf(terms: readonly Term[]): RegExp {
  const patterns: string[] = [];
  let left = PATTERN_WORDS_MAX;
  for (const { tokens, isPrefix, isPart } of terms) {
    const used = tokens.slice(0, left);
    left -= used.length;
    if (used.length > 0) {
      patterns.push(toPattern(used, { isPrefix: isPrefix || left === 0, isPart }));
    }
  }
  return new RegExp(patterns.join("|"), "u");
}

/** A pattern for tokens with any separators between words; the last one may be a prefix. */
function toPattern(
  tokens: readonly Token[],
  { isPrefix, isPart }: Pick<Term, "isPrefix" | "isPart">,
): string {
  const phrase = tokens.map(({ text, kind }, at) => {
    if (kind === "pair") return Array.from(text)[0];
    return at === tokens.length - 1 ? text : `${text}[^\\p{L}\\p{N}]*`;
  }).join("");
  const isWord = (token: Token | undefined) => token?.kind === "word" && !isPart;
  const before = isWord(tokens[0]) ? "(?<![\\p{L}\\p{N}])" : "";
  const after = isWord(tokens.at(-1)) && !isPrefix ? "(?![\\p{L}\\p{N}])" : "";
  return `${before}${phrase}${after}`;
}

const SNIPPET_CHARS = 160;
/** Characters of a snippet before the match. */
const LEAD_CHARS = 40;

/** One line around the first match in the texts; without one, the start of the first text. */
export function snippetOf({ pattern }: Search, texts: readonly string[]): string {
  for (const text of texts) {
    const at = foldText(text).search(pattern);
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
