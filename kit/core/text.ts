/** Untrusted text: parses it without exceptions, and cleans it before it is shown. */

/** The value of a JSON text; undefined if the text is invalid. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON with sorted keys, so that equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

/** True if two values have the same JSON, in any order of their keys. */
export function isSameJson(left: unknown, right: unknown): boolean {
  return canonicalJson(left) === canonicalJson(right);
}

/** Escapes text for use between HTML tags. */
export function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Hides the user name, the password and the query values of an address, for use in messages. */
export function hideCredentials(address: string): string {
  const at = address.lastIndexOf("@");
  const name = /^[^/\s:]+:(?!\/\/)/.exec(address)?.[0].length; // Without slashes: `user:password@host`.
  const slashes = address.indexOf("//");
  const from = name ?? (slashes < 0 ? Infinity : slashes + 2);
  const prefix = name === undefined ? address.slice(0, from) : "";
  const shown = at < from ? address : `${prefix}[hidden]${address.slice(at)}`;
  return shown.replaceAll(/([?&][^=&#?\s]*=)[^&#\s]*/g, "$1[hidden]");
}

/** A fast check that fails for most texts: no invisible character is lower than U+00AD. */
const MAYBE_HIDDEN = /[^\0-\xac]/;
let hidden: RegExp | undefined;

/**
 * Removes invisible characters: direction controls, tags (U+E0000 to U+E007F), variation selectors
 * and zero-width characters. A model reads them, so a text could give an agent instructions that a
 * person does not see. Those that spelling needs are kept: in emoji sequences, and between letters
 * of scripts that join letters, such as Persian and Hindi.
 */
export function dropHidden(text: string): string {
  return MAYBE_HIDDEN.test(text) ? text.replaceAll(hidden ??= hiddenPattern(), "$1") : text;
}

/**
 * The pattern of invisible characters; its first group matches those to keep. It is built on first
 * use, because building it takes 1 ms.
 */
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

/** Removes control characters and invisible characters from a text of several lines. */
export function cleanText(text: string): string {
  return dropHidden(
    text.toWellFormed().replaceAll(/\r\n?|[\u0085\p{Zl}\p{Zp}]/gu, "\n")
      .replaceAll(/(?![\n\t])\p{Cc}/gu, ""),
  );
}

/** As `cleanText`, but also joins all lines into one. */
export function cleanLine(text: string): string {
  return dropHidden(
    text.toWellFormed().replaceAll(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, " ")
      .replaceAll(/\p{Cc}/gu, ""),
  );
}

/** UTF-16 units of a line that are cleaned for each unit that is kept. */
const CLEANED_FACTOR = 10;

/**
 * The first line of a text that is not blank, cleaned as by `cleanLine`. It has at most `units_max`
 * UTF-16 units, with the ellipsis of a line that was cut, and no half of a surrogate pair.
 */
export function firstLineOf(text: string, units_max: number): string {
  const line = /[^\s\u0085][^\n\v\f\r\u0085\u2028\u2029]*/.exec(text)?.[0] ?? "";
  const read = line.slice(0, units_max * CLEANED_FACTOR);
  const cleaned = cleanLine(read).trim();
  if (cleaned.length <= units_max && read.length === line.length) return cleaned;
  return `${cleaned.slice(0, units_max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/**
 * Splits a text that arrives in pieces at a separator. Joins the pieces of a part only once, when
 * the part is complete, so that input of single characters costs no more than any other input.
 */
export class Splitter {
  readonly #separator: string | RegExp;
  /** Number of characters at the end of a piece that may be the beginning of a separator. */
  readonly #overlap: number;
  #pending: string[] = [];
  #tail = "";
  /** The number of characters in the incomplete part. */
  length = 0;

  constructor(separator: string | RegExp, overlap: number) {
    this.#separator = separator;
    this.#overlap = overlap;
  }

  /** Adds a piece; returns the parts that this piece completes. */
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

/** Cleans an untrusted name for display: one line of at most 64 characters. */
export function toDisplayName(name: string): string {
  const characters = Array.from(cleanLine(name.slice(0, 8 * NAME_CHARS_MAX)).trim());
  const isTooLong = characters.length > NAME_CHARS_MAX;
  return isTooLong ? `${characters.slice(0, NAME_CHARS_MAX - 1).join("")}…` : characters.join("");
}

/** Escapes text for use in a quoted HTML attribute. */
export function escapeAttribute(text: string): string {
  return escapeMarkup(text).replaceAll('"', "&quot;");
}

/**
 * True if a pattern matches a whole text; upper and lower case differ. A `*` in the
 * pattern matches any characters. Each piece between them is matched at its first occurrence, so
 * the time is linear.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** The message of a thrown value, which may not be an `Error`. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = "hint" in error && typeof error.hint === "string" ? `; ${error.hint}` : "";
  return error.message + hint;
}
