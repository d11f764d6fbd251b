/** The mark `[mesh`, by which an agent knows a line of the daemon's: no text of others holds it. */

import { cleanLine, escapeMarkup, toDisplayName } from "kit/core/text.ts";

/** Square brackets, and what passes for one. */
const BRACKETS =
  "[[\\u2045\\u23a1\\u2772\\u27e6\\u27ec\\u298b\\u298d\\u298f\\u3010\\u3014\\u3016\\u3018" +
  "\\u301a\\ufe47\\ufe5d\\uff3b]";
/** Letters of other alphabets that look like ours; dressed ones are told by what they come from. */
const LOOKALIKES = {
  m: "\u043c\u041c\u039c\u03fa\u03fb\u1d0d\u0271\u13b7\ua4df\u2c98\u2c99",
  e: "\u0435\u0415\u0395\u04bd\u1d07\u212e\u13ac\ua4f0\u2c88\u2c89",
  s: "\u0455\u0405\ua731\u01bd\u13da\ua4e2",
  h: "\u04bb\u043d\u041d\u0397\u029c\u0570\u13bb\ua4e7\u2c8e\u2c8f",
} as const;
/** Where letters stand that are dressed: accented, raised, circled, wide, or styled. */
const STYLED_RANGES = [
  ...[[0xc0, 0x24f], [0x2b0, 0x2ff], [0x1d00, 0x1dbf], [0x1e00, 0x1eff], [0x2090, 0x209c]],
  ...[[0x2100, 0x217f], [0x249c, 0x24e9], [0xff21, 0xff5a], [0x1d400, 0x1d6a3]],
  [0x1f110, 0x1f14f],
] as const;

/**
 * Every `[mesh` becomes `(mesh`, whatever brackets and letters it is written with, save within a
 * word (`hosts[mesh]`). Not at the start of a line alone: what is typed into a pane stands on one
 * line, and a model does not count lines. To be called on text without hidden characters.
 */
export function neutralizeMarks(text: string): string {
  return text.replaceAll(markPattern(), "(");
}

/** A name in a line of the daemon's own to a model, of which no name may become a part. */
export function quotedName(name: string): string {
  return escapeMarkup(neutralizeMarks(toDisplayName(name)));
}

/** Any other short text of another's in such a line: a title, a description, a reason. */
export function quotedLine(text: string): string {
  return escapeMarkup(neutralizeMarks(cleanLine(text)));
}

/** For between the quotes of an attribute, on one line. */
export function quotedAttribute(text: string): string {
  return escapeMarkup(neutralizeMarks(cleanLine(text))).replaceAll('"', "&quot;");
}

const UNREADABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** For what has to be read exactly: line ends, hidden characters and our mark as references. */
export function toReferences(text: string): string {
  const toReference = (char: string) => `&#${char.codePointAt(0)};`;
  return text.replaceAll(markPattern(), toReference).replaceAll(UNREADABLE, toReference);
}

let cachedPattern: RegExp | undefined;

/** Made when first needed: to find the dressed letters takes a millisecond. */
function markPattern(): RegExp {
  if (cachedPattern) return cachedPattern;
  const found: Record<string, string> = { ...LOOKALIKES };
  for (const [from = 0, to = 0] of STYLED_RANGES) {
    for (let code = from; code <= to; code++) {
      const char = String.fromCodePoint(code);
      const [baseLetter = ""] = char.normalize("NFKD").replace(/^\(/, "").toLowerCase();
      if (baseLetter in LOOKALIKES) found[baseLetter] += char;
    }
  }
  const letterPatterns = Object.entries(found).map(([baseLetter, lookalikes]) =>
    `[${baseLetter}${lookalikes}]\\p{M}*`
  );
  return cachedPattern = new RegExp(
    `(?<![\\p{L}\\p{N}_)\\]])${BRACKETS}(?=\\s*${letterPatterns.join("")}(?![\\p{L}\\p{N}_-]))`,
    "giu",
  );
}
