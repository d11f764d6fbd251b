/** Names that a reader takes for another name: the human's is not to be imitated (contract 2). */

/** Letters of other scripts, and pairs of Latin ones, by the Latin letter that they look like. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ...lettersOf("a", "аαɑ"),
  ...lettersOf("b", "ьЬв"),
  ...lettersOf("c", "сϲⅽ"),
  ...lettersOf("d", "ԁⅾ"),
  ...lettersOf("e", "еєҽ"),
  ...lettersOf("g", "ɡց"),
  ...lettersOf("h", "һհн"),
  ...lettersOf("j", "јϳ"),
  ...lettersOf("k", "кκ"),
  ...lettersOf("l", "1iIіıιӏ|ⅼǀ"),
  ...lettersOf("m", "мⅿ"),
  ...lettersOf("n", "ոп"),
  ...lettersOf("o", "0оοσօ"),
  ...lettersOf("p", "рρ"),
  ...lettersOf("q", "ԛզ"),
  ...lettersOf("r", "гⲅ"),
  ...lettersOf("s", "5ѕ"),
  ...lettersOf("t", "тτ"),
  ...lettersOf("u", "υսц"),
  ...lettersOf("v", "νѵⅴ"),
  ...lettersOf("w", "ԝѡω"),
  ...lettersOf("x", "хχⅹ"),
  ...lettersOf("y", "уүγ"),
  ...lettersOf("z", "2ᴢ"),
};

/** Two letters that together look like one. */
const PAIRS = [["rn", "m"], ["vv", "w"], ["cl", "d"]] as const;

function lettersOf(latin: string, letters: string): Record<string, string> {
  return Object.fromEntries([...letters].map((letter) => [letter, latin]));
}

/** What is left of a name once all that a reader overlooks is taken away (after UTS #39). */
export function skeletonOf(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/[\p{Cf}\p{M}\s]/gu, "").toLowerCase();
  const latin = [...plain].map((letter) => LOOKALIKES[letter] ?? letter).join("");
  return PAIRS.reduce((text, [pair, letter]) => text.replaceAll(pair, letter), latin);
}

/** Whether a reader may take one name for the other. */
export function looksLike(name: string, other: string): boolean {
  return skeletonOf(name) === skeletonOf(other);
}
