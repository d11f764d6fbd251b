/** One end of a tunnel that stands: many requests on one line, none in another's way. */

import type { Clock } from "kit/core/clock.ts";
import { frameHandler, nextTurn } from "kit/net/frames.ts";
import { Credit, ReceiveWindow } from "kit/net/tunnel/flow_control.ts";
import {
  CLOSE,
  type CloseReason,
  CONNECTION_WINDOW_BYTES,
  Frame,
  HELD_BYTES_MAX,
  PING_EVERY_MS,
  PINGS_RECEIVED_MAX,
  PINGS_UNANSWERED_MAX,
  READ_BYTES_EACH_MAX,
  READ_BYTES_MAX,
  type RequestHead,
  type ResponseHead,
  STREAMS_MAX,
  UNSENT_BYTES_MAX,
  UNTAKEN_BYTES_MAX,
  WAITING_BYTES_MAX,
} from "kit/net/tunnel/frames.ts";
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

/** What a trunk needs of the end that it is. */
export interface MultiplexedConnectionDeps {
  readonly clock: Clock;
  /** Somebody asks; `body` is null when nothing follows. Absent where nobody may ask. */
  onRequest?(head: RequestHead, stream: Stream, body: Body | null): void;
}

export class MultiplexedConnection implements StreamHost {
  readonly credit = new Credit(CONNECTION_WINDOW_BYTES);
  readonly #connection: Connection;
  readonly #deps: MultiplexedConnectionDeps;
  readonly #streams = new Map<number, Stream>();
  readonly #receiveWindow = new ReceiveWindow(CONNECTION_WINDOW_BYTES);
  /** What each stream holds unread; whose reader took something last comes last. */
  readonly #held = new Map<Stream, number>();
  #held_bytes = 0;
  /** What whoever answers has read of each request: it may hold it until it has answered. */
  readonly #read = new Map<Stream, number>();
  #read_bytes = 0;
  /** What waits of each body for the other end; whose piece has waited longest comes first. */
  readonly #waiting = new Map<Stream, number>();
  #waiting_bytes = 0;
  readonly #unsent: MessageItem[] = [];
  #unsent_bytes = 0;
  #last_id = 0;
  #pinged_at: number;
  #unansweredPings = 0;
  #pings = 0;
  #pingsReceived = 0;

  constructor(connection: Connection, deps: MultiplexedConnectionDeps) {
    this.#connection = connection;
    this.#deps = deps;
    this.#pinged_at = deps.clock.now();
  }

  /** How many requests are under way. */
  get size(): number {
    return this.#streams.size;
  }

  /** Bytes that came and were not read yet. */
  get held_bytes(): number {
    return this.#held_bytes;
  }

