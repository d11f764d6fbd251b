/** A structured question, and how agents read it within the frame of an ask (contract 2 and 5). */

import * as z from "zod";
import { DisplayText } from "kit/core/schema.ts";
import { cleanLine, escapeAttribute, escapeMarkup } from "kit/core/text.ts";
import { neutralizeMarks, toReferences } from "./frame_markers.ts";

export const Option = z.object({ id: DisplayText.min(1).max(255), title: DisplayText.max(1000) });
/** Every field is there once it is asked, null where it was not said (contract 2). */
export const Question = z.object({
  kind: z.enum(["choice", "text", "acknowledge"]),
  prompt: DisplayText.nullable().default(null),
  options: z.array(Option).max(50).default([]),
  scope: z.string().max(255).nullable().default(null),
  timeout_seconds: z.number().nonnegative().nullable().default(null),
  blocking: z.boolean().default(false),
  metadata: z.record(z.string(), z.unknown()).nullable().default(null),
});
export type Question = z.output<typeof Question>;

/**
 * A question as agents read it between the tags of an ask (contract 5): what it says beside the
 * ask's text, and what there is to choose, a line each, all of it escaped. An id stands exactly as
 * it has to be given; line ends, what is not seen, and a mark of ours in it are references.
 */
export function toQuestionTags(
  { kind, prompt, options = [] }: z.input<typeof Question>,
  text: string,
): string[] {
  const line = (words: string) =>
    escapeMarkup(neutralizeMarks(cleanLine(words).replaceAll(/\s+/g, " ")));
  const exact = (id: string) => toReferences(escapeAttribute(id));
  const said = prompt && prompt !== text ? [`<prompt>${line(prompt)}</prompt>`] : [];
  if (kind !== "choice") return said;
  return [
    ...said,
    ...options.map(({ id, title }) => `<option id="${exact(id)}">${line(title)}</option>`),
  ];
}
