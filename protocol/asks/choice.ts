/** A choice among texts, as command lines and tools give it. */

import { cleanLine } from "kit/core/text.ts";
import type { Option } from "protocol/messages/question.ts";

/** The question for `POST /ask`. A text alone is the id of its option, too. */
export function toChoice(options: readonly (string | Option)[]) {
  return { kind: "choice" as const, options: options.map(toOption) };
}

/** A text loses its hidden characters, so that two options which look the same are the same. */
export function toOption(option: string | Option): Option {
  if (typeof option !== "string") return option;
  const text = cleanLine(option).trim();
  return { id: text, title: text };
}
