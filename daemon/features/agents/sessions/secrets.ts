/** Masks secrets in text before it is shown: known values, and text in the form of a secret. */

/** Stands for a secret. */
export const MASK = "[masked]";

/** A shorter value would be found in ordinary text. */
const KNOWN_CHARS_MIN = 8;

/** Matches forms that only secrets have. A key that is cut off is masked to the end. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
  /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9])(?:gh[opsur]_|github_pat_|glpat-|npm_|hf_)[A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g,
  /(?<![A-Za-z0-9])mesh_(?:sk|ac|at|rt)_[A-Za-z0-9_-]{8,}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{0,2000}/g,
];

/** Matches the text before a secret in the same word; the second group is the secret. */
const PRECEDED: readonly RegExp[] = [
  /(\b(?:bearer|basic) {1,4})([A-Za-z0-9._~+/=-]{8,})/gi,
  // Up to the last @, because a password may have one.
  /(:\/\/[^\s/:@]*:)([^\s/]+)(?=@)/g,
];

/** Matches the name of a secret, and the text between it and its value. */
const NAME =
  /(?:passw(?:or)?d|passphrase|credentials?|token|secret|(?:api|access|private|secret)[_-]?key)["'\\ ]{0,6}(?::?=>?|:)[ \t]{0,4}/gi;

/** A shorter value does not count as a secret. */
const NAMED_CHARS_MIN = 4;

/** Matches values that are no secret: a word of a program, or the name of a variable. */
const NO_SECRET =
  /^(?:string|number|boolean|null|undefined|none|true|false|unknown|process\.env\.\w+)[[\](){}<>|,;:]*$/i;
const VARIABLE = /^\$(?:[A-Z_][A-Z0-9_]*|\{[\w.]+\})[[\](){}<>|,;:]*$/;

const QUOTE = /(\\{0,7})(["'`])/y;
/** Matches the characters after the end of a text in a program, such as `" + name` or `", name`. */
const AFTER_QUOTE = / {0,4}[+.,;:?|&)\]}] /y;
const UNQUOTED = /[^\s"'`]+/y;

interface MaskedText {
  readonly text: string;
  /** Number of masked secrets. */
  readonly masked: number;
}

/** Masks the known secrets, and text in the form of one. Some secrets have no such form. */
export function maskSecrets(text: string, known: readonly string[]): MaskedText {
  let masked = 0;
  const mask = () => {
    masked++;
    return MASK;
  };
  let shown = text;
  // The longest secrets first, because a secret may be a part of another.
  for (const secret of known.toSorted((a, b) => b.length - a.length)) {
    if (secret.length >= KNOWN_CHARS_MIN) shown = shown.replaceAll(secret, mask);
  }
  for (const form of FORMS) shown = shown.replace(form, mask);
  for (const preceded of PRECEDED) {
    shown = shown.replace(
      preceded,
      (whole: string, name: string, value: string) => value === MASK ? whole : name + mask(),
    );
  }
  return { text: maskNamed(shown, mask), masked };
}

/** Masks the value that follows each name of a secret. */
function maskNamed(text: string, mask: () => string): string {
  let shown = "";
  let from = 0;
  for (const { index, 0: name } of text.matchAll(NAME)) {
    if (index < from) continue;
    const [start, end] = valueAt(text, index + name.length);
    const value = text.slice(start, end);
    const isSecret = value.length >= NAMED_CHARS_MIN && value !== MASK &&
      !NO_SECRET.test(value) && !VARIABLE.test(value);
    if (!isSecret) continue;
    shown += text.slice(from, start) + mask();
    from = end;
  }
  return shown + text.slice(from);
}

/** The start and end of a value: in its quotes, or up to white space or a quote. */
function valueAt(text: string, at: number): readonly [start: number, end: number] {
  const quote = matchAt(QUOTE, text, at);
  if (!quote) {
    let end = at + (matchAt(UNQUOTED, text, at)?.[0].length ?? 0);
    while (end > at && "\\,;".includes(text.charAt(end - 1))) end--;
    return [at, end];
  }
  const start = at + quote[0].length;
  if (matchAt(AFTER_QUOTE, text, start)) return [start, start];
  return [start, endOfQuoted(text, start, quote[2] ?? "", quote[1]?.length ?? 0)];
}

/**
 * The end of a text that began with a quote behind so many backslashes, as in JSON within JSON. A
 * text whose quote is missing ends with its line.
 */
function endOfQuoted(text: string, start: number, quote: string, depth: number): number {
  let backslashes = 0;
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "\n") return at;
    if (char === quote) {
      // A quote of an outer text, or one of this text that is not a part of it.
      if (backslashes < depth) return at - backslashes;
      if (backslashes % (2 * (depth + 1)) === depth) return at - depth;
    }
    backslashes = char === "\\" ? backslashes + 1 : 0;
  }
  return text.length;
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
