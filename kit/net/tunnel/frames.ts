/** The tunnel protocol between daemon and relay: frames and limits. */

import * as z from "zod";

/** The protocol version that this code supports. */
export const PROTOCOL = 1;

/** Limit of open requests to one daemon. */
export const STREAMS_MAX = 2048;
/** Size limit of a JSON frame. The head of a request or a response is the largest frame. */
export const HEAD_BYTES_MAX = 65_536;
/** Size limit of a body chunk. Chunks of several bodies alternate, so that none waits long. */
export const CHUNK_BYTES_MAX = 65_536;
/** Maximum bytes of one body that are sent before the reader consumes some. */
export const STREAM_WINDOW_BYTES = 524_288;
/** Maximum bytes of all bodies in transit. This limits how long a head waits. */
export const CONNECTION_WINDOW_BYTES = 2_097_152;
/** Limit of received bytes that one end holds unread. Above it, the slowest reader is cut off. */
export const HELD_BYTES_MAX = 33_554_432;
/** Limit of request bytes that the handlers of all unanswered requests have read and may hold. */
export const READ_BYTES_MAX = 67_108_864;
/** Bytes of a request that `READ_BYTES_MAX` counts. Only uploads are longer; they are not held. */
export const READ_BYTES_EACH_MAX = 1_048_576;
/** Limit of outgoing bytes that wait for the other end. Above it, the slowest body is cut off. */
export const WAITING_BYTES_MAX = 67_108_864;
/** Size limit of a request body: the largest possible upload, plus its multipart form. */
export const REQUEST_BYTES_MAX = 1_074_790_400;
/** If the socket's send buffer holds more bytes, no new request is sent. */
export const UNSENT_BYTES_MAX = 16_777_216;

/** If the socket's send buffer holds more bytes, the tunnel is closed. */
export const UNTAKEN_BYTES_MAX = 2 * UNSENT_BYTES_MAX;

export const PING_EVERY_MS = 20_000;
/** Maximum number of pings within `PING_EVERY_MS`. Limited: each queues a response. */
export const PINGS_RECEIVED_MAX = 60;
/** See `KeepAlive`. */
export const KEEP_ALIVE = { every_ms: PING_EVERY_MS, unanswered_max: 2 };
/** Maximum time for either end to send its first frame. */
export const HANDSHAKE_MS_MAX = 10_000;

/** Close codes by reason, as those of `/ws` (contract 4), where 4008 means too many bad frames. */
export const CLOSE = {
  going_away: 1000,
  not_hello: 4000,
  bad_frame: 4002,
  unknown_protocol: 4005,
  too_many_daemons: 4008,
  superseded: 4009,
  no_pong: 4010,
  too_slow: 4013,
  identity_in_use: 4014,
} as const;
export type CloseReason = keyof typeof CLOSE;

const StreamId = z.int().min(1).max(0xffff_ffff);
const HeaderName = z.string().max(256).regex(/^[\w-]+$/);
/** The bytes that HTTP allows in a header's value. A line break would begin another header. */
const HeaderValue = z.string().max(32_768).regex(/^[\t\x20-\x7e\x80-\xff]*$/);
const HeaderPairs = z.array(z.tuple([HeaderName, HeaderValue])).max(128);

/** A short text to show to people, without control characters and other invisible characters. */
function printableText(maxLength: number) {
  return z.string().max(maxLength).regex(/^\P{C}*$/u);
}

/** The daemon's first frame. The upgrade request has already carried its id and its secret. */
export const Hello = z.object({
  type: z.literal("hello"),
  protocol: z.literal(PROTOCOL),
  machine: printableText(255),
  version: printableText(64),
  capabilities: z.record(z.string().max(64), z.boolean())
    .refine((capabilities) => Object.keys(capabilities).length <= 64, "More than 64 capabilities"),
  /** The run: new at each start of the daemon. Daemons of earlier versions do not send it. */
  run: z.string().regex(/^[0-9a-f]{16}$/).optional(),
});
export type Hello = z.output<typeof Hello>;

/** The relay's first frame, which accepts or refuses the tunnel. */
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
  /** True if a request body follows. */
  body: z.boolean(),
  /** `browser`: a page of the relay sent the request, and a person has signed in to that page. */
  door: z.enum(["browser", "program"]),
  /**
   * The token of a paired device that sends the request, which the daemon checks. Its `door` is
   * `program`, for daemons that do not know this field.
   */
  device: z.string().max(64).regex(/^[\w-]+$/).optional(),
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
  /** Ends the sender's body. If the body is a response's, the stream is closed too. */
  z.object({ type: z.literal("end"), id: StreamId }),
  /**
   * Returns credit, so that as many bytes may be sent again. `id` is the stream whose reader
   * consumed them, or 0 for the whole connection, where bytes count as consumed on arrival.
   */
  z.object({
    type: z.literal("credit"),
    id: z.int().min(0).max(0xffff_ffff),
    bytes: z.int().min(1).max(CONNECTION_WINDOW_BYTES),
  }),
  /** Abandons a stream. `taken: false` means that the request was never started. */
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
