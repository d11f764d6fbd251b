/** One end of an open tunnel: carries many concurrent requests on one connection. */

import type { Clock, Monotonic } from "kit/core/clock.ts";
import { frameHandler, nextTurn } from "kit/net/frames.ts";
import { ByteCounts } from "kit/net/tunnel/byte_counts.ts";
import { Credit, ReceiveWindow } from "kit/net/tunnel/flow_control.ts";
import {
  CLOSE,
  type CloseReason,
  CONNECTION_WINDOW_BYTES,
  Frame,
  HELD_BYTES_MAX,
  KEEP_ALIVE,
  PINGS_RECEIVED_MAX,
  READ_BYTES_EACH_MAX,
  READ_BYTES_MAX,
  type RequestHead,
  type ResponseHead,
  STREAMS_MAX,
  UNSENT_BYTES_MAX,
  UNTAKEN_BYTES_MAX,
  WAITING_BYTES_MAX,
} from "kit/net/tunnel/frames.ts";
import { KeepAlive } from "kit/net/keep_alive.ts";
import { contentLengthOf } from "kit/net/tunnel/headers.ts";
import type { Connection, FrameData } from "kit/net/tunnel/connection.ts";
import {
  type Chunk,
  itemBytesMax,
  MESSAGE_FLUSH_BYTES,
  type MessageItem,
  packMessage,
  unpackMessage,
} from "kit/net/tunnel/packing.ts";
import { abandon, type Body, Stream, StreamError, type StreamHost } from "kit/net/tunnel/stream.ts";

/** Dependencies of a multiplexed connection, provided by the daemon or relay that uses it. */
interface MultiplexedConnectionDeps {
  readonly clock: Clock;
  /** Handles a request; `body` may be null. Absent at the end that only sends requests. */
  onRequest?(head: RequestHead, stream: Stream, body: Body | null): void;
}

/** Time limit for the other end to end a connection that it closes. */
const CLOSE_MS_MAX = 2000;

export class MultiplexedConnection implements StreamHost {
  readonly credit = new Credit(CONNECTION_WINDOW_BYTES);
  readonly #connection: Connection;
  readonly #deps: MultiplexedConnectionDeps;
  readonly #streams = new Map<number, Stream>();
  readonly #receiveWindow = new ReceiveWindow(CONNECTION_WINDOW_BYTES);
  /** Unread bytes of each stream. A stream moves to the end whenever its reader reads. */
  readonly #held = new ByteCounts<Stream>();
  /** For each unanswered request, the bytes that its handler has read and may still hold. */
  readonly #read = new ByteCounts<Stream>();
  /** Bytes of each outgoing body that wait for credit. The longest waiting body is first. */
  readonly #waiting = new ByteCounts<Stream>();
  readonly #unsent: MessageItem[] = [];
  #unsent_bytes = 0;
  #last_id = 0;
  #closing_since: Monotonic | undefined;
  readonly #keepAlive: KeepAlive;
  readonly #probes: (() => void)[] = [];
  /** Since the last ping of this end. */
  #pingsReceived = 0;

  constructor(connection: Connection, deps: MultiplexedConnectionDeps) {
    this.#connection = connection;
    this.#deps = deps;
    this.#keepAlive = new KeepAlive(deps.clock, KEEP_ALIVE);
  }

  /** The number of open requests. */
  get size(): number {
    return this.#streams.size;
  }

  /** The number of bytes that were received but not read yet. */
  get held_bytes(): number {
    return this.#held.total;
  }

  /** Time of the last bytes from the other end, in milliseconds since 1970. */
  get heard_at(): number {
    return this.#keepAlive.heard_at;
  }

