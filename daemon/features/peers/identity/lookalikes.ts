/** Names that a reader takes for another name: the human's is not to be imitated (contract 2). */

/** Letters of other scripts, and pairs of Latin ones, by the Latin letter that they look like. */
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

/** Two letters that together look like one. */
const LETTER_PAIRS = [["rn", "m"], ["vv", "w"], ["cl", "d"]] as const;

function lookalikesOf(latin: string, letters: string): Record<string, string> {
  return Object.fromEntries([...letters].map((letter) => [letter, latin]));
}

/** What is left of a name once all that a reader overlooks is taken away (after UTS #39). */
export function skeletonOf(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/[\p{Cf}\p{M}\s]/gu, "").toLowerCase();
  const latin = [...plain].map((letter) => LOOKALIKES[letter] ?? letter).join("");
  return LETTER_PAIRS.reduce((text, [letters, letter]) => text.replaceAll(letters, letter), latin);
}

/** Whether a reader may take one name for the other. */
export function looksLike(name: string, other: string): boolean {
  return skeletonOf(name) === skeletonOf(other);
}
