/** The entries of a conversation: messages and turns in the order of their times. */

import type { AgentTurn, Attachment, Message } from "../../state/records.ts";

export interface Talk {
  /** The newest first. */
  readonly messages: readonly Message[];
  readonly turns: readonly AgentTurn[];
  /** Where earlier messages begin; null without any. */
  readonly next: string | null;
}

/** A message or a turn, with the files of its reply. */
export interface Entry {
  readonly key: string;
  readonly at: string;
  readonly message?: Message;
  readonly reply_attachments?: readonly Attachment[] | undefined;
  readonly turn?: AgentTurn;
}

/**
 * The oldest first. A prompt that contains the id of a message is that message, and turns older
 * than the oldest message that is shown are left out. An ack repeats the reply of its ask and is
 * left out; its files are shown with the reply.
 */
export function toEntries({ messages: all, turns, next }: Talk): readonly Entry[] {
  const messages = all.filter(({ kind }) => kind !== "ack").toReversed();
  const files = new Map(
    all.filter(({ kind }) => kind === "ack")
      .map(({ correlation_id, attachments }) => [correlation_id ?? "", attachments]),
  );
  const ids = messages.flatMap(({ message_id, delivery_id }) => [message_id, delivery_id]);
  const oldest = next === null ? "" : messages[0]?.created_at ?? "";
  const entries: Entry[] = [
    ...messages.map((message) => ({
      key: message.delivery_id,
      at: message.created_at,
      message,
      reply_attachments: files.get(message.message_id),
    })),
    ...turns
      .filter(({ text, at }) => at >= oldest && !ids.some((id) => text.includes(id)))
      .map((turn) => ({ key: `${turn.role} ${turn.at}`, at: turn.at, turn })),
  ];
  return entries.sort((a, b) => a.at.localeCompare(b.at));
}
