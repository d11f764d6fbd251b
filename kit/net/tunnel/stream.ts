/** One request and its response on a tunnel: two bodies, each with a window, that end together. */

import { Credit, ReceiveBuffer } from "kit/net/tunnel/flow_control.ts";
import { CHUNK_BYTES_MAX, type ResponseHead, STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import type { Chunk } from "kit/net/tunnel/packing.ts";

export type Bytes = Uint8Array<ArrayBuffer>;
export type Body = ReadableStream<Bytes>;

/** Cancels a body. Ignores that the body may already have failed. */
export async function abandon(body: ReadableStream | null): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/** Thrown if a stream was abandoned or its tunnel was lost. */
export class StreamError extends Error {
  override readonly name = "StreamError";
  /** False only if the other end reported that it never started the request. */
  readonly taken: boolean;

  constructor(why: string, taken: boolean) {
    super(why);
    this.taken = taken;
  }
}

/** The connection that carries a stream. */
export interface StreamHost {
  readonly credit: Credit;
  sendFrame(frame: object): void;
  sendChunk(chunk: Chunk): void;
  /** Called when received bytes were read or dropped, so that they are no longer held. */
  released(stream: Stream, bytes: number): void;
  /** Called when a reader takes bytes. The reader may hold them until the stream ends. */
  read(stream: Stream, bytes: number): void;
  /** Called when outgoing bytes begin to wait for credit. `bytes` is negative when they stop. */
  queued(stream: Stream, bytes: number): void;
  finished(stream: Stream): void;
}

export class Stream {
  readonly id: number;
  readonly #multiplexed: StreamHost;
  readonly #credit = new Credit(STREAM_WINDOW_BYTES);
  readonly #ended = new AbortController();
  /** At the end that sent the request: resolves with the head of the response, or rejects. */
  readonly answer = Promise.withResolvers<{ head: ResponseHead; body: Body | null }>();
  #receiveBuffer: ReceiveBuffer | undefined;
  /** Bytes of the incoming body that may still arrive. */
  #remainingBytes = Infinity;
  #source: ReadableStreamDefaultReader<Bytes> | undefined;

  constructor(multiplexed: StreamHost, id: number) {
    this.#multiplexed = multiplexed;
    this.id = id;
    // The end that responds does not await this promise.
    this.answer.promise.catch(() => undefined);
  }

  /** A signal that aborts when the stream ends. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * Creates the incoming body. `onCancel` is called when the reader cancels the body. The body is
   * never longer than `contentLength`, because readers rely on that.
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

  receive(bytes: Bytes): "stored" | "cancelled" | "overflow" {
    this.#remainingBytes -= bytes.length;
    if (this.#remainingBytes < 0) return "overflow";
    return this.#receiveBuffer?.push(bytes) ?? "overflow";
  }

  credited(bytes: number): boolean {
    return this.#credit.restore(bytes);
  }

  /** Marks the incoming body as complete. */
  endBody(): void {
    this.#receiveBuffer?.end();
  }

  /** Handles the head of the response. False if a head was received before. */
  answered(head: ResponseHead): boolean {
    if (this.#receiveBuffer) return false;
    const body = head.body ? this.receiveBody(() => this.cancel("the reader cancelled it")) : null;
    this.answer.resolve({ head, body });
    return true;
  }

  /** Sends a body as fast as the other end reads it, then sends the end of the body. */
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
      this.cancel("the body was aborted");
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

  /** Abandons the stream and notifies the other end. */
  cancel(why: string, taken = true): void {
    if (this.ended.aborted) return;
    this.#multiplexed.sendFrame({ type: "cancel", id: this.id, why, taken });
    this.abort(new StreamError(why, taken));
  }

  /** Abandons the stream and drops its unread bytes, because its reader is too slow. */
  cutOff(why: string): void {
    this.cancel(why);
    this.#receiveBuffer?.fail(new StreamError(why, true));
  }

  /** Closes the stream after the response was sent. The rest of the request body is not read. */
  done(): void {
    this.#receiveBuffer?.fail(new StreamError("it was answered", true));
    this.close();
  }

  abort(why: StreamError): void {
    this.#receiveBuffer?.fail(why);
    this.close(why);
  }

  /** Ends the stream. The reader may still read the bytes that were received. */
  close(why: Error = new StreamError("it ended without a response", true)): void {
    if (this.ended.aborted) return;
    this.#ended.abort(why);
    this.answer.reject(why); // This has no effect if the head of the response has arrived.
    this.#credit.end();
    this.#multiplexed.credit.abandon(this);
    // A failed cancellation does not matter.
    this.#source?.cancel(why).catch(() => undefined);
    this.#multiplexed.finished(this);
  }
}
