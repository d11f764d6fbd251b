/** The tunnel protocol between daemon and relay: its frames and its limits. */

import * as z from "zod";

/** The supported version of the protocol. */
export const PROTOCOL = 1;

/** Open requests to one daemon. */
export const STREAMS_MAX = 2048;
/** Size of a JSON frame. The head of a request or a response is the largest. */
export const HEAD_BYTES_MAX = 65_536;
/** Size of a body chunk. Chunks of many bodies alternate, so that none waits long. */
export const CHUNK_BYTES_MAX = 65_536;
/** Bytes of one body that may be sent before its reader consumes some. */
export const STREAM_WINDOW_BYTES = 524_288;
/** Bytes of all bodies that may be in transit. It bounds how long a head waits behind them. */
export const CONNECTION_WINDOW_BYTES = 2_097_152;
/** Received bytes that one end may hold unread. Beyond it, the slowest reader is cut off. */
export const HELD_BYTES_MAX = 33_554_432;
/** Bytes read of all unanswered requests, which their handlers may hold. */
export const READ_BYTES_MAX = 67_108_864;
/** The part of one request that counts there: only uploads are longer, and they are not held. */
export const READ_BYTES_EACH_MAX = 1_048_576;
/** Bytes of outgoing bodies that wait for the other end. Beyond it, the slowest is cut off. */
export const WAITING_BYTES_MAX = 67_108_864;
/** Size of a request body: the largest upload that a daemon can allow, and its form. */
export const REQUEST_BYTES_MAX = 1_074_790_400;
/** Bytes in the socket's send buffer above which no new request is sent. */
export const UNSENT_BYTES_MAX = 16_777_216;

/** Bytes in the socket's send buffer above which the tunnel is closed. */
export const UNTAKEN_BYTES_MAX = 2 * UNSENT_BYTES_MAX;

export const PING_EVERY_MS = 20_000;
/** Pings that are accepted in that time, as each one queues a response. */
export const PINGS_RECEIVED_MAX = 60;
export const PINGS_UNANSWERED_MAX = 2;
/** How long an end may take to send its first frame. */
export const HANDSHAKE_MS_MAX = 10_000;

/** Close codes by reason. Codes that `/ws` uses, too, mean the same there (contract 4). */
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
/** The bytes that HTTP allows. A line break would start another header. */
const HeaderValue = z.string().max(32_768).regex(/^[\t\x20-\x7e\x80-\xff]*$/);
const HeaderPairs = z.array(z.tuple([HeaderName, HeaderValue])).max(128);

/** A short text for people, without control and other invisible characters. */
function printableText(maxLength: number) {
  return z.string().max(maxLength).regex(/^\P{C}*$/u);
}

/** The daemon's first frame. The upgrade request has carried its id and its secret. */
export const Hello = z.object({
  type: z.literal("hello"),
  protocol: z.literal(PROTOCOL),
  machine: printableText(255),
  version: printableText(64),
  capabilities: z.record(z.string().max(64), z.boolean())
    .refine((capabilities) => Object.keys(capabilities).length <= 64, "More than 64 capabilities"),
});
export type Hello = z.output<typeof Hello>;

/** The relay's first frame: whether it accepts the tunnel. */
export const HandshakeReply = z.discriminatedUnion("type", [
  z.object({ type: z.literal("welcome"), protocol: z.literal(PROTOCOL) }),
  z.object({ type: z.literal("refused"), error: z.string().max(64), detail: z.string().max(1024) }),
]);
export type HandshakeReply = z.output<typeof HandshakeReply>;

export const RequestHead = z.object({
  type: z.literal("request"),
  id: StreamId,
  method: z.enum(["GET", "HEAD", "POST", "PATCH", "DELETE"]),
  path: z.string().max(16_384).regex(/^\/(?!\/)[\x21-\x7e]*$/, "Must begin with one slash"),
  headers: HeaderPairs,
  /** Whether a body follows. */
  body: z.boolean(),
  /** `browser`: sent by a page of the relay that a person has signed in to. */
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
  /** The sender's body is complete. The end of a response closes the stream. */
  z.object({ type: z.literal("end"), id: StreamId }),
  /** Bytes were consumed and may be sent again: of one body, or (id 0) of the connection. */
  z.object({
    type: z.literal("credit"),
    id: z.int().min(0).max(0xffff_ffff),
    bytes: z.int().min(1).max(CONNECTION_WINDOW_BYTES),
  }),
  /** The stream is abandoned. `taken: false` means that its request was never started. */
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
