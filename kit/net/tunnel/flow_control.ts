/** Flow control: nobody sends more than the other end has room for, nor holds more than it said. */

import { STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";

/** A part of a window that is worth a frame to give it back. */
const CREDIT_FRACTION = 4;

/** Pieces that together are no longer than this are kept as one. */
const SMALL_BYTES = 4096;

interface Waiter {
  readonly maxBytes: number;
  readonly owner: object | undefined;
  readonly resolve: (bytes: number) => void;
}

/** Bytes that may be sent. Senders take from it in the order they came; the other end gives. */
export class Credit {
  readonly #bytes_max: number;
  readonly #waiting: Waiter[] = [];
  #availableBytes: number;
  #ended = false;

  constructor(bytes_max: number) {
    this.#bytes_max = this.#availableBytes = bytes_max;
  }

  /** As much as there is, at most `most`, waiting for some; 0 once it is over, or `taker` left. */
  take(maxBytes: number, owner?: object): number | Promise<number> {
    if (this.#ended) return 0;
    if (this.#availableBytes > 0 && this.#waiting.length === 0) return this.#withdraw(maxBytes);
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.push({ maxBytes, owner, resolve });
    return promise;
  }

  /** It waits no more, and so keeps nothing of what it would have sent. */
  abandon(owner: object): void {
    const at = this.#waiting.findIndex((waiter) => waiter.owner === owner);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(0);
  }

  /** False when that is more than was ever taken: the other end does not keep its count. */
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

/** Counts what came, and says when enough of it may be given back to be worth a frame. */
export class ReceiveWindow {
  readonly #window_bytes: number;
  #freeBytes: number;
  #consumedBytes = 0;

  constructor(window_bytes: number) {
    this.#window_bytes = this.#freeBytes = window_bytes;
  }

  /** False when more came than there was room for. */
  accepted(bytes: number): boolean {
    this.#freeBytes -= bytes;
    return this.#freeBytes >= 0;
  }

  /** So many bytes are done with; what is to be given back now, 0 for nothing yet. */
  done(bytes: number): number {
    this.#consumedBytes += bytes;
    if (this.#consumedBytes * CREDIT_FRACTION < this.#window_bytes) return 0;
    const consumed = this.#consumedBytes;
    this.#consumedBytes = 0;
    this.#freeBytes += consumed;
    return consumed;
  }
}

/** What an inlet tells its stream. */
export interface ReceiveBufferDeps {
  /** The reader took so many bytes; `credit` of them may come again. */
  taken(bytes: number, credit: number): void;
  /** So many bytes are dropped unread. */
  dropped(bytes: number): void;
  /** The reader wants no more. */
  onCancel(): void;
}

/** A body that comes in: held until its reader takes it, and no longer than that. */
export class ReceiveBuffer {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #deps: ReceiveBufferDeps;
  readonly #receiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES);
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  #resumePull: (() => void) | undefined;
  #state: "open" | "whole" | "over" = "open";

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

  /** A piece came: it is kept, unless the reader left, or there was no room for it. */
  take(chunk: Uint8Array<ArrayBuffer>): "kept" | "left" | "no room" {
    if (this.#state === "over") return "left";
    if (this.#state === "whole" || !this.#receiveWindow.accepted(chunk.length)) return "no room";
    this.#store(chunk);
    this.#resumePull?.();
    return "kept";
  }

  /** All has come. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "whole";
    this.#resumePull?.();
  }

  /** No more will come, though more was to come. */
  fail(why: Error): void {
    if (this.#state === "over" || (this.#state === "whole" && this.#chunks.length === 0)) return;
    this.#drop();
    this.#controller.error(why);
    this.#resumePull?.();
  }

  #pull(): void | Promise<void> {
    this.#resumePull = undefined;
    if (this.#state === "over") return;
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#controller.enqueue(chunk);
      return this.#deps.taken(chunk.length, this.#receiveWindow.done(chunk.length));
    }
    if (this.#state === "whole") {
      this.#state = "over";
      return this.#controller.close();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resumePull = resolve;
    return promise.then(() => this.#pull());
  }

  /** Many small pieces, or views of large messages, would take far more memory than they count. */
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
    this.#state = "over";
    if (bytes > 0) this.#deps.dropped(bytes);
  }
}
