/** The frames of Socket Mode: envelopes with events and presses of buttons. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { Timestamp } from "./timestamps.ts";
import { SlackMessage } from "./web_api.ts";

/** A frame of the connection itself. */
const Hello = z.object({ type: z.literal("hello"), num_connections: z.int().optional() });
const Disconnect = z.object({ type: z.literal("disconnect"), reason: z.string().default("") });

/** Everything with an id must be acknowledged; Slack sends it again until then. */
const Envelope = z.object({
  envelope_id: z.string().min(1),
  type: z.string(),
  payload: z.unknown(),
});
export type Envelope = z.output<typeof Envelope>;

const Frame = z.union([Hello, Disconnect, Envelope]);
export type Frame = z.output<typeof Frame>;

/** The frame in a text; undefined for frames that are not for us. */
export function parseFrame(text: string): Frame | undefined {
  return Frame.safeParse(tryJson(text)).data;
}

const MessageEvent = z.object({
  event: SlackMessage.extend({ type: z.literal("message"), channel: z.string() }),
});
/** A message that was written in a channel which the app can read. */
export type WrittenMessage = SlackMessage & { readonly channel: string };

const EditEvent = z.object({
  event: z.object({
    type: z.literal("message"),
    subtype: z.literal("message_changed"),
    channel: z.string(),
    message: SlackMessage,
    previous_message: z.object({ text: z.string().default("") }),
  }),
});

const Press = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  message: z.looseObject({
    ts: Timestamp,
    text: z.string().default(""),
    thread_ts: Timestamp.optional(),
    blocks: z.array(z.looseObject({ type: z.string() })).default([]),
  }),
  actions: z.array(z.object({ value: z.string().default(""), action_ts: z.string() })).min(1),
});
/** A press of a button under a message. */
export type Press = z.output<typeof Press>;

/** The message in an envelope, if it has one. */
export function toWrittenMessage({ type, payload }: Envelope): WrittenMessage | undefined {
  return type === "events_api" ? MessageEvent.safeParse(payload).data?.event : undefined;
}

/** The message whose text was changed, as it is now. Slack also adds previews of links. */
export function toEditedMessage({ type, payload }: Envelope): WrittenMessage | undefined {
  const edit = type === "events_api" ? EditEvent.safeParse(payload).data?.event : undefined;
  if (!edit || edit.message.text === edit.previous_message.text) return undefined;
  return { ...edit.message, channel: edit.channel };
}

/** The press in an envelope, if it has one. */
export function toPress({ type, payload }: Envelope): Press | undefined {
  return type === "interactive" ? Press.safeParse(payload).data : undefined;
}
