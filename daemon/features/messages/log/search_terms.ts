/** A search as people type it, turned into one that SQLite's full text cannot misread. */

/** What is looked for. */
export interface Search {
  /** In FTS5's language, with every term quoted, so that nothing of it is syntax. */
  readonly match: string;
  /** Finds the first of its words in a folded text. */
  readonly pattern: RegExp;
}

/** `"a phrase"`, closed or not, or a run of anything else; `*` after either stands for any end. */
const TERM = /"([^"]*)"?(\*)?|([^\s"]+)/g;
/** What FTS5's `unicode61` takes for words; all else parts them. */
const WORD = /[\p{L}\p{N}\p{Co}]+/gu;

/** A search of more words is one of its first: each costs time. */
const TERMS_MAX = 32;
/**
 * A shorter beginning fits a tenth of all words, and would be looked for long (100 ms among 100,000
 * messages): it is taken for a whole word.
 */
const PREFIX_CHARS_MIN = 3;

/** Undefined when it holds no word at all: nothing can match it. */
export function toSearch(q: string): Search | undefined {
  const terms = [...q.toWellFormed().replaceAll("\0", " ").matchAll(TERM)].map(toTerm)
    .filter(({ text }) => wordsOf(text).length > 0).slice(0, TERMS_MAX);
  if (terms.length === 0) return undefined;
  return {
    match: terms.map(({ text, isPrefix }) => `"${text}"${isPrefix ? "*" : ""}`).join(" "),
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}])(?:${terms.map(toPattern).join("|")})`,
      "u",
    ),
  };
}

interface Term {
  readonly text: string;
  /** Whether its last word may go on. */
  readonly isPrefix: boolean;
}

function toTerm([, phrase, star, run = ""]: RegExpExecArray): Term {
  const text = phrase ?? run.replace(/(?<!\*)\*+$/, "");
  const hasStar = phrase === undefined ? text !== run : star !== undefined;
  const last = wordsOf(text).at(-1) ?? "";
  return { text, isPrefix: hasStar && Array.from(last).length >= PREFIX_CHARS_MIN };
}

/** Its words, with anything between them that parts words. */
function toPattern({ text, isPrefix }: Term): string {
  const words = wordsOf(foldAccents(text)).join("[^\\p{L}\\p{N}]+");
  return isPrefix ? words : `${words}(?![\\p{L}\\p{N}])`;
}

function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Without case and accents; of text that is composed, as nearly all is, each letter stays one. */
function foldAccents(text: string): string {
  return text.normalize("NFD").replaceAll(/\p{M}+/gu, "").toLowerCase();
}

const SNIPPET_CHARS = 160;
/** What is shown before the word that was found. */
const LEAD_CHARS = 40;

/** The place of the first text that holds a word of the search, on one line. */
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
