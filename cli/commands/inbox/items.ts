/** Shared by the inbox's commands: the surface's name, and an item as text for the editor. */

import type { Call, WireResponse } from "kit/http/client.ts";
import { getInboxItem, readInboxItem, replyInboxItem } from "protocol/generated/endpoints.ts";
import { CommandError } from "../../client/failures.ts";
import { endingOfItem } from "protocol/derived/endings.ts";
import { clean } from "../../output/terminal.ts";
import { formatInstant } from "../../output/time.ts";

export type InboxItem = WireResponse<typeof getInboxItem>;

/** The CLI's name as a surface. The dashboard and chats have other names. */
export const SURFACE = "cli";

/** The lines that the editor shows below the text. */
export function aboutItem({ from, text, kind }: InboxItem): string {
  const wrote = kind === "ask" ? "asks" : "wrote";
  const lines = text.split(/\r\n|[\n\r]/).map(clean);
  return [
    "",
    "Write your answer above. These lines are not sent; without a text, nothing is sent.",
    "",
    `${clean(from)} ${wrote}:`,
    ...lines,
  ].join("\n");
}

/** True if nobody waits any more for the decision that an item requested. */
export function isDecisionOver({ state, question }: InboxItem): boolean {
  return state === "closed" && question !== null &&
    (question.kind === "choice" || question.scope === "tool_permission");
}

/** The warning to a person who is about to answer such an item. */
export function overText(item: InboxItem): string {
  const from = clean(item.from);
  return `${item.item_id} is over: ${endingOfItem(item)} A text would ask ${from} a new question.`;
}

/** A person's answer to an item. */
type ItemAnswer =
  | { readonly text: string }
  | { readonly option_id: string; readonly text?: string };

/**
 * Answers an item, unless that was done meanwhile: a second reply would ask its sender a new
 * question.
 */
export async function answerItem(
  call: Call,
  item_id: string,
  answer: ItemAnswer,
  headers: Record<string, string> = {},
) {
  const params = { id: item_id };
  const item = await call(getInboxItem, { params });
  if (item.replied) {
    throw new CommandError(
      `It was answered at ${formatInstant(item.replied_at)}; nothing was sent`,
    );
  }
  if (isDecisionOver(item)) {
    const how = `To do that: mesh inbox reply ${item_id} TEXT --again`;
    const advice = "option_id" in answer ? "Nothing was sent" : how;
    throw new CommandError(`${overText(item)} ${advice}`);
  }
  return await call(replyInboxItem, { params, body: { surface: SURFACE, ...answer }, headers });
}

export function markItemRead(call: Call, item_id: string) {
  return call(readInboxItem, { params: { id: item_id }, body: { surface: SURFACE } });
}