  /** Why no request can be sent now; undefined if a request can be sent. */
  get unavailableReason(): string | undefined {
    if (!this.#connection.open) return "the tunnel is closed";
    if (this.#streams.size >= STREAMS_MAX) return `${STREAMS_MAX} requests are open`;
    if (this.#connection.buffered > UNSENT_BYTES_MAX) return "it does not read what was sent";
    return undefined;
  }

  /** Sends the head of a request. Call this only if `unavailableReason` is undefined. */
  openStream(head: Omit<RequestHead, "type" | "id">): Stream {
    const stream = new Stream(this, ++this.#last_id);
    this.#streams.set(stream.id, stream);
    this.sendFrame({ type: "request", id: stream.id, ...head });
    return stream;
  }

  /** Sends a response: the head at once, the body as fast as the other end reads it. */
  async answer(
    stream: Stream,
    head: Omit<ResponseHead, "type" | "id" | "body">,
    body: Body | null,
  ): Promise<void> {
    if (stream.ended.aborted) return await abandon(body);
    this.sendFrame({ type: "response", id: stream.id, ...head, body: body !== null });
    if (body) await stream.send(body);
    stream.done();
  }

  received(data: FrameData): void {
    this.#keepAlive.heard();
    for (const answered of this.#probes.splice(0)) answered();
    if (typeof data === "string") return this.rejectFrame("A text message after the handshake");
    const items = unpackMessage(data);
    if (typeof items === "string") return this.rejectFrame(items);
    for (const item of items) {
      if (!this.#connection.open) return; // An earlier frame of this message was invalid.
      if (typeof item === "string") receive(this, item);
      else this.#receiveChunk(item);
    }
  }

  /** Closes the tunnel because of an invalid frame: the rest of the data cannot be trusted. */
  rejectFrame(detail: string): void {
    this.end("bad_frame", detail);
  }

  requested(head: RequestHead): void {
    const { onRequest } = this.#deps;
    if (!onRequest || head.id <= this.#last_id) {
      return this.rejectFrame("An unexpected request, or its id is not higher than the last");
    }
    const contentLength = contentLengthOf(head.headers);
    if (contentLength === undefined) return this.rejectFrame("An invalid content-length");
    this.#last_id = head.id;
    const stream = new Stream(this, head.id);
    if (this.#streams.size >= STREAMS_MAX) {
      return stream.cancel(`${STREAMS_MAX} requests are open`, false);
    }
    this.#streams.set(head.id, stream);
    onRequest(head, stream, head.body ? stream.receiveBody(undefined, contentLength) : null);
  }

  responded(head: ResponseHead): void {
    if (this.#deps.onRequest) return this.rejectFrame("An unexpected response");
    const stream = this.#streams.get(head.id);
    if (!stream) return;
    if (!stream.answered(head)) return this.rejectFrame("A second response to one request");
    if (!head.body) stream.close();
  }

  /** The end of a response closes its stream. The end of a request only ends the request's body. */
  ended(id: number): void {
    const stream = this.#streams.get(id);
    stream?.endBody();
    if (!this.#deps.onRequest) stream?.close();
  }

  credited(id: number, bytes: number): void {
    const isWithinWindow = id === 0
      ? this.credit.restore(bytes)
      : this.#streams.get(id)?.credited(bytes) ?? true;
    if (!isWithinWindow) this.rejectFrame("More credit than was used");
  }

  cancelled(id: number, why: string, taken: boolean): void {
    this.#streams.get(id)?.abort(new StreamError(why, taken));
  }

  pinged(ping_id: number): void {
    if (++this.#pingsReceived > PINGS_RECEIVED_MAX) return this.rejectFrame("Too many pings");
    this.sendFrame({ type: "pong", ping_id });
  }

  /** Sends a ping at once. Calls back when the other end sends anything. */
  probe(answered: () => void): void {
    this.#probes.push(answered);
    this.sendFrame({ type: "ping", ping_id: 0 });
  }

  /**
   * Sends a ping when one is due. Ends the tunnel if two pings are unanswered, or if the other end
   * began to close it and does not end it, because our confirmation does not reach it.
   */
  tick(now: Monotonic): void {
    if (!this.#connection.open) {
      this.#closing_since ??= now;
      if (now - this.#closing_since >= CLOSE_MS_MAX) this.end("no_pong");
      return;
    }
    const ping_id = this.#keepAlive.tick(now);
    if (ping_id === "gone") return this.end("no_pong");
    if (ping_id === undefined) return;
    this.#pingsReceived = 0;
    this.sendFrame({ type: "ping", ping_id });
  }

  end(why: CloseReason, detail: string = why): void {
    this.#flush();
    this.#connection.close(CLOSE[why], detail);
    this.closed(detail);
  }

  closed(why: string): void {
    this.credit.end();
    for (const stream of [...this.#streams.values()]) stream.abort(new StreamError(why, true));
  }

  sendFrame(frame: object): void {
    this.#enqueue(JSON.stringify(frame));
  }

  sendChunk(chunk: Chunk): void {
    this.#enqueue(chunk);
  }

  released(stream: Stream, bytes: number): void {
    this.#held.setLast(stream, this.#held.of(stream) - bytes);
  }

  read(stream: Stream, bytes: number): void {
    if (!this.#deps.onRequest || stream.ended.aborted) return;
    this.#read.set(stream, Math.min(this.#read.of(stream) + bytes, READ_BYTES_EACH_MAX));
    if (this.#read.total > READ_BYTES_MAX) {
      stream.cancel("too much of unanswered requests is held");
    }
  }

  queued(stream: Stream, bytes: number): void {
    if (stream.ended.aborted) return;
    this.#waiting.setLast(stream, this.#waiting.of(stream) + bytes);
    if (this.#waiting.total <= WAITING_BYTES_MAX) return;
    this.#waiting.first?.cancel("the other end reads it too slowly");
  }

  finished(stream: Stream): void {
    this.#streams.delete(stream.id);
    this.#read.set(stream, 0);
    this.#waiting.set(stream, 0);
  }

  /**
   * Queues an item. The items of one turn of the event loop are sent together at its end, or when
   * they reach `MESSAGE_FLUSH_BYTES`.
   */
  #enqueue(item: MessageItem): void {
    if (!this.#connection.open) return;
    if (this.#connection.buffered > UNTAKEN_BYTES_MAX) return this.end("too_slow");
    if (this.#unsent.length === 0) nextTurn(() => this.#flush());
    this.#unsent.push(item);
    this.#unsent_bytes += itemBytesMax(item);
    if (this.#unsent_bytes >= MESSAGE_FLUSH_BYTES) this.#flush();
  }

  #flush(): void {
    const items = this.#unsent.splice(0);
    this.#unsent_bytes = 0;
    if (items.length > 0 && this.#connection.open) this.#connection.send(packMessage(items));
  }

  /**
   * Counts the bytes as consumed for the connection's window when they arrive, so that a slow
   * reader of one stream does not block the others.
   */
  #receiveChunk(chunk: Chunk): void {
    const { id, bytes } = chunk;
    if (!this.#receiveWindow.receive(bytes.length)) {
      return this.rejectFrame("The chunks exceed the connection's window");
    }
    const credit = this.#receiveWindow.consume(bytes.length);
    if (credit > 0) this.sendFrame({ type: "credit", id: 0, bytes: credit });
    const stream = this.#streams.get(id);
    if (!stream) return; // The stream was closed while the chunk was in transit.
    this.#held.set(stream, this.#held.of(stream) + bytes.length);
    const accepted = stream.receive(bytes);
    if (accepted !== "stored") this.released(stream, bytes.length);
    if (accepted === "overflow") return this.rejectFrame("A body exceeds its window or its length");
    if (this.#held.total > HELD_BYTES_MAX) this.cutOffSlowest();
  }

  /** Cuts off the stream that has gone unread for the longest time. */
  cutOffSlowest(): void {
    this.#held.first?.cutOff("its reader is too slow");
  }
}

const receive = frameHandler<MultiplexedConnection, typeof Frame>(Frame, {
  request: (multiplexed, head) => multiplexed.requested(head),
  response: (multiplexed, head) => multiplexed.responded(head),
  end: (multiplexed, { id }) => multiplexed.ended(id),
  credit: (multiplexed, { id, bytes }) => multiplexed.credited(id, bytes),
  cancel: (multiplexed, { id, why, taken }) => multiplexed.cancelled(id, why, taken),
  ping: (multiplexed, { ping_id }) => multiplexed.pinged(ping_id),
  pong: () => undefined, // Every message, a pong too, resets the count of unanswered pings.
});