  /** Why nothing more can be asked now; undefined when it can. */
  get unavailableReason(): string | undefined {
    if (!this.#connection.open) return "the tunnel is closed";
    if (this.#streams.size >= STREAMS_MAX) return `${STREAMS_MAX} requests are under way`;
    if (this.#connection.buffered > UNSENT_BYTES_MAX) return "it takes nothing any more";
    return undefined;
  }

  /** Asks the other end. Only when it is not `full`; then the head is on its way at once. */
  openStream(head: Omit<RequestHead, "type" | "id">): Stream {
    const stream = new Stream(this, ++this.#last_id);
    this.#streams.set(stream.id, stream);
    this.sendFrame({ type: "request", id: stream.id, ...head });
    return stream;
  }

  /** Answers what was asked: its head now, its body as fast as it is taken. */
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

  /** One frame from the other end. */
  received(data: FrameData): void {
    this.#unansweredPings = 0;
    if (typeof data === "string") return this.rejectFrame("After the greeting all is bytes");
    const items = unpackMessage(data);
    if (typeof items === "string") return this.rejectFrame(items);
    for (const item of items) {
      if (!this.#connection.open) return; // One of them broke the rules.
      if (typeof item === "string") receive(this, item);
      else this.#receiveChunk(item);
    }
  }

  /** A frame that breaks the rules: nothing after it can be counted on. */
  rejectFrame(detail: string): void {
    this.end("bad_frame", detail);
  }

  requested(head: RequestHead): void {
    const { onRequest } = this.#deps;
    if (!onRequest || head.id <= this.#last_id) {
      return this.rejectFrame("Nothing may be asked like this");
    }
    const contentLength = contentLengthOf(head.headers);
    if (contentLength === undefined) return this.rejectFrame("A length that is none");
    this.#last_id = head.id;
    const stream = new Stream(this, head.id);
    if (this.#streams.size >= STREAMS_MAX) {
      return stream.cancel(`${STREAMS_MAX} requests are under way`, false);
    }
    this.#streams.set(head.id, stream);
    onRequest(head, stream, head.body ? stream.receiveBody(undefined, contentLength) : null);
  }

  responded(head: ResponseHead): void {
    if (this.#deps.onRequest) return this.rejectFrame("An answer, and nothing was asked");
    const stream = this.#streams.get(head.id);
    if (!stream) return;
    if (!stream.answered(head)) return this.rejectFrame("A second answer");
    if (!head.body) stream.close();
  }

  /** The answer's end is the end of all; a request's end is that of its body. */
  ended(id: number): void {
    const stream = this.#streams.get(id);
    stream?.endBody();
    if (!this.#deps.onRequest) stream?.close();
  }

  credited(id: number, bytes: number): void {
    const isWithinWindow = id === 0
      ? this.credit.restore(bytes)
      : this.#streams.get(id)?.credited(bytes) ?? true;
    if (!isWithinWindow) this.rejectFrame("More credit than was taken");
  }

  cancelled(id: number, why: string, taken: boolean): void {
    this.#streams.get(id)?.abort(new StreamError(why, taken));
  }

  pinged(ping_id: number): void {
    if (++this.#pingsReceived > PINGS_RECEIVED_MAX) {
      return this.rejectFrame("More pings than anybody needs");
    }
    this.sendFrame({ type: "pong", ping_id });
  }

  /** Asks for a sign of life when it is time; ends when two got none. */
  tick(now: number): void {
    if (now - this.#pinged_at < PING_EVERY_MS) return;
    if (this.#unansweredPings >= PINGS_UNANSWERED_MAX) return this.end("no_pong");
    this.#pinged_at = now;
    this.#pingsReceived = 0;
    this.#unansweredPings++;
    this.sendFrame({ type: "ping", ping_id: ++this.#pings });
  }

  end(why: CloseReason, detail: string = why): void {
    this.#flush();
    this.#connection.close(CLOSE[why], detail);
    this.closed(detail);
  }

  /** The line is closed: whatever was under way breaks off. */
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
    const left = (this.#held.get(stream) ?? 0) - bytes;
    this.#held_bytes -= bytes;
    this.#held.delete(stream);
    if (left > 0) this.#held.set(stream, left);
  }

  read(stream: Stream, bytes: number): void {
    if (!this.#deps.onRequest || stream.ended.aborted) return;
    const before = this.#read.get(stream) ?? 0;
    const now = Math.min(before + bytes, READ_BYTES_EACH_MAX);
    this.#read.set(stream, now);
    this.#read_bytes += now - before;
    if (this.#read_bytes > READ_BYTES_MAX) stream.cancel("too much is asked at once");
  }

  queued(stream: Stream, bytes: number): void {
    if (stream.ended.aborted) return;
    const now = (this.#waiting.get(stream) ?? 0) + bytes;
    this.#waiting_bytes += bytes;
    this.#waiting.delete(stream);
    if (now > 0) this.#waiting.set(stream, now);
    if (this.#waiting_bytes <= WAITING_BYTES_MAX) return;
    const [slowest] = this.#waiting.keys();
    slowest?.cancel("it is taken too slowly");
  }

  finished(stream: Stream): void {
    this.#streams.delete(stream.id);
    this.#read_bytes -= this.#read.get(stream) ?? 0;
    this.#waiting_bytes -= this.#waiting.get(stream) ?? 0;
    this.#read.delete(stream);
    this.#waiting.delete(stream);
  }

  /** All that is said in one turn leaves together, as soon as the turn is over. */
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

  /** What came is given back at once, so that one slow reader stops no other. */
  #receiveChunk(chunk: Chunk): void {
    const { id, bytes } = chunk;
    if (!this.#receiveWindow.accepted(bytes.length)) {
      return this.rejectFrame("More bytes than there is room for");
    }
    const credit = this.#receiveWindow.done(bytes.length);
    if (credit > 0) this.sendFrame({ type: "credit", id: 0, bytes: credit });
    const stream = this.#streams.get(id);
    if (!stream) return; // It was given up while this was on its way.
    const held = this.#held.get(stream) ?? 0;
    this.#held.set(stream, held + bytes.length);
    this.#held_bytes += bytes.length;
    const accepted = stream.accepted(bytes);
    if (accepted !== "kept") this.released(stream, bytes.length);
    if (accepted === "no room") return this.rejectFrame("More of a body than there is room for");
    if (this.#held_bytes > HELD_BYTES_MAX) this.cutOffSlowest();
  }

  /** The one whose reader took nothing for the longest. */
  cutOffSlowest(): void {
    const [slowest] = this.#held.keys();
    slowest?.cutOff("its reader is too slow");
  }
}

const receive = frameHandler<MultiplexedConnection, typeof Frame>(Frame, {
  request: (multiplexed, head) => multiplexed.requested(head),
  response: (multiplexed, head) => multiplexed.responded(head),
  end: (multiplexed, { id }) => multiplexed.ended(id),
  credit: (multiplexed, { id, bytes }) => multiplexed.credited(id, bytes),
  cancel: (multiplexed, { id, why, taken }) => multiplexed.cancelled(id, why, taken),
  ping: (multiplexed, { ping_id }) => multiplexed.pinged(ping_id),
  pong: () => undefined, // Whatever is heard is a sign of life.
});
