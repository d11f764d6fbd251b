/** One request and its answer on a tunnel: two bodies, each with its window, and one end. */

import { Credit, Inlet } from "kit/net/tunnel/flow.ts";
import { CHUNK_BYTES_MAX, type ResponseHead, STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import type { Chunk } from "kit/net/tunnel/message.ts";

export type Bytes = Uint8Array<ArrayBuffer>;
export type Body = ReadableStream<Bytes>;

/** Leaves a body unread. One that broke already is left as well as any other. */
export async function leave(body: ReadableStream | null): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/** The other end gave a stream up, or the tunnel broke under it. */
export class Broken extends Error {
  override readonly name = "Broken";
  /** False only if the other end said that it never began. */
  readonly taken: boolean;

  constructor(why: string, taken: boolean) {
    super(why);
    this.taken = taken;
  }
}

/** What a stream needs of the trunk that it is a branch of. */
export interface TrunkEnd {
  readonly credit: Credit;
  say(frame: object): void;
  sayBytes(chunk: Chunk): void;
  /** A reader took bytes, or they were dropped: they are held no more. */
  released(stream: Stream, bytes: number): void;
  /** A reader took bytes, and may hold them until the stream is over. */
  read(stream: Stream, bytes: number): void;
  /** A source gave bytes, which wait until the other end takes them; negative once it has. */
  waits(stream: Stream, bytes: number): void;
  over(stream: Stream): void;
}

export class Stream {
  readonly id: number;
  readonly #trunk: TrunkEnd;
  readonly #credit = new Credit(STREAM_WINDOW_BYTES);
  readonly #ended = new AbortController();
  /** Resolves with the head of the answer; rejects with `Broken`. For the end that asked. */
  readonly answer = Promise.withResolvers<{ head: ResponseHead; body: Body | null }>();
  #inlet: Inlet | undefined;
  /** Bytes of its body that may still come. */
  #to_come = Infinity;
  #source: ReadableStreamDefaultReader<Bytes> | undefined;

  constructor(trunk: TrunkEnd, id: number) {
    this.#trunk = trunk;
    this.id = id;
    this.answer.promise.catch(() => undefined); // Whoever answers waits for no answer.
  }

  /** Aborts when nobody waits for the rest any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * The body that comes in, read as fast as its reader likes; `left`, when it wants no more. It is
   * no longer than `announced`, which readers count on.
   */
  receives(left?: () => void, announced = Infinity): Body {
    this.#to_come = announced;
    const inlet = this.#inlet = new Inlet({
      taken: (bytes, credit) => {
        if (credit > 0 && !this.ended.aborted) {
          this.#trunk.say({ type: "credit", id: this.id, bytes: credit });
        }
        this.#trunk.released(this, bytes);
        this.#trunk.read(this, bytes);
      },
      dropped: (bytes) => this.#trunk.released(this, bytes),
      left: () => left?.(),
    });
    return inlet.body;
  }

  /** A piece of the body came. */
  came(bytes: Bytes): "kept" | "left" | "no room" {
    this.#to_come -= bytes.length;
    if (this.#to_come < 0) return "no room";
    return this.#inlet?.take(bytes) ?? "no room";
  }

  credited(bytes: number): boolean {
    return this.#credit.give(bytes);
  }

  /** The other end's body is whole. */
  whole(): void {
    this.#inlet?.end();
  }

  /** The head of the answer came; false when one came before. */
  answered(head: ResponseHead): boolean {
    if (this.#inlet) return false;
    const body = head.body ? this.receives(() => this.cancel("the reader left")) : null;
    this.answer.resolve({ head, body });
    return true;
  }

  /** Sends a body as fast as the other end takes it, then says that it was all. */
  async send(body: Body): Promise<void> {
    const source = this.#source = body.getReader();
    try {
      for (;;) {
        const { done, value } = await source.read();
        if (this.ended.aborted) return void await source.cancel(this.ended.reason);
        if (done) break;
        this.#trunk.waits(this, value.length);
        await this.#sendAll(value);
        this.#trunk.waits(this, -value.length);
      }
      this.#trunk.say({ type: "end", id: this.id });
    } catch (fault) {
      this.cancel("the body broke off");
      throw fault;
    } finally {
      this.#source = undefined;
    }
  }

  async #sendAll(bytes: Bytes): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const most = Math.min(CHUNK_BYTES_MAX, bytes.length - at);
      const granted = await this.#credit.take(most);
      const length = granted && await this.#trunk.credit.take(granted, this);
      if (this.ended.aborted) return void this.#trunk.credit.give(length);
      if (length === 0) return;
      if (length < granted) this.#credit.give(granted - length);
      this.#trunk.sayBytes({ id: this.id, bytes: bytes.subarray(at, at + length) });
      at += length;
    }
  }

  /** Gives it up, and tells the other end. */
  cancel(why: string, taken = true): void {
    if (this.ended.aborted) return;
    this.#trunk.say({ type: "cancel", id: this.id, why, taken });
    this.broke(new Broken(why, taken));
  }

  /** What it holds is read too slowly, and is held no more. */
  cutOff(why: string): void {
    this.cancel(why);
    this.#inlet?.fail(new Broken(why, true));
  }

  /** It was answered; what came beside that is read by nobody. */
  done(): void {
    this.#inlet?.fail(new Broken("it was answered", true));
    this.close();
  }

  /** It will not go on, whoever said so. */
  broke(why: Broken): void {
    this.#inlet?.fail(why);
    this.close(why);
  }

  /** It is done; what has come may still be read. */
  close(why: Error = new Broken("it ended without an answer", true)): void {
    if (this.ended.aborted) return;
    this.#ended.abort(why);
    this.answer.reject(why); // Unless its head is here already.
    this.#credit.end();
    this.#trunk.credit.leave(this);
    this.#source?.cancel(why).catch(() => undefined); // A source that breaks as it is left is left.
    this.#trunk.over(this);
  }
}
