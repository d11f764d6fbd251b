/** One request and its answer on a tunnel: two bodies, each with its window, and one end. */

import { Credit, ReceiveBuffer } from "kit/net/tunnel/flow_control.ts";
import { CHUNK_BYTES_MAX, type ResponseHead, STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import type { Chunk } from "kit/net/tunnel/packing.ts";

export type Bytes = Uint8Array<ArrayBuffer>;
export type Body = ReadableStream<Bytes>;

/** Leaves a body unread. One that broke already is left as well as any other. */
export async function abandon(body: ReadableStream | null): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/** The other end gave a stream up, or the tunnel broke under it. */
export class StreamError extends Error {
  override readonly name = "StreamError";
  /** False only if the other end said that it never began. */
  readonly taken: boolean;

  constructor(why: string, taken: boolean) {
    super(why);
    this.taken = taken;
  }
}

/** What a stream needs of the trunk that it is a branch of. */
export interface StreamHost {
  readonly credit: Credit;
  sendFrame(frame: object): void;
  sendChunk(chunk: Chunk): void;
  /** A reader took bytes, or they were dropped: they are held no more. */
  released(stream: Stream, bytes: number): void;
  /** A reader took bytes, and may hold them until the stream is over. */
  read(stream: Stream, bytes: number): void;
  /** A source gave bytes, which wait until the other end takes them; negative once it has. */
  queued(stream: Stream, bytes: number): void;
  finished(stream: Stream): void;
}

export class Stream {
  readonly id: number;
  readonly #multiplexed: StreamHost;
  readonly #credit = new Credit(STREAM_WINDOW_BYTES);
  readonly #ended = new AbortController();
  /** Resolves with the head of the answer; rejects with `Broken`. For the end that asked. */
  readonly answer = Promise.withResolvers<{ head: ResponseHead; body: Body | null }>();
  #receiveBuffer: ReceiveBuffer | undefined;
  /** Bytes of its body that may still come. */
  #remainingBytes = Infinity;
  #source: ReadableStreamDefaultReader<Bytes> | undefined;

  constructor(multiplexed: StreamHost, id: number) {
    this.#multiplexed = multiplexed;
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
  receiveBody(onCancel?: () => void, contentLength = Infinity): Body {
    this.#remainingBytes = contentLength;
    const receiveBuffer = this.#receiveBuffer = new ReceiveBuffer({
      taken: (bytes, credit) => {
        if (credit > 0 && !this.ended.aborted) {
          this.#multiplexed.sendFrame({ type: "credit", id: this.id, bytes: credit });
        }
        this.#multiplexed.released(this, bytes);
        this.#multiplexed.read(this, bytes);
      },
      dropped: (bytes) => this.#multiplexed.released(this, bytes),
      onCancel: () => onCancel?.(),
    });
    return receiveBuffer.body;
  }

  /** A piece of the body came. */
  accepted(bytes: Bytes): "kept" | "left" | "no room" {
    this.#remainingBytes -= bytes.length;
    if (this.#remainingBytes < 0) return "no room";
    return this.#receiveBuffer?.take(bytes) ?? "no room";
  }

  credited(bytes: number): boolean {
    return this.#credit.restore(bytes);
  }

  /** The other end's body is whole. */
  endBody(): void {
    this.#receiveBuffer?.end();
  }

  /** The head of the answer came; false when one came before. */
  answered(head: ResponseHead): boolean {
    if (this.#receiveBuffer) return false;
    const body = head.body ? this.receiveBody(() => this.cancel("the reader left")) : null;
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
        this.#multiplexed.queued(this, value.length);
        await this.#sendAll(value);
        this.#multiplexed.queued(this, -value.length);
      }
      this.#multiplexed.sendFrame({ type: "end", id: this.id });
    } catch (error) {
      this.cancel("the body broke off");
      throw error;
    } finally {
      this.#source = undefined;
    }
  }

  async #sendAll(bytes: Bytes): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const maxBytes = Math.min(CHUNK_BYTES_MAX, bytes.length - at);
      const granted = await this.#credit.take(maxBytes);
      const length = granted && await this.#multiplexed.credit.take(granted, this);
      if (this.ended.aborted) return void this.#multiplexed.credit.restore(length);
      if (length === 0) return;
      if (length < granted) this.#credit.restore(granted - length);
      this.#multiplexed.sendChunk({ id: this.id, bytes: bytes.subarray(at, at + length) });
      at += length;
    }
  }

  /** Gives it up, and tells the other end. */
  cancel(why: string, taken = true): void {
    if (this.ended.aborted) return;
    this.#multiplexed.sendFrame({ type: "cancel", id: this.id, why, taken });
    this.abort(new StreamError(why, taken));
  }

  /** What it holds is read too slowly, and is held no more. */
  cutOff(why: string): void {
    this.cancel(why);
    this.#receiveBuffer?.fail(new StreamError(why, true));
  }

  /** It was answered; what came beside that is read by nobody. */
  done(): void {
    this.#receiveBuffer?.fail(new StreamError("it was answered", true));
    this.close();
  }

  /** It will not go on, whoever said so. */
  abort(why: StreamError): void {
    this.#receiveBuffer?.fail(why);
    this.close(why);
  }

  /** It is done; what has come may still be read. */
  close(why: Error = new StreamError("it ended without an answer", true)): void {
    if (this.ended.aborted) return;
    this.#ended.abort(why);
    this.answer.reject(why); // Unless its head is here already.
    this.#credit.end();
    this.#multiplexed.credit.abandon(this);
    this.#source?.cancel(why).catch(() => undefined); // A source that breaks as it is left is left.
    this.#multiplexed.finished(this);
  }
}
