/** Lookalike names: detects names that a reader may confuse, such as the human's (contract 2). */

import { madeLate } from "kit/core/schema.ts";

/** The characters that look like each of these Latin letters. */
const LOOKALIKES = {
  a: "аαɑ",
  b: "ьЬв",
  c: "сϲⅽ",
  d: "ԁⅾ",
  e: "еєҽ",
  g: "ɡց",
  h: "һհн",
  j: "јϳ",
  k: "кκ",
  l: "1iIіıιӏ|ⅼǀ",
  m: "мⅿ",
  n: "ոп",
  o: "0оοσօ",
  p: "рρ",
  q: "ԛզ",
  r: "гⲅ",
  s: "5ѕ",
  t: "тτ",
  u: "υսц",
  v: "νѵⅴ",
  w: "ԝѡω",
  x: "хχⅹ",
  y: "уүγ",
  z: "2ᴢ",
};

const LATIN_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOKALIKES).flatMap(([latin, letters]) =>
    [...letters].map((letter) => [letter, latin] as const)
  ),
);

/** Pairs of letters that look like one letter. */
const LETTER_PAIRS = [["rn", "m"], ["vv", "w"], ["cl", "d"]] as const;

/** The skeleton of a name: confusable names have the same skeleton (after UTS #39). */
export function skeletonOf(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/[\p{Cf}\p{M}\s]/gu, "").toLowerCase();
  const latin = [...plain].map((letter) => LATIN_LETTERS.get(letter) ?? letter).join("");
  return LETTER_PAIRS.reduce((text, [letters, letter]) => text.replaceAll(letters, letter), latin);
}

/** Separators, which a reader overlooks. */
const SEPARATORS = /[._-]+/g;
/** The number that a second peer of a name gets. */
const NUMBER = /(?<![._-])[._-]+\d+$/;

/** True if a reader may confuse two names: `s.am`, `sam_` and `sam-2` look like `sam`. */
export function looksLike(name: string, known: string): boolean {
  return readingOf(name) === readingOf(known);
}

/** Returns a check if a reader may confuse a name with any of these. */
export function lookalikesOf(names: readonly string[]): (name: string) => boolean {
  const readings = madeLate(() => new Set(names.map(readingOf)));
  return (name) => readings().has(readingOf(name));
}

function readingOf(name: string): string {
  return readingOfPeer(name.replace(NUMBER, "")) || readingOfPeer(name);
}

/**
 * The reading of a peer's name. A number makes another name, as a second peer of a name gets one.
 */
export function readingOfPeer(name: string): string {
  return skeletonOf(name.replaceAll(SEPARATORS, ""));
}
