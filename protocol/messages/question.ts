/** A structured question, and its tags within the frame of an ask (contract 2 and 5). */

import * as z from "zod";
import { DisplayText, Instant, INSTANT_MS_MAX, madeLate } from "kit/core/schema.ts";
import { cleanLine, escapeAttribute, escapeMarkup } from "kit/core/text.ts";
import { Act } from "protocol/messages/act.ts";
import { neutralizeMarks, toReferences } from "protocol/messages/frame_markers.ts";

export const Option = z.object({ id: DisplayText.min(1).max(255), title: DisplayText.max(1000) });
export type Option = z.output<typeof Option>;
export const OPTIONS_MAX = 50;
/** The scope of tool permissions, which the human decides (contract 3). */
export const TOOL_PERMISSION = "tool_permission";
/** A stored question has every field; what the asker left out has its default (contract 2). */
export const Question = z.object({
  kind: z.enum(["choice", "text", "acknowledge"]),
  prompt: DisplayText.nullable().default(null),
  options: z.array(Option).max(OPTIONS_MAX).default([]),
  scope: z.string().max(255).nullable().default(null),
  timeout_seconds: z.number().nonnegative().nullable().default(null),
  blocking: z.boolean().default(false),
  metadata: z.record(z.string(), z.unknown()).nullable().default(null),
  /** Absent unless the question asks to permit a tool. */
  act: Act.optional(),
});
export type Question = z.output<typeof Question>;

const partialQuestion = madeLate(() => Question.partial());

/** When the asker of a blocking question stops waiting; null if that is not known. */
function expiryOf(
  { question, created_at }: { question: unknown; created_at: number },
): number | null {
  if (question === null || question === undefined) return null;
  const { blocking, timeout_seconds = null } = partialQuestion().safeParse(question).data ?? {};
  return blocking && timeout_seconds !== null
    ? Math.min(Math.trunc(created_at + timeout_seconds * 1000), INSTANT_MS_MAX)
    : null;
}

/** `expires_at` as events and frames have it; empty if the message has none. */
export function expiryField(message: Parameters<typeof expiryOf>[0]): { expires_at?: string } {
  const at = expiryOf(message);
  return at === null ? {} : { expires_at: z.encode(Instant, at) };
}

/**
 * The question as tags within an ask's frame (contract 5): the prompt if it differs from the ask's
 * text, then one line per option, all escaped. Option ids stay exact, as the agent repeats them.
 */
export function toQuestionTags(
  { kind, prompt, options = [] }: z.input<typeof Question>,
  text: string,
): string[] {
  const line = (value: string) =>
    escapeMarkup(neutralizeMarks(cleanLine(value).replaceAll(/\s+/g, " ")));
  const exact = (id: string) => toReferences(escapeAttribute(id));
  const promptTags = prompt && prompt !== text ? [`<prompt>${line(prompt)}</prompt>`] : [];
  if (kind !== "choice") return promptTags;
  return [
    ...promptTags,
    ...options.map(({ id, title }) => `<option id="${exact(id)}">${line(title)}</option>`),
  ];
}
