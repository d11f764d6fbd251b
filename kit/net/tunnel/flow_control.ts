/** Flow control of tunnel bodies: send windows, receive windows, and buffers of incoming bodies. */

import { STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";

/** A window of n bytes returns credit once n / `CREDIT_FRACTION` bytes have been consumed. */
const CREDIT_FRACTION = 4;

/** Two adjacent chunks are stored as one if their total length is at most this. */
const SMALL_BYTES = 4096;

interface Waiter {
  readonly maxBytes: number;
  readonly owner: object | undefined;
  readonly resolve: (bytes: number) => void;
}

/** A send window: senders take bytes in order, and the other end gives them back. */
export class Credit {
  readonly #bytes_max: number;
  readonly #waiting: Waiter[] = [];
  #availableBytes: number;
  #ended = false;

  constructor(bytes_max: number) {
    this.#bytes_max = this.#availableBytes = bytes_max;
  }

  /**
   * Takes up to `maxBytes` once any are available. Returns 0 after `end()`, or if `abandon(owner)`
   * is called during the wait.
   */
  take(maxBytes: number, owner?: object): number | Promise<number> {
    if (this.#ended) return 0;
    if (this.#availableBytes > 0 && this.#waiting.length === 0) return this.#withdraw(maxBytes);
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.push({ maxBytes, owner, resolve });
    return promise;
  }

  /** Ends the wait of `owner` with 0, so that the bytes that it was about to send can be freed. */
  abandon(owner: object): void {
    const at = this.#waiting.findIndex((waiter) => waiter.owner === owner);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(0);
  }

  /** Gives bytes back. False if the other end gives back more than was taken. */
  restore(bytes: number): boolean {
    this.#availableBytes += bytes;
    if (this.#availableBytes > this.#bytes_max) return false;
    while (this.#availableBytes > 0) {
      const next = this.#waiting.shift();
      if (!next) break;
      next.resolve(this.#withdraw(next.maxBytes));
    }
    return true;
  }

  end(): void {
    this.#ended = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve(0);
  }

  #withdraw(maxBytes: number): number {
    const bytes = Math.min(maxBytes, this.#availableBytes);
    this.#availableBytes -= bytes;
    return bytes;
  }
}

/** A receive window. Counts received bytes, and decides when to return credit to the sender. */
export class ReceiveWindow {
  readonly #window_bytes: number;
  #freeBytes: number;
  #consumedBytes = 0;

  constructor(window_bytes: number) {
    this.#window_bytes = this.#freeBytes = window_bytes;
  }

  /** Counts received bytes. False if they exceed the window. */
  receive(bytes: number): boolean {
    this.#freeBytes -= bytes;
    return this.#freeBytes >= 0;
  }

  /** Counts consumed bytes. Returns the credit to send back now, or 0. */
  consume(bytes: number): number {
    this.#consumedBytes += bytes;
    if (this.#consumedBytes * CREDIT_FRACTION < this.#window_bytes) return 0;
    const consumed = this.#consumedBytes;
    this.#consumedBytes = 0;
    this.#freeBytes += consumed;
    return consumed;
  }
}

/** The callbacks of a receive buffer. */
interface ReceiveBufferDeps {
  /** Called when the reader takes bytes. `credit` must be sent to the other end now. */
  taken(bytes: number, credit: number): void;
  /** Called when bytes are dropped unread. */
  dropped(bytes: number): void;
  /** Called when the reader cancels the body. */
  onCancel(): void;
}

/** Buffers an incoming body until its reader takes it. */
export class ReceiveBuffer {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #deps: ReceiveBufferDeps;
  readonly #receiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES);
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  #resumePull: (() => void) | undefined;
  #state: "open" | "complete" | "closed" = "open";

  constructor(deps: ReceiveBufferDeps) {
    this.#deps = deps;
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => {
        this.#drop();
        deps.onCancel();
      },
    }, { highWaterMark: 0 });
  }

  /** Stores a received chunk, unless the reader has cancelled or it exceeds the window. */
  push(chunk: Uint8Array<ArrayBuffer>): "stored" | "cancelled" | "overflow" {
    if (this.#state === "closed") return "cancelled";
    if (this.#state === "complete" || !this.#receiveWindow.receive(chunk.length)) return "overflow";
    this.#store(chunk);
    this.#resumePull?.();
    return "stored";
  }

  /** Marks the body as complete. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "complete";
    this.#resumePull?.();
  }

  /** Fails the body and drops its unread bytes. A complete body that was read is not affected. */
  fail(why: Error): void {
    if (this.#state === "closed" || (this.#state === "complete" && this.#chunks.length === 0)) {
      return;
    }
    this.#drop();
    this.#controller.error(why);
    this.#resumePull?.();
  }

  #pull(): void | Promise<void> {
    this.#resumePull = undefined;
    if (this.#state === "closed") return;
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#controller.enqueue(chunk);
      return this.#deps.taken(chunk.length, this.#receiveWindow.consume(chunk.length));
    }
    if (this.#state === "complete") {
      this.#state = "closed";
      return this.#controller.close();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resumePull = resolve;
    return promise.then(() => this.#pull());
  }

  /**
   * Stores a chunk so that the memory it uses is counted: joins it to the previous chunk if both
   * are small, and copies it if it is a view of a larger message, which would otherwise stay in
   * memory.
   */
  #store(chunk: Uint8Array<ArrayBuffer>): void {
    const last = this.#chunks.at(-1);
    if (last && last.length + chunk.length <= SMALL_BYTES) {
      const joined = new Uint8Array(last.length + chunk.length);
      joined.set(last);
      joined.set(chunk, last.length);
      this.#chunks[this.#chunks.length - 1] = joined;
    } else this.#chunks.push(chunk.length * 2 < chunk.buffer.byteLength ? chunk.slice() : chunk);
  }

  #drop(): void {
    const bytes = this.#chunks.splice(0).reduce((sum, { length }) => sum + length, 0);
    this.#state = "closed";
    if (bytes > 0) this.#deps.dropped(bytes);
  }
}
