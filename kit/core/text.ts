/** Untrusted text: parsing without exceptions, and cleaning before it is shown. */

/** The value of a JSON text; undefined for an invalid one. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON with sorted keys: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

/** Escapes text for use between tags. */
export function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The lowest invisible character is U+00AD. This fast check is false for most texts. */
const MAYBE_HIDDEN = /[^\0-\xac]/;
let hidden: RegExp | undefined;

/**
 * Removes invisible characters: direction controls, tags (U+E0000 to U+E007F), variation selectors
 * and zero-width characters. A model reads them, so a text could tell an agent what a person does
 * not see. They stay where spelling needs them: in emoji sequences, and between letters of scripts
 * that join letters, such as Persian and Hindi.
 */
export function dropHidden(text: string): string {
  return MAYBE_HIDDEN.test(text) ? text.replaceAll(hidden ??= hiddenPattern(), "$1") : text;
}

/** Its first group matches what stays. It is built on first use, because that takes 1 ms. */
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

/** A text of several lines without control characters and invisible characters. */
export function cleanText(text: string): string {
  return dropHidden(
    text.toWellFormed().replaceAll(/\r\n?|[\u0085\p{Zl}\p{Zp}]/gu, "\n")
      .replaceAll(/(?![\n\t])\p{Cc}/gu, ""),
  );
}

/** As `cleanText`, on one line. */
export function cleanLine(text: string): string {
  return dropHidden(
    text.toWellFormed().replaceAll(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, " ")
      .replaceAll(/\p{Cc}/gu, ""),
  );
}

/**
 * Splits a text that arrives in pieces at a separator. It joins the pieces of a part once, when the
 * part is complete, so a sender of single characters costs no more than any other.
 */
export class Splitter {
  readonly #separator: string | RegExp;
  /** How many characters of a separator may be at the end of a piece. */
  readonly #overlap: number;
  #pending: string[] = [];
  #tail = "";
  /** Characters of the incomplete part. */
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

/** The length limit of a name (contract 1). */
const NAME_CHARS_MAX = 64;

/** An untrusted name for display: one clean line of 64 characters at most. */
export function toDisplayName(name: string): string {
  const characters = Array.from(cleanLine(name.slice(0, 8 * NAME_CHARS_MAX)).trim());
  const isTooLong = characters.length > NAME_CHARS_MAX;
  return isTooLong ? `${characters.slice(0, NAME_CHARS_MAX - 1).join("")}…` : characters.join("");
}

/** Escapes text for use in a quoted attribute. */
export function escapeAttribute(text: string): string {
  return escapeMarkup(text).replaceAll('"', "&quot;");
}

/** The message of a thrown value, which need not be an `Error`. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
