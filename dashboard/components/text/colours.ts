/** Colours of code: its lines in tokens. */

import { parse, type ParsedLine } from "sugar-high/core";
import { lang, languages } from "sugar-high/lang";

/** Longer code has no colours: the parser takes quadratic time for some texts. */
const COLOURED_CHARS_MAX = 4000;

/** Undefined for text that the parser does not know, or would change. */
export function linesOf(text: string, language: string): readonly ParsedLine[] | undefined {
  const id = lang(language);
  if (id === undefined || text.length > COLOURED_CHARS_MAX) return undefined;
  try {
    const { lines } = parse(text, languages.find((language) => language.id === id)?.config);
    const texts = lines.map(({ tokens }) => tokens.map(({ value }) => value).join(""));
    return texts.join("\n") === text ? lines : undefined;
  } catch {
    return undefined;
  }
}
