/** Texts of stored messages: words with the frequencies of a language, the same in every run. */

const WORDS_EACH = 24;
/** Words of the rank r occur about 1/r as often as the first. */
const VOCABULARY = 20_000;
/** A word of one message in this many. */
const RARE_EVERY = 5000;

/** The most frequent word, and a word of few messages. */
export const COMMON_WORD = wordOf(0);
export const RARE_WORD = "quokka";

export function textOf(number: number): string {
  let state = (number * 2_654_435_761) >>> 0;
  const words = Array.from({ length: WORDS_EACH }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return wordOf(Math.floor(VOCABULARY ** (state / 2 ** 32)) - 1);
  });
  if (number % RARE_EVERY === 0) words.push(RARE_WORD);
  return words.join(" ");
}

/** A pronounceable word for each rank. */
function wordOf(rank: number): string {
  const syllables = ["ka", "lo", "mi", "re", "tu", "sa", "ne", "vi", "po", "da"];
  return String(rank + 10).split("").map((digit) => syllables[Number(digit)]).join("");
}
