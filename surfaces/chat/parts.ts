/** The messages that show an inbox item, in order: its texts, and then its files. */

import type { Button, ChatStyle } from "./chat.ts";
import {
  renderCaption,
  renderItem,
  renderNotSent,
  renderUncertain,
  renderUncertainFile,
  type ShownItem,
} from "./rendering.ts";

export interface TextPart {
  readonly kind: "text";
  readonly item_id: string;
  /** The index of this text among the item's texts; undefined for a text that replaces a part. */
  readonly number: number | undefined;
  readonly text: string;
  readonly buttons: readonly Button[] | undefined;
  /** The notice that is sent in place of a part that may have arrived. */
  readonly uncertain: string;
}

export interface FilePart {
  readonly kind: "file";
  readonly item_id: string;
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly caption: string;
  readonly uncertain: string;
  /** The text that is sent in place of a file that cannot be sent. */
  notSent(why: string): string;
}

export type Part = TextPart | FilePart;

export function partsOf(item: ShownItem, style: ChatStyle): Part[] {
  const { texts, buttons } = renderItem(item, style);
  const uncertain = renderUncertain(item, style);
  const textParts = texts.map((text, index) => ({
    kind: "text" as const,
    item_id: item.item_id,
    number: index,
    text,
    buttons: index === texts.length - 1 ? buttons : undefined,
    uncertain,
  }));
  return [...textParts, ...item.attachments.map((file) => toFilePart(item, file, style))];
}

/** The text that replaces a part. It keeps the part's buttons. */
export function replacement(part: Part, text: string): TextPart {
  const { uncertain, item_id } = part;
  return {
    kind: "text",
    item_id,
    number: undefined,
    text,
    buttons: part.kind === "text" ? part.buttons : undefined,
    uncertain,
  };
}

function toFilePart(
  item: ShownItem,
  { id, filename, size }: ShownItem["attachments"][number],
  style: ChatStyle,
): FilePart {
  const { item_id } = item;
  const caption = renderCaption(item, filename, style);
  return {
    kind: "file",
    item_id,
    id,
    filename,
    size,
    caption,
    uncertain: renderUncertainFile(caption, item_id, style),
    notSent: (why) => renderNotSent(caption, item_id, why),
  };
}
