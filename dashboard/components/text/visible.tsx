/** Texts of agents with the hidden characters that they contain. */

import type { ComponentChildren } from "preact";
import { piecesOf } from "kit/core/hidden.ts";

/** Maximum hidden characters of one text with an element of their own. */
const MARKED_MAX = 300;

/** A text of an agent, with its hidden characters, but those of line ends. */
export function visible(text: string): ComponentChildren {
  return exactly(text.replaceAll("\r\n", "\n"));
}

/** A text that a person approves, with all of its hidden characters. */
export function exactly(text: string): ComponentChildren {
  const pieces = piecesOf(text);
  if (pieces.every(({ hidden }) => !hidden)) return text;
  if (pieces.length > 2 * MARKED_MAX) {
    return pieces.map(({ text, hidden }) => hidden ? `⟨${text}⟩` : text).join("");
  }
  return pieces.map(({ text, hidden }, index) =>
    hidden
      ? <span key={index} class="hidden-char" title={`hidden character ${text}`}>⟨{text}⟩</span>
      : text
  );
}
