/** The entries of a conversation: messages, turns and records in the order of their times. */

import type { AgentTurn, Attachment, Message, TranscriptEntry } from "../../state/records.ts";

export interface Talk {
  /** The newest first. */
  readonly messages: readonly Message[];
  readonly turns: readonly AgentTurn[];
  /** The agent's records of its session; undefined if they are not shown. */
  readonly transcript?: readonly TranscriptEntry[] | undefined;
  /** The reason why the session is not shown; undefined if it is shown or does not exist. */
  readonly transcript_note?: string | undefined;
  /** The cursor of earlier messages; null if there are none. */
  readonly next: string | null;
}

/** A message with the files of its reply, a turn, or an entry of the agent's transcript. */
export interface Entry {
  readonly key: string;
  readonly at: string;
  readonly message?: Message;
  readonly reply_attachments?: readonly Attachment[] | undefined;
  readonly turn?: AgentTurn;
  readonly record?: TranscriptEntry;
}

/**
 * The oldest first. A prompt that contains the id of a message is that message. Entries older than
 * the oldest shown message are left out. A turn is left out if the transcript has it, which is so
 * if the turn is not older than the first record. An ack repeats the reply of its ask and is left
 * out; its files are shown with the reply.
 */
export function toEntries(
  { messages: all, turns, transcript = [], next }: Talk,
): readonly Entry[] {
  const messages = all.filter(({ kind }) => kind !== "ack").toReversed();
  const files = new Map(
    all.filter(({ kind }) => kind === "ack")
      .map(({ correlation_id, attachments }) => [correlation_id ?? "", attachments]),
  );
  const ids = messages.flatMap(({ message_id, delivery_id }) => [message_id, delivery_id]);
  const oldest = next === null ? "" : messages[0]?.created_at ?? "";
  const isShown = ({ text, at }: { text: string; at: string }) =>
    at >= oldest && !ids.some((id) => text.includes(id));
  const records = withTimes(transcript);
  const recorded_from = records[0]?.at ?? "9";
  const entries: Entry[] = [
    ...messages.map((message) => ({
      key: message.delivery_id,
      at: message.created_at,
      message,
      reply_attachments: files.get(message.message_id),
    })),
    ...turns.filter((turn) => turn.at < recorded_from && isShown(turn))
      .map((turn) => ({ key: `${turn.role} ${turn.at}`, at: turn.at, turn })),
    ...records.filter(({ record, at }) =>
      record.kind === "prompt" ? isShown({ text: record.text, at }) : at >= oldest
    ).map(({ record, at }) => ({ key: `record ${record.position}`, at, record })),
  ];
  return entries.sort((a, b) => a.at.localeCompare(b.at));
}

/** The records with their times; a record without a time gets the time of the previous one. */
function withTimes(transcript: readonly TranscriptEntry[]) {
  let last = "";
  return transcript.map((record) => {
    last = record.at ?? last;
    return { record, at: last };
  });
}
