/** The similarity of two questions: the words that they share. No I/O. */

import { tokensOf } from "kit/core/words.ts";

/** Maximum words in a query of the index: the longest, which are the rarest. */
const QUERY_WORDS_MAX = 16;
/** Minimum letters of a stem. */
const STEM_CHARS_MIN = 3;

/** Words that most questions have. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  ("a about all also am an and any are as at be been but by can could did do does for from get has " +
    "have how i if in into is it its just let me my need no not now of on one or our please shall " +
    "should so some tell than that the their them then there these they this those to up us use " +
    "want was we were what when where which while who why will with would you your").split(" "),
);

/** Endings that are cut off, so that forms of a word are one. */
const ENDING = /(?:ing|ed|es|s|e)$/;

/** The words of a text that say what it is about, without their endings. */
export function stemsOf(text: string): ReadonlySet<string> {
  const stems = tokensOf(text).flatMap(({ text: word, kind }): string[] => {
    if (kind === "last" || kind === "symbol") return [];
    if (kind !== "word") return [word];
    return word.length < 2 || STOP_WORDS.has(word) ? [] : [stemOf(word)];
  });
  return new Set(stems);
}

function stemOf(word: string): string {
  const stem = word.replace(ENDING, "");
  return stem.length < STEM_CHARS_MIN ? word : stem;
}

/** The FTS5 query for texts with any of these words; undefined for none. */
export function toMatch(stems: ReadonlySet<string>): string | undefined {
  const longest = [...stems].sort((left, right) => right.length - left.length);
  const terms = longest.slice(0, QUERY_WORDS_MAX).map((stem) =>
    stem.length < STEM_CHARS_MIN ? `"${stem}"` : `"${stem}"*`
  );
  return terms.length === 0 ? undefined : `{text reply} : (${terms.join(" OR ")})`;
}

/** The part of the first words that the second have, too. */
export function shareOf(words: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return words.size === 0 ? 0 : words.intersection(others).size / words.size;
}
