/** Masks secrets in text before it is shown: known values, and what has the form of a secret. */

/** Stands for a secret. */
export const MASK = "[masked]";

/** A shorter value would be found in ordinary text. */
const KNOWN_CHARS_MIN = 8;

/** Matches forms that nothing but a secret has. A key that is cut off is masked to the end. */
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

/** Matches what names the secret that follows it; the second group is the secret. */
const NAMED: readonly RegExp[] = [
  /(\b(?:bearer|basic) {1,4})([A-Za-z0-9._~+/=-]{8,})/gi,
  /(:\/\/[^\s/:@]{0,100}:)([^\s/@]{1,200})(?=@)/g,
  /((?:passw(?:or)?d|secret|token)["'\\ ]{0,6}[=:]>?["'\\ ]{0,6})([^\s"'`,;\\(){}<>]{4,})/gi,
  /((?:api|access|private)[_-]?key["'\\ ]{0,6}[=:]>?["'\\ ]{0,6})([^\s"'`,;\\(){}<>]{4,})/gi,
  /((?:credentials?|passphrase)["'\\ ]{0,6}[=:]>?["'\\ ]{0,6})([^\s"'`,;\\(){}<>]{4,})/gi,
];

/** Matches values that are no secret: a number, a word of a program, a variable's name. */
const NO_SECRET =
  /^(?:[\d.]+|string|number|boolean|null|undefined|none|true|false|unknown|\$\w+|process\.env.*)$/i;

export interface MaskedText {
  readonly text: string;
  /** How many secrets were masked. */
  readonly masked: number;
}

/** Masks the known secrets, and everything that looks like one. Not every secret looks like one. */
export function maskSecrets(text: string, known: readonly string[]): MaskedText {
  let masked = 0;
  const mask = () => {
    masked++;
    return MASK;
  };
  let shown = text;
  // The longest first, because one secret may be a part of another.
  for (const secret of known.toSorted((a, b) => b.length - a.length)) {
    if (secret.length >= KNOWN_CHARS_MIN) shown = shown.replaceAll(secret, mask);
  }
  for (const form of FORMS) shown = shown.replace(form, mask);
  for (const named of NAMED) {
    shown = shown.replace(
      named,
      (whole: string, name: string, value: string) =>
        value.startsWith(MASK.slice(0, -1)) || NO_SECRET.test(value) ? whole : name + mask(),
    );
  }
  return { text: shown, masked };
}
