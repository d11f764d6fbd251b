/** Settings as text: their values, and the commands that change them. */

import type { Setting } from "../state/records.ts";

/** A value as text; a secret only as set or not set. */
export function valueText({ form, is_set, value }: Setting): string {
  if (!is_set) return "not set";
  if (form === "hidden" || value === null) return "set";
  if (form === "names") {
    const names = Array.isArray(value) ? value : [];
    return names.length === 0 ? "none" : `set: ${names.join(", ")}`;
  }
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  return String(value);
}

/**
 * The command that sets a setting to its present value. A value that is not shown is read from the
 * standard input, so that it does not appear in the shell's history.
 */
export function commandText({ key, form, is_set, value }: Setting): string {
  const set = `mesh config set ${key}`;
  if (form !== "shown") return `${set} -`;
  if (!is_set || value === null) return `${set} VALUE`;
  const text = Array.isArray(value) ? listText(value) : String(value);
  return `${set} ${quoteWord(text)}`;
}

/** A list as `a, b`; as YAML if that form would change a word. */
function listText(words: readonly string[]): string {
  const plain = words.length > 0 && words.every((word) => /^[\w./-]+$/.test(word));
  return plain ? words.join(", ") : JSON.stringify(words);
}

/** One word of a POSIX shell. */
function quoteWord(text: string): string {
  return /^[\w.:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
