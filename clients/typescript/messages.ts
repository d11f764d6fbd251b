/** Messages as handlers get them, made of the frames of the daemon. */

import type { Frame } from "./connection.ts";

/** A message of another peer. */
export interface Message {
  readonly text: string;
  /** The sender's name. */
  readonly from: string;
  /** Null for a sender that is not a peer. */
  readonly fromId: string | null;
  /** `human` if the daemon has proved that the user wrote it. */
  readonly voice: "peer" | "human" | "unverified";
  /** Files, with the paths where they lie on the daemon's machine. */
  readonly attachments: readonly Readonly<Record<string, unknown>>[];
}

/** A message that needs an answer. */
export interface Ask extends Message {
  readonly correlationId: string;
  /** The earlier ask that this one continues. */
  readonly replyTo: string | undefined;
  /** The options to choose from, if it is a structured question. */
  readonly options: readonly { readonly id: string; readonly title: string }[];
}

/** The answer to an ask of this peer. */
export interface Reply extends Message {
  readonly correlationId: string;
}

/** A text answers; an option answers a question; nothing acknowledges. A thrown error declines. */
export type Answer =
  | string
  | { readonly option: string; readonly text?: string }
  | undefined
  | void;

export function toMessage(frame: Frame): Message {
  return {
    text: String(frame["text"] ?? ""),
    from: String(frame["from_peer"]),
    fromId: frame["from_peer_id"] as string | null,
    voice: frame["voice"] as Message["voice"],
    attachments: (frame["attachments"] ?? []) as Message["attachments"],
  };
}

export function toAsk(frame: Frame): Ask {
  const question = frame["question"] as { options?: Ask["options"] } | undefined;
  return {
    ...toMessage(frame),
    correlationId: String(frame["correlation_id"]),
    replyTo: frame["reply_to"] as string | undefined,
    options: question?.options ?? [],
  };
}

export function toReply(frame: Frame): Reply {
  return { ...toMessage(frame), correlationId: String(frame["correlation_id"]) };
}
