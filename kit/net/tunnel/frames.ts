/** What daemon and relay say to each other: heads as JSON, bodies as bytes, each with its limit. */

import * as z from "zod";

/** The version that is spoken here. Another one is refused by name. */
export const PROTOCOL = 1;

/** Requests that one daemon has under way. */
export const STREAMS_MAX = 2048;
/** A frame of text: the head of a request or an answer, at most. */
export const HEAD_BYTES_MAX = 65_536;
/** What one frame carries of a body. Frames of many bodies take turns, so that none waits long. */
export const CHUNK_BYTES_MAX = 65_536;
/** What may be sent of a body before its reader took some. */
export const STREAM_WINDOW_BYTES = 524_288;
/** What may be on the wire of all bodies together: a head behind them waits for no more. */
export const CONNECTION_WINDOW_BYTES = 2_097_152;
/** What all readers of one end together may leave untaken; past it, the slowest is cut off. */
export const HELD_BYTES_MAX = 33_554_432;
/** What an end may have read of requests that it did not answer yet, and so may hold of them. */
export const READ_BYTES_MAX = 67_108_864;
/** Of one request: nothing but an upload is longer, and an upload is not held. */
export const READ_BYTES_EACH_MAX = 1_048_576;
/** What an end holds of bodies that the other does not take; past it, the slowest is cut off. */
export const WAITING_BYTES_MAX = 67_108_864;
/** The largest body of a request: what the daemon may be told to take, and a form around it. */
export const REQUEST_BYTES_MAX = 1_074_790_400;
/** Bytes that the socket holds: an end that left so many untaken is asked nothing more. */
export const UNSENT_BYTES_MAX = 16_777_216;

/** An end that left so many untaken is left: whatever else is said to it would be kept for it. */
export const UNTAKEN_BYTES_MAX = 2 * UNSENT_BYTES_MAX;

export const PING_EVERY_MS = 20_000;
/** Pings that are answered in that time: each answer is kept until it is taken. */
export const PINGS_RECEIVED_MAX = 60;
export const PINGS_UNANSWERED_MAX = 2;
/** How long an end may take to say its first frame. */
export const HANDSHAKE_MS_MAX = 10_000;

/** Why a tunnel ends, as its close code; codes of `/ws` mean the same here (contract 4). */
export const CLOSE = {
  going_away: 1000,
  not_hello: 4000,
  bad_frame: 4002,
  unknown_protocol: 4005,
  too_many_daemons: 4008,
  superseded: 4009,
  no_pong: 4010,
  too_slow: 4013,
} as const;
export type CloseReason = keyof typeof CLOSE;

const StreamId = z.int().min(1).max(0xffff_ffff);
const HeaderName = z.string().max(256).regex(/^[\w-]+$/);
/** Bytes, as HTTP has them; a line's end would begin another header. */
const HeaderValue = z.string().max(32_768).regex(/^[\t\x20-\x7e\x80-\xff]*$/);
const HeaderPairs = z.array(z.tuple([HeaderName, HeaderValue])).max(128);

/** A short text that is shown to people, and steers no terminal. */
function printableText(maxLength: number) {
  return z.string().max(maxLength).regex(/^\P{C}*$/u);
}

/** The daemon's first frame. Its id and its secret came with the upgrade. */
export const Hello = z.object({
  type: z.literal("hello"),
  protocol: z.literal(PROTOCOL),
  machine: printableText(255),
  version: printableText(64),
  capabilities: z.record(z.string().max(64), z.boolean())
    .refine((capabilities) => Object.keys(capabilities).length <= 64, "More than 64 capabilities"),
});
export type Hello = z.output<typeof Hello>;

/** The relay's first frame: the tunnel stands, or why it does not. */
export const HandshakeReply = z.discriminatedUnion("type", [
  z.object({ type: z.literal("welcome"), protocol: z.literal(PROTOCOL) }),
  z.object({ type: z.literal("refused"), error: z.string().max(64), detail: z.string().max(1024) }),
]);
export type HandshakeReply = z.output<typeof HandshakeReply>;

export const RequestHead = z.object({
  type: z.literal("request"),
  id: StreamId,
  method: z.enum(["GET", "HEAD", "POST", "PATCH", "DELETE"]),
  path: z.string().max(16_384).regex(/^\/(?!\/)[\x21-\x7e]*$/, "A path begins with one slash"),
  headers: HeaderPairs,
  /** Whether bytes follow; without them the request is whole. */
  body: z.boolean(),
  /** Whether a signed-in browser asks, from a page of the relay's own. */
  door: z.enum(["browser", "program"]),
});
export type RequestHead = z.output<typeof RequestHead>;

export const ResponseHead = z.object({
  type: z.literal("response"),
  id: StreamId,
  status: z.int().min(200).max(599),
  headers: HeaderPairs,
  body: z.boolean(),
});
export type ResponseHead = z.output<typeof ResponseHead>;

export const Frame = z.discriminatedUnion("type", [
  RequestHead,
  ResponseHead,
  /** The sender's body is whole. The answer's end is the end of all, whatever was left unsaid. */
  z.object({ type: z.literal("end"), id: StreamId }),
  /** So many bytes were taken, and as many more may come: of a body, or (0) of all together. */
  z.object({
    type: z.literal("credit"),
    id: z.int().min(0).max(0xffff_ffff),
    bytes: z.int().min(1).max(CONNECTION_WINDOW_BYTES),
  }),
  /** Nobody waits for this any more, or it cannot go on; `taken: false`: it was never begun. */
  z.object({
    type: z.literal("cancel"),
    id: StreamId,
    why: z.string().max(256),
    taken: z.boolean(),
  }),
  z.object({ type: z.literal("ping"), ping_id: z.int() }),
  z.object({ type: z.literal("pong"), ping_id: z.int() }),
]);
export type Frame = z.output<typeof Frame>;
