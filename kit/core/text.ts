/** Text that comes from elsewhere: read without throwing, shown without steering anything. */

/** Undefined for what is no JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same text for the same value, in whatever order its keys came. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

/** For between tags: what opens, closes or refers in markup is written out. */
export function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The first character that is not seen is U+00AD: most texts are told at once to hold none. */
const MAYBE_HIDDEN = /[^\0-\xac]/;
let hidden: RegExp | undefined;

/**
 * Without characters that no reader sees: controls of direction, tags (U+E0000 to U+E007F),
 * selectors of variants, signs without width. A model reads them all the same, so that a text could
 * say one thing to a person and another to an agent. They stay where spelling needs them: in emoji
 * of several parts, and between letters of scripts that join theirs, such as Persian and Hindi.
 */
export function dropHidden(text: string): string {
  return MAYBE_HIDDEN.test(text) ? text.replaceAll(hidden ??= hiddenPattern(), "$1") : text;
}

/** What is needed is its first group. Made when first wanted: it takes a millisecond. */
function hiddenPattern(): RegExp {
  const scripts = "Arab Syrc Nkoo Mong Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Mymr Khmr";
  const joining = scripts.split(" ").map((script) => `\\p{scx=${script}}`).join("");
  const pictographic = "\\p{Extended_Pictographic}";
  const needed = [
    `(?<=[${pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=${pictographic})`,
    "(?<=\\p{Emoji})[\\ufe0e\\ufe0f]",
    `(?<=[${joining}])[\\u200c\\u200d](?=[${joining}])`,
    "(?<=\\p{scx=Mong})[\\u180b-\\u180f]",
    "(?<=[\\p{scx=Hani}\\p{Sm}\\p{scx=Mymr}])[\\ufe00-\\ufe02]",
  ];
  const all = "[\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]";
  return new RegExp(`(${needed.join("|")})|${all}`, "gu");
}

/** Lines of text as another wrote them, without anything that steers a terminal or hides. */
export function cleanText(text: string): string {
  return dropHidden(
    text.toWellFormed().replaceAll(/\r\n?|[\u0085\p{Zl}\p{Zp}]/gu, "\n")
      .replaceAll(/(?![\n\t])\p{Cc}/gu, ""),
  );
}

/** The same on one line. */
export function cleanLine(text: string): string {
  return dropHidden(
    text.toWellFormed().replaceAll(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, " ")
      .replaceAll(/\p{Cc}/gu, ""),
  );
}

/**
 * Cuts a text that comes in pieces at a separator. What waits for its end is joined once that has
 * come, and not at each piece: whoever sends one character at a time costs no more than others.
 */
export class Splitter {
  readonly #separator: string | RegExp;
  /** How many characters of a separator may stand at the end of a piece. */
  readonly #overlap: number;
  #pending: string[] = [];
  #tail = "";
  /** Characters that wait for their end. */
  length = 0;

  constructor(separator: string | RegExp, overlap: number) {
    this.#separator = separator;
    this.#overlap = overlap;
  }

  /** The parts that this piece completes. */
  push(piece: string): string[] {
    const searched = this.#tail + piece;
    this.#pending.push(piece);
    this.length += piece.length;
    const hasSeparator = searched.split(this.#separator, 2).length === 2;
    const parts = hasSeparator ? this.#pending.join("").split(this.#separator) : [];
    const rest = parts.pop();
    if (rest !== undefined) {
      this.#pending = [rest];
      this.length = rest.length;
    }
    this.#tail = this.#overlap === 0 ? "" : (rest ?? searched).slice(-this.#overlap);
    return parts;
  }
}

/** What a name may be at most (contract 1). */
const NAME_CHARS_MAX = 64;

/** A name that anybody may have chosen, as it is shown: one line of 64 characters at most. */
export function toDisplayName(name: string): string {
  const characters = Array.from(cleanLine(name.slice(0, 8 * NAME_CHARS_MAX)).trim());
  const isTooLong = characters.length > NAME_CHARS_MAX;
  return isTooLong ? `${characters.slice(0, NAME_CHARS_MAX - 1).join("")}…` : characters.join("");
}

/** For between the quotes of an attribute. */
export function escapeAttribute(text: string): string {
  return escapeMarkup(text).replaceAll('"', "&quot;");
}

/** The text of what was thrown: in JavaScript it may be anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
