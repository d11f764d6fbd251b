/** Lookalike names: detects names that a reader may confuse, such as the human's (contract 2). */

/** The Latin letter that each of these characters looks like. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ...lookalikesOf("a", "аαɑ"),
  ...lookalikesOf("b", "ьЬв"),
  ...lookalikesOf("c", "сϲⅽ"),
  ...lookalikesOf("d", "ԁⅾ"),
  ...lookalikesOf("e", "еєҽ"),
  ...lookalikesOf("g", "ɡց"),
  ...lookalikesOf("h", "һհн"),
  ...lookalikesOf("j", "јϳ"),
  ...lookalikesOf("k", "кκ"),
  ...lookalikesOf("l", "1iIіıιӏ|ⅼǀ"),
  ...lookalikesOf("m", "мⅿ"),
  ...lookalikesOf("n", "ոп"),
  ...lookalikesOf("o", "0оοσօ"),
  ...lookalikesOf("p", "рρ"),
  ...lookalikesOf("q", "ԛզ"),
  ...lookalikesOf("r", "гⲅ"),
  ...lookalikesOf("s", "5ѕ"),
  ...lookalikesOf("t", "тτ"),
  ...lookalikesOf("u", "υսц"),
  ...lookalikesOf("v", "νѵⅴ"),
  ...lookalikesOf("w", "ԝѡω"),
  ...lookalikesOf("x", "хχⅹ"),
  ...lookalikesOf("y", "уүγ"),
  ...lookalikesOf("z", "2ᴢ"),
};

/** Pairs of letters that look like one letter. */
const LETTER_PAIRS = [["rn", "m"], ["vv", "w"], ["cl", "d"]] as const;

function lookalikesOf(latin: string, letters: string): Record<string, string> {
  return Object.fromEntries([...letters].map((letter) => [letter, latin]));
}

/** The skeleton of a name: confusable names have the same one (after UTS #39). */
export function skeletonOf(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/[\p{Cf}\p{M}\s]/gu, "").toLowerCase();
  const latin = [...plain].map((letter) => LOOKALIKES[letter] ?? letter).join("");
  return LETTER_PAIRS.reduce((text, [letters, letter]) => text.replaceAll(letters, letter), latin);
}

/** Whether a reader may confuse two names. */
export function looksLike(name: string, other: string): boolean {
  return skeletonOf(name) === skeletonOf(other);
}
