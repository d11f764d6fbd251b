/**
 * The marker `[mesh` begins the lines that the daemon writes; it is neutralized in any other text.
 */

import { cleanLine, escapeMarkup, toDisplayName } from "kit/core/text.ts";

/** The opening square bracket and its look-alikes. */
const BRACKETS =
  "[[\\u2045\\u23a1\\u2772\\u27e6\\u27ec\\u298b\\u298d\\u298f\\u3010\\u3014\\u3016\\u3018" +
  "\\u301a\\ufe47\\ufe5d\\uff3b\\u2308\\u230a\\u23a2\\u23a3\\u2e22\\u2e24\\u2e55\\u2e57]";
/** Characters that a reader sees as nothing, or as part of the character before. */
const BLANKS = "[\\s\\u2800\\u{1d159}\\p{M}]*";
/** Letters of other alphabets that look like `m`, `e`, `s` and `h`. */
const LOOKALIKES = {
  m: "\u043c\u041c\u039c\u03fa\u03fb\u1d0d\u0271\u13b7\ua4df\u2c98\u2c99",
  e: "\u0435\u0415\u0395\u04bd\u1d07\u212e\u13ac\ua4f0\u2c88\u2c89",
  s: "\u0455\u0405\ua731\u01bd\u13da\ua4e2",
  h: "\u04bb\u043d\u041d\u0397\u029c\u0570\u13bb\ua4e7\u2c8e\u2c8f",
} as const;
/**
 * Code ranges of accented, raised, circled, wide and styled letters. NFKD normalization turns them
 * into their base letters.
 */
const STYLED_RANGES = [
  [0xc0, 0x24f],
  [0x2b0, 0x2ff],
  [0x1d00, 0x1dbf],
  [0x1e00, 0x1eff],
  [0x2090, 0x209c],
  [0x2100, 0x217f],
  [0x249c, 0x24e9],
  [0xff21, 0xff5a],
  [0x1d400, 0x1d6a3],
  [0x1f110, 0x1f14f],
] as const;

/**
 * Replaces every `[mesh` by `(mesh`, look-alikes included, except within a word (`hosts[mesh]`) that
 * no sender follows. It does so anywhere in a line, because text that is typed into a pane becomes
 * one line. Hidden characters must have been removed from the text before.
 */
export function neutralizeMarks(text: string): string {
  return text.replaceAll(markPattern(), "(");
}

/** Cleans a peer's name for use in a line that the daemon writes to a model. */
export function quotedName(name: string): string {
  return escapeMarkup(neutralizeMarks(toDisplayName(name)));
}

/**
 * Cleans other foreign text (a title, a description, a reason) for use in a line that the daemon
 * writes to a model.
 */
export function quotedLine(text: string): string {
  return escapeMarkup(neutralizeMarks(cleanLine(text)));
}

/** Cleans a text for use as a quoted attribute, on one line. */
export function quotedAttribute(text: string): string {
  return escapeMarkup(neutralizeMarks(cleanLine(text))).replaceAll('"', "&quot;");
}

/** The attributes of a tag. Those that are null are omitted. */
export function tagAttributes(values: Readonly<Record<string, string | number | null>>): string {
  return Object.entries(values)
    .flatMap(([name, value]) => value === null ? [] : `${name}="${quotedAttribute(String(value))}"`)
    .join(" ");
}

const UNREADABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Escapes a text so that nothing of it is lost: line ends, hidden characters and markers become
 * character references.
 */
export function toReferences(text: string): string {
  const toReference = (char: string) => `&#${char.codePointAt(0)};`;
  return text.replaceAll(markPattern(), toReference).replaceAll(UNREADABLE, toReference);
}

let cachedPattern: RegExp | undefined;

/** Built on first use: collecting the styled letters takes a millisecond. */
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
  const letters = Object.entries(found).map(([baseLetter, lookalikes]) =>
    `${BLANKS}[${baseLetter}${lookalikes}]`
  );
  const word = `${letters.join("")}(?![\\p{L}\\p{N}_-])`;
  const sender = `${BLANKS}(?:(?:\\p{P}\\s*)?[@\\uff20<\\uff1c]|(?<=\\s)(?:ask|qd|notif)-)`;
  // The bracket comes first: what stands before it is looked at only there, in linear time.
  const isOutsideWord = `(?<![\\p{L}_\\]]\\p{M}*${BRACKETS})`;
  const mark = `${BRACKETS}(?:${isOutsideWord}(?=${word})|(?=${word}${sender}))`;
  return cachedPattern = new RegExp(mark, "giu");
}
