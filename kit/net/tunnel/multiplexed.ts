/** One end of a tunnel that stands: many requests on one line, none in another's way. */

import type { Clock } from "kit/core/clock.ts";
import { dispatcher, nextTurn } from "kit/net/frames.ts";
import { Credit, Returns } from "kit/net/tunnel/flow.ts";
import {
  CLOSE,
  type CloseReason,
  Frame,
  HELD_BYTES_MAX,
  PING_EVERY_MS,
  PINGS_HEARD_MAX,
  PINGS_UNANSWERED_MAX,
  READ_BYTES_EACH_MAX,
  READ_BYTES_MAX,
  type RequestHead,
  type ResponseHead,
  STREAMS_MAX,
  TRUNK_WINDOW_BYTES,
  UNSENT_BYTES_MAX,
  UNTAKEN_BYTES_MAX,
  WAITING_BYTES_MAX,
} from "kit/net/tunnel/frames.ts";
import { announcedBy } from "kit/net/tunnel/headers.ts";
import type { Data, Line } from "kit/net/tunnel/connection.ts";
import {
  type Chunk,
  type Item,
  MESSAGE_BYTES_LEAST,
  packMessage,
  sizeOf,
  unpackMessage,
} from "kit/net/tunnel/message.ts";
import { type Body, Broken, leave, Stream, type TrunkEnd } from "kit/net/tunnel/stream.ts";

/** What a trunk needs of the end that it is. */
export interface TrunkNeeds {
  readonly clock: Clock;
  /** Somebody asks; `body` is null when nothing follows. Absent where nobody may ask. */
  asked?(head: RequestHead, stream: Stream, body: Body | null): void;
}

export class Trunk implements TrunkEnd {
  readonly credit = new Credit(TRUNK_WINDOW_BYTES);
  readonly #line: Line;
  readonly #needs: TrunkNeeds;
  readonly #streams = new Map<number, Stream>();
  readonly #returns = new Returns(TRUNK_WINDOW_BYTES);
  /** What each stream holds unread; whose reader took something last comes last. */
  readonly #held = new Map<Stream, number>();
  #held_bytes = 0;
  /** What whoever answers has read of each request: it may hold it until it has answered. */
  readonly #read = new Map<Stream, number>();
  #read_bytes = 0;
  /** What waits of each body for the other end; whose piece has waited longest comes first. */
  readonly #waiting = new Map<Stream, number>();
  #waiting_bytes = 0;
  readonly #unsent: Item[] = [];
  #unsent_bytes = 0;
  #last_id = 0;
  #pinged_at: number;
  #unanswered = 0;
  #pings = 0;
  #pings_heard = 0;

