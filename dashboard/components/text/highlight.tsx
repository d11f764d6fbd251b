/** Code of agents with its keywords, strings and comments in colour. */

import { useMemo } from "preact/hooks";
import { parse, type ParsedLine } from "sugar-high/core";
import { visible } from "./visible.tsx";
import { lang, languages } from "sugar-high/lang";

/** Longer code has no colours: the parser takes quadratic time for some texts. */
const COLOURED_CHARS_MAX = 4000;

/** `language` is the name on the fence of the code block. */
export function Highlighted({ text, language }: { text: string; language: string }) {
  const lines = useMemo(() => linesOf(text, language), [text, language]);
  if (!lines) return <code>{visible(text)}</code>;
  return (
    <code>
      {lines.map(({ index, tokens }) => (
        <span key={index}>
          {index > 0 && "\n"}
          {tokens.map(({ type, value }, at) => (
            <span key={at} class={`token-${type}`}>{visible(value)}</span>
          ))}
        </span>
      ))}
    </code>
  );
}

/** Undefined for text that the parser does not know, or would change. */
function linesOf(text: string, language: string): readonly ParsedLine[] | undefined {
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
