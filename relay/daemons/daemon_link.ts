/** The connection of one daemon: its handshake, its requests, and its end. */

import * as z from "zod";
import type { Clock, Monotonic } from "kit/core/clock.ts";
import { readUpTo } from "kit/http/body.ts";
import { invalidRequest, Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { tryJson } from "kit/core/text.ts";
import {
  CLOSE,
  type CloseReason,
  HANDSHAKE_MS_MAX,
  type HandshakeReply,
  HEAD_BYTES_MAX,
  Hello,
  PROTOCOL,
  REQUEST_BYTES_MAX,
  RequestHead,
} from "kit/net/tunnel/frames.ts";
import { ByteCounts } from "kit/net/tunnel/byte_counts.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import type { Connection, ConnectionListener, FrameData } from "kit/net/tunnel/connection.ts";
import { abandon, type Body, type Bytes, type Stream, StreamError } from "kit/net/tunnel/stream.ts";
import { MultiplexedConnection } from "kit/net/tunnel/multiplexed.ts";
import { type Machine, type MachineRequest, NO_BODY_STATUSES } from "protocol/relay/daemons.ts";

/** The identity of a daemon, proven by its upgrade request. */
export interface DaemonIdentity {
  readonly namespace: string;
  readonly daemon_id: string;
  /** The remote address, in the form that the rate limits count. */
  readonly address?: string;
}

export interface DaemonLinkDeps {
  readonly clock: Clock;
  /** Called after the daemon's hello. Must call `welcome` or `refuse`, now or later. */
  onHello(link: DaemonLink): void;
  left(link: DaemonLink, why: string): void;
}

/** Room for the `type` and `id` of a request frame. */
const FRAME_BYTES = 64;
const encoder = new TextEncoder();
/** The first frame of any version of the protocol. */
const AnyHello = z.object({ type: z.literal("hello"), protocol: z.number() });
const HeadInput = RequestHead.omit({ type: true, id: true });

export class DaemonLink implements ConnectionListener {
  readonly identity: DaemonIdentity;
  readonly connectedAt: number;
  readonly #opened_at: Monotonic;
  readonly #deps: DaemonLinkDeps;
  /** Deadline of each request without a response, by the monotonic clock. */
  readonly #deadlines = new Map<Stream, number>();
  readonly #timedOut = new WeakSet<Stream>();
  /** For responses that are read whole, the bytes collected so far. */
  readonly #collected = new ByteCounts<Stream>();
  #connection: Connection | undefined;
  #hello: Hello | undefined;
  #multiplexed: MultiplexedConnection | undefined;

  constructor(identity: DaemonIdentity, deps: DaemonLinkDeps) {
    this.identity = identity;
    this.#deps = deps;
    this.connectedAt = deps.clock.now();
    this.#opened_at = deps.clock.monotonic();
  }

  /** Sets the connection. Must be called once, right after the constructor. */
  attach(connection: Connection): void {
    this.#connection = connection;
  }

  /** The number of open requests. */
  get size(): number {
    return this.#multiplexed?.size ?? 0;
  }

  /** Bytes of unread responses, of partly collected responses, and of unsent requests. */
  get held_bytes(): number {
    return (this.#multiplexed?.held_bytes ?? 0) + this.#collected.total + this.#untaken_bytes;
  }

  get #untaken_bytes(): number {
    return this.#connection?.open ? this.#connection.buffered : 0;
  }

  /** Frees memory: ends a response, or the tunnel if its daemon does not read. */
  shed(): void {
    const multiplexed = this.#multiplexed;
    const collected = this.#collected.total;
    if (!multiplexed || this.#untaken_bytes > multiplexed.held_bytes + collected) {
      return this.end("too_slow");
    }
    if (multiplexed.held_bytes > collected) return multiplexed.cutOffSlowest();
    const { largest } = this.#collected;
    if (!largest) return;
    this.#collected.set(largest, 0);
    largest.cutOff("the relay's memory limit is reached");
  }

  /** The machine's record; undefined before the handshake. */
  get machine(): Machine | undefined {
    if (!this.#hello) return undefined;
    const { machine, version, capabilities } = this.#hello;
    const { daemon_id } = this.identity;
    return { daemon_id, machine, connected_at: this.connectedAt, version, capabilities };
  }

  opened(): void {
    // Nothing to do: the daemon sends the first frame.
  }

  received(data: FrameData): void {
    if (this.#multiplexed) this.#multiplexed.received(data);
    else if (this.#hello) this.end("bad_frame");
    else this.#handshake(data);
  }

  closed(_code: number, reason: string): void {
    this.#multiplexed?.closed("the tunnel broke");
    this.#deps.left(this, reason || "the connection was lost");
  }

  /** Checks the connection and the deadlines. Must be called once a second. */
  tick(now: Monotonic): void {
    if (!this.#multiplexed) {
      if (now - this.#opened_at >= HANDSHAKE_MS_MAX) this.end("not_hello");
      return;
    }
    this.#multiplexed.tick(now);
    for (const [stream, deadline] of this.#deadlines) {
      if (deadline > now) continue;
      this.#timedOut.add(stream);
      stream.cancel("timed out");
    }
  }

  end(why: CloseReason): void {
    if (this.#multiplexed) this.#multiplexed.end(why);
    else this.#connection?.close(CLOSE[why], why);
  }

  /** Sends a request. Resolves with the head of the response; throws a refusal of `UNREACHABLE`. */
  async request(request: MachineRequest): Promise<Response> {
    const { daemon_id } = this.identity;
    const requestHead = toRequestHead(request);
    request.signal?.throwIfAborted();
    const multiplexed = this.#multiplexed;
    const reason = multiplexed ? multiplexed.unavailableReason : "its handshake is not complete";
    if (!multiplexed || reason !== undefined) {
      const fields = { daemon_id, reason: reason ?? "", may_have_been_delivered: false };
      throw new Problem("machine_offline", fields);
    }
    const stream = multiplexed.openStream(requestHead);
    const upload = sendBody(stream, request);
    const { timeout_ms } = request;
    this.#deadlines.set(stream, this.#deps.clock.monotonic() + timeout_ms);
    const abandon = () => stream.cancel("the caller has left");
    request.signal?.addEventListener("abort", abandon, { once: true, signal: stream.ended });
    try {
      const { head, body } = await stream.answer.promise;
      const fullBody = await this.#readWhole(stream, { status: head.status, body }, request);
      return toResponse(head.status, head.headers, fullBody);
    } catch (error) {
      request.signal?.throwIfAborted();
      if (upload.error instanceof Refusal) throw upload.error;
      throw this.#toProblem(error, stream, request);
    } finally {
      this.#deadlines.delete(stream);
      this.#collected.set(stream, 0);
    }
  }

  /** The body as a stream. For a request with `whole_bytes_max`, reads the whole body first. */
  async #readWhole(
    stream: Stream,
    { status, body }: { status: number; body: Body | null },
    { whole_bytes_max }: MachineRequest,
  ) {
    if (!body || whole_bytes_max === undefined || NO_BODY_STATUSES.has(status)) return body;
    const bytes = await readUpTo(body, whole_bytes_max, (held) => {
      this.#collected.set(stream, held);
    });
    if (bytes) return bytes;
    throw new Problem("bad_daemon_answer", { daemon_id: this.identity.daemon_id });
  }

  #toProblem(error: unknown, stream: Stream, { timeout_ms }: MachineRequest): unknown {
    if (!(error instanceof StreamError)) return error;
    const { daemon_id } = this.identity;
    const may_have_been_delivered = error.taken;
    if (this.#timedOut.has(stream)) {
      return new Problem("timed_out", { daemon_id, timeout_ms, may_have_been_delivered });
    }
    const reason = error.message;
    return new Problem("machine_offline", { daemon_id, reason, may_have_been_delivered });
  }

  /** Handles the first frame. Refuses an unsupported version and names it. */
  #handshake(data: FrameData): void {
    const json = typeof data === "string" && data.length <= HEAD_BYTES_MAX
      ? tryJson(data)
      : undefined;
    const hello = Hello.safeParse(json);
    if (!hello.success || !this.#connection) return this.#refuseHello(json);
    this.#hello = hello.data;
    this.#deps.onHello(this);
  }

  /** The run of the daemon; undefined for one of an earlier version. */
  get run(): string | undefined {
    return this.#hello?.run;
  }

  /** Completes the handshake. */
  welcome(): void {
    if (!this.#connection) return;
    this.#multiplexed = new MultiplexedConnection(this.#connection, { clock: this.#deps.clock });
    this.#send({ type: "welcome", protocol: PROTOCOL });
  }

  refuse(why: CloseReason, detail: string): void {
    this.#send({ type: "refused", error: why, detail });
    this.end(why);
  }

  /** Requests a sign of life from the daemon, and calls back when it comes. */
  probe(answered: () => void): void {
    this.#multiplexed?.probe(answered);
  }

  #refuseHello(json: unknown): void {
    const { protocol = PROTOCOL } = AnyHello.safeParse(json).data ?? {};
    if (protocol !== PROTOCOL) {
      const detail = `Unsupported tunnel protocol version: ${protocol} (supported: ${PROTOCOL})`;
      return this.refuse("unknown_protocol", detail);
    }
    const detail = `The first frame is not a valid hello of version ${PROTOCOL}`;
    this.refuse("not_hello", detail);
  }

  #send(frame: HandshakeReply): void {
    if (this.#connection?.open) this.#connection.send(JSON.stringify(frame));
  }
}

/** Validates the head of a request: an invalid head would make the daemon close the tunnel. */
function toRequestHead(
  { method, path, headers = {}, body, origin = "program", device }: MachineRequest,
) {
  const requestHead = HeadInput.safeParse({
    method,
    path,
    headers: requestHeaders(Object.entries(headers)),
    body: body !== undefined,
    door: origin,
    ...(device !== undefined && { device }),
  });
  if (!requestHead.success) throw invalidRequest(requestHead.error);
  const bytes_max = HEAD_BYTES_MAX - FRAME_BYTES;
  if (encoder.encode(JSON.stringify(requestHead.data)).length > bytes_max) {
    throw new Problem("body_too_large", { bytes_max });
  }
  return requestHead.data;
}

/** Sends the body of a request. If the source of the body fails, the result holds the error. */
function sendBody(stream: Stream, { body }: MachineRequest): { error?: unknown } {
  const upload: { error?: unknown } = {};
  const limited = body instanceof ReadableStream
    ? body.pipeThrough(limitBytes(REQUEST_BYTES_MAX))
    : new Response(body).body;
  if (limited) stream.send(limited).catch((error) => upload.error = error);
  return upload;
}

function limitBytes(bytes_max: number): TransformStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > bytes_max) throw new Problem("body_too_large", { bytes_max });
      controller.enqueue(chunk);
    },
  });
}

function toResponse(
  status: number,
  pairs: [string, string][],
  body: Body | Bytes | null,
): Response {
  const headers = new Headers();
  for (const [name, value] of responseHeaders(pairs)) headers.append(name, value);
  if (NO_BODY_STATUSES.has(status)) {
    if (body instanceof ReadableStream) void abandon(body);
    return new Response(null, { status, headers });
  }
  return new Response(body, { status, headers });
}
