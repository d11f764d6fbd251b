/** One request and its response on a tunnel: two bodies with a window each, and a common end. */

import { Credit, ReceiveBuffer } from "kit/net/tunnel/flow_control.ts";
import { CHUNK_BYTES_MAX, type ResponseHead, STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import type { Chunk } from "kit/net/tunnel/packing.ts";

export type Bytes = Uint8Array<ArrayBuffer>;
export type Body = ReadableStream<Bytes>;

/** Cancels a body. A body that has failed already is no error. */
export async function abandon(body: ReadableStream | null): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/** A stream was abandoned, or its tunnel was lost. */
export class StreamError extends Error {
  override readonly name = "StreamError";
  /** False only if the other end reported that it never started the request. */
  readonly taken: boolean;

  constructor(why: string, taken: boolean) {
    super(why);
    this.taken = taken;
  }
}

/** What a stream needs from its connection. */
export interface StreamHost {
  readonly credit: Credit;
  sendFrame(frame: object): void;
  sendChunk(chunk: Chunk): void;
  /** Received bytes were read or dropped, and are no longer held. */
  released(stream: Stream, bytes: number): void;
  /** A reader took bytes, and may hold them until the stream ends. */
  read(stream: Stream, bytes: number): void;
  /** Outgoing bytes wait for credit; negative once they are sent. */
  queued(stream: Stream, bytes: number): void;
  finished(stream: Stream): void;
}

export class Stream {
  readonly id: number;
  readonly #multiplexed: StreamHost;
  readonly #credit = new Credit(STREAM_WINDOW_BYTES);
  readonly #ended = new AbortController();
  /** Resolves with the head of the response, or rejects. For the end that sent the request. */
  readonly answer = Promise.withResolvers<{ head: ResponseHead; body: Body | null }>();
  #receiveBuffer: ReceiveBuffer | undefined;
  /** Bytes of the incoming body that may still arrive. */
  #remainingBytes = Infinity;
  #source: ReadableStreamDefaultReader<Bytes> | undefined;

  constructor(multiplexed: StreamHost, id: number) {
    this.#multiplexed = multiplexed;
    this.id = id;
    this.answer.promise.catch(() => undefined); // The responding end does not await it.
  }

  /** Aborts when the stream ends. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * The incoming body. `onCancel` is called when its reader cancels it. The body is never longer
   * than `contentLength`: readers rely on that.
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

  /** Handles a chunk of the incoming body. */
  receive(bytes: Bytes): "stored" | "cancelled" | "overflow" {
    this.#remainingBytes -= bytes.length;
    if (this.#remainingBytes < 0) return "overflow";
    return this.#receiveBuffer?.push(bytes) ?? "overflow";
  }

  credited(bytes: number): boolean {
    return this.#credit.restore(bytes);
  }

  /** The incoming body is complete. */
  endBody(): void {
    this.#receiveBuffer?.end();
  }

  /** Handles the head of the response; false if there was one before. */
  answered(head: ResponseHead): boolean {
    if (this.#receiveBuffer) return false;
    const body = head.body ? this.receiveBody(() => this.cancel("the reader cancelled it")) : null;
    this.answer.resolve({ head, body });
    return true;
  }

  /** Sends a body as fast as the other end reads it, then its end. */
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

  /** Abandons the stream and tells the other end. */
  cancel(why: string, taken = true): void {
    if (this.ended.aborted) return;
    this.#multiplexed.sendFrame({ type: "cancel", id: this.id, why, taken });
    this.abort(new StreamError(why, taken));
  }

  /** Abandons the stream and drops what it holds, because its reader is too slow. */
  cutOff(why: string): void {
    this.cancel(why);
    this.#receiveBuffer?.fail(new StreamError(why, true));
  }

  /** The response is sent: the rest of the request body is not read. */
  done(): void {
    this.#receiveBuffer?.fail(new StreamError("it was answered", true));
    this.close();
  }

  /** Ends the stream with an error. */
  abort(why: StreamError): void {
    this.#receiveBuffer?.fail(why);
    this.close(why);
  }

  /** Ends the stream. What was received may still be read. */
  close(why: Error = new StreamError("it ended without a response", true)): void {
    if (this.ended.aborted) return;
    this.#ended.abort(why);
    this.answer.reject(why); // No effect after the head has arrived.
    this.#credit.end();
    this.#multiplexed.credit.abandon(this);
    this.#source?.cancel(why).catch(() => undefined); // Its failure no longer matters.
    this.#multiplexed.finished(this);
  }
}