  constructor(line: Line, needs: TrunkNeeds) {
    this.#line = line;
    this.#needs = needs;
    this.#pinged_at = needs.clock.now();
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
  get full(): string | undefined {
    if (!this.#line.open) return "the tunnel is closed";
    if (this.#streams.size >= STREAMS_MAX) return `${STREAMS_MAX} requests are under way`;
    if (this.#line.buffered > UNSENT_BYTES_MAX) return "it takes nothing any more";
    return undefined;
  }

  /** Asks the other end. Only when it is not `full`; then the head is on its way at once. */
  ask(asked: Omit<RequestHead, "type" | "id">): Stream {
    const stream = new Stream(this, ++this.#last_id);
    this.#streams.set(stream.id, stream);
    this.say({ type: "request", id: stream.id, ...asked });
    return stream;
  }

  /** Answers what was asked: its head now, its body as fast as it is taken. */
  async answer(
    stream: Stream,
    head: Omit<ResponseHead, "type" | "id" | "body">,
    body: Body | null,
  ): Promise<void> {
    if (stream.ended.aborted) return await leave(body);
    this.say({ type: "response", id: stream.id, ...head, body: body !== null });
    if (body) await stream.send(body);
    stream.done();
  }

  /** One frame from the other end. */
  heard(data: Data): void {
    this.#unanswered = 0;
    if (typeof data === "string") return this.correct("After the greeting all is bytes");
    const items = unpackMessage(data);
    if (typeof items === "string") return this.correct(items);
    for (const item of items) {
      if (!this.#line.open) return; // One of them broke the rules.
      if (typeof item === "string") receive(this, item);
      else this.#chunk(item);
    }
  }

  /** A frame that breaks the rules: nothing after it can be counted on. */
  correct(detail: string): void {
    this.end("bad_frame", detail);
  }

  requested(head: RequestHead): void {
    const { asked } = this.#needs;
    if (!asked || head.id <= this.#last_id) return this.correct("Nothing may be asked like this");
    const announced = announcedBy(head.headers);
    if (announced === undefined) return this.correct("A length that is none");
    this.#last_id = head.id;
    const stream = new Stream(this, head.id);
    if (this.#streams.size >= STREAMS_MAX) {
      return stream.cancel(`${STREAMS_MAX} requests are under way`, false);
    }
    this.#streams.set(head.id, stream);
    asked(head, stream, head.body ? stream.receives(undefined, announced) : null);
  }

  responded(head: ResponseHead): void {
    if (this.#needs.asked) return this.correct("An answer, and nothing was asked");
    const stream = this.#streams.get(head.id);
    if (!stream) return;
    if (!stream.answered(head)) return this.correct("A second answer");
    if (!head.body) stream.close();
  }

  /** The answer's end is the end of all; a request's end is that of its body. */
  ended(id: number): void {
    const stream = this.#streams.get(id);
    stream?.whole();
    if (!this.#needs.asked) stream?.close();
  }

  credited(id: number, bytes: number): void {
    const credit_kept = id === 0
      ? this.credit.give(bytes)
      : this.#streams.get(id)?.credited(bytes) ?? true;
    if (!credit_kept) this.correct("More credit than was taken");
  }

  cancelled(id: number, why: string, taken: boolean): void {
    this.#streams.get(id)?.broke(new Broken(why, taken));
  }

  pinged(ping_id: number): void {
    if (++this.#pings_heard > PINGS_HEARD_MAX) return this.correct("More pings than anybody needs");
    this.say({ type: "pong", ping_id });
  }

  /** Asks for a sign of life when it is time; ends when two got none. */
  beat(now: number): void {
    if (now - this.#pinged_at < PING_EVERY_MS) return;
    if (this.#unanswered >= PINGS_UNANSWERED_MAX) return this.end("no_pong");
    this.#pinged_at = now;
    this.#pings_heard = 0;
    this.#unanswered++;
    this.say({ type: "ping", ping_id: ++this.#pings });
  }

  end(why: CloseReason, detail: string = why): void {
    this.#flush();
    this.#line.close(CLOSE[why], detail);
    this.gone(detail);
  }

  /** The line is closed: whatever was under way breaks off. */
  gone(why: string): void {
    this.credit.end();
    for (const stream of [...this.#streams.values()]) stream.broke(new Broken(why, true));
  }

  say(frame: object): void {
    this.#put(JSON.stringify(frame));
  }

  sayBytes(chunk: Chunk): void {
    this.#put(chunk);
  }

  released(stream: Stream, bytes: number): void {
    const left = (this.#held.get(stream) ?? 0) - bytes;
    this.#held_bytes -= bytes;
    this.#held.delete(stream);
    if (left > 0) this.#held.set(stream, left);
  }

  read(stream: Stream, bytes: number): void {
    if (!this.#needs.asked || stream.ended.aborted) return;
    const before = this.#read.get(stream) ?? 0;
    const now = Math.min(before + bytes, READ_BYTES_EACH_MAX);
    this.#read.set(stream, now);
    this.#read_bytes += now - before;
    if (this.#read_bytes > READ_BYTES_MAX) stream.cancel("too much is asked at once");
  }

  waits(stream: Stream, bytes: number): void {
    if (stream.ended.aborted) return;
    const now = (this.#waiting.get(stream) ?? 0) + bytes;
    this.#waiting_bytes += bytes;
    this.#waiting.delete(stream);
    if (now > 0) this.#waiting.set(stream, now);
    if (this.#waiting_bytes <= WAITING_BYTES_MAX) return;
    const [slowest] = this.#waiting.keys();
    slowest?.cancel("it is taken too slowly");
  }

  over(stream: Stream): void {
    this.#streams.delete(stream.id);
    this.#read_bytes -= this.#read.get(stream) ?? 0;
    this.#waiting_bytes -= this.#waiting.get(stream) ?? 0;
    this.#read.delete(stream);
    this.#waiting.delete(stream);
  }

  /** All that is said in one turn leaves together, as soon as the turn is over. */
  #put(item: Item): void {
    if (!this.#line.open) return;
    if (this.#line.buffered > UNTAKEN_BYTES_MAX) return this.end("too_slow");
    if (this.#unsent.length === 0) nextTurn(() => this.#flush());
    this.#unsent.push(item);
    this.#unsent_bytes += sizeOf(item);
    if (this.#unsent_bytes >= MESSAGE_BYTES_LEAST) this.#flush();
  }

  #flush(): void {
    const items = this.#unsent.splice(0);
    this.#unsent_bytes = 0;
    if (items.length > 0 && this.#line.open) this.#line.send(packMessage(items));
  }

  /** What came is given back at once, so that one slow reader stops no other. */
  #chunk(chunk: Chunk): void {
    const { id, bytes } = chunk;
    if (!this.#returns.came(bytes.length)) return this.correct("More bytes than there is room for");
    const credit = this.#returns.done(bytes.length);
    if (credit > 0) this.say({ type: "credit", id: 0, bytes: credit });
    const stream = this.#streams.get(id);
    if (!stream) return; // It was given up while this was on its way.
    const held = this.#held.get(stream) ?? 0;
    this.#held.set(stream, held + bytes.length);
    this.#held_bytes += bytes.length;
    const came = stream.came(bytes);
    if (came !== "kept") this.released(stream, bytes.length);
    if (came === "no room") return this.correct("More of a body than there is room for");
    if (this.#held_bytes > HELD_BYTES_MAX) this.cutOffSlowest();
  }

  /** The one whose reader took nothing for the longest. */
  cutOffSlowest(): void {
    const [slowest] = this.#held.keys();
    slowest?.cutOff("its reader is too slow");
  }
}

const receive = dispatcher<Trunk, typeof Frame>(Frame, {
  request: (trunk, head) => trunk.requested(head),
  response: (trunk, head) => trunk.responded(head),
  end: (trunk, { id }) => trunk.ended(id),
  credit: (trunk, { id, bytes }) => trunk.credited(id, bytes),
  cancel: (trunk, { id, why, taken }) => trunk.cancelled(id, why, taken),
  ping: (trunk, { ping_id }) => trunk.pinged(ping_id),
  pong: () => undefined, // Whatever is heard is a sign of life.
});
