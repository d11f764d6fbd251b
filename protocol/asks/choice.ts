/** A choice among texts, as command lines and tools give it. */

import type { Option } from "protocol/messages/question.ts";

/** The question for `POST /ask`. A text alone is the id of its option, too. */
export function toChoice(options: readonly (string | Option)[]) {
  return { kind: "choice" as const, options: options.map(toOption) };
}

export function toOption(option: string | Option): Option {
  return typeof option === "string" ? { id: option.trim(), title: option.trim() } : option;
}
