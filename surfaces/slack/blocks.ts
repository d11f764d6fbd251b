/** Messages in the form of Block Kit. Nothing in a text is read as markup, a link or a mention. */

import { escapeMarkup } from "kit/core/text.ts";
import type { Button } from "../chat/chat.ts";
import { isChosen, splitText } from "../chat/rendering.ts";
import type { Block } from "./api_caller.ts";

/** Slack's limit of the buttons in one block. */
const BUTTONS_MAX = 25;
/** Maximum length of the text of a notification. */
const SUMMARY_UNITS_MAX = 300;

interface TextElement {
  readonly type: "text";
  readonly text: string;
  readonly style?: { readonly bold: true };
}
type Element = TextElement | { readonly type: "user"; readonly user_id: string };

const plain = (text: string): TextElement => ({ type: "text", text });
const bold = (text: string): TextElement => ({ type: "text", text, style: { bold: true } });

/** A text with the id of its block. */
export function toTextBlock(text: string, block_id: string): Block {
  return richText([plain(text)], block_id);
}

function richText(elements: readonly Element[], block_id?: string): Block {
  return {
    type: "rich_text",
    ...(block_id !== undefined && { block_id }),
    elements: [{ type: "rich_text_section", elements }],
  };
}

/** A message's blocks. Slack keeps `block_id`, by which we find the message again. */
export function toBlocks(
  { text, buttons = [], block_id, hasHead }: {
    readonly text: string;
    readonly buttons?: readonly Button[] | undefined;
    readonly block_id: string;
    /** True if the first line of the text names its sender. */
    readonly hasHead: boolean;
  },
): Block[] {
  const end = hasHead ? text.indexOf("\n") : -1;
  const elements = end > 0 && end < text.length - 1
    ? [bold(text.slice(0, end)), plain(text.slice(end))]
    : [plain(text)];
  return [richText(elements, block_id), ...toActions(buttons)];
}

function toActions(buttons: readonly Button[]): Block[] {
  const all = buttons.map(({ text, data }, index) => ({
    type: "button",
    action_id: `button-${index}`,
    text: { type: "plain_text", text, emoji: false },
    value: data,
  }));
  const blocks: Block[] = [];
  for (let start = 0; start < all.length; start += BUTTONS_MAX) {
    blocks.push({ type: "actions", elements: all.slice(start, start + BUTTONS_MAX) });
  }
  return blocks;
}

/**
 * The line that replaces the buttons of a message: the choice and its author, or a note on its end.
 */
export function toOutcome(button: Button | undefined, user_id: string): Block {
  if (button === undefined) return richText([plain("Closed: this takes no more answers.")]);
  if (!isChosen(button)) return richText([plain(button.text)]);
  return richText([bold(button.text), plain(" by "), { type: "user", user_id }]);
}

/** The text of a notification. In this field Slack parses `<…>`, so that is escaped. */
export function toSummary(text: string): string {
  return escapeMarkup(splitText(text, SUMMARY_UNITS_MAX)[0] ?? "") || "…";
}
