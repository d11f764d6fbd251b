/** Flow control: nobody sends more than the other end has room for, nor holds more than it said. */

import { STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";

/** A part of a window that is worth a frame to give it back. */
const RETURN_SHARE = 4;

/** Pieces that together are no longer than this are kept as one. */
const SMALL_BYTES = 4096;

interface Waiter {
  readonly most: number;
  readonly taker: object | undefined;
  readonly resolve: (bytes: number) => void;
}

/** Bytes that may be sent. Senders take from it in the order they came; the other end gives. */
export class Credit {
  readonly #bytes_max: number;
  readonly #waiting: Waiter[] = [];
  #left: number;
  #over = false;

  constructor(bytes_max: number) {
    this.#bytes_max = this.#left = bytes_max;
  }

  /** As much as there is, at most `most`, waiting for some; 0 once it is over, or `taker` left. */
  take(most: number, taker?: object): number | Promise<number> {
    if (this.#over) return 0;
    if (this.#left > 0 && this.#waiting.length === 0) return this.#draw(most);
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.push({ most, taker, resolve });
    return promise;
  }

  /** It waits no more, and so keeps nothing of what it would have sent. */
  leave(taker: object): void {
    const at = this.#waiting.findIndex((waiter) => waiter.taker === taker);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(0);
  }

  /** False when that is more than was ever taken: the other end does not keep its count. */
  give(bytes: number): boolean {
    this.#left += bytes;
    if (this.#left > this.#bytes_max) return false;
    while (this.#left > 0) {
      const next = this.#waiting.shift();
      if (!next) break;
      next.resolve(this.#draw(next.most));
    }
    return true;
  }

  end(): void {
    this.#over = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve(0);
  }

  #draw(most: number): number {
    const bytes = Math.min(most, this.#left);
    this.#left -= bytes;
    return bytes;
  }
}

/** Counts what came, and says when enough of it may be given back to be worth a frame. */
export class Returns {
  readonly #window_bytes: number;
  #room: number;
  #owed = 0;

  constructor(window_bytes: number) {
    this.#window_bytes = this.#room = window_bytes;
  }

  /** False when more came than there was room for. */
  came(bytes: number): boolean {
    this.#room -= bytes;
    return this.#room >= 0;
  }

  /** So many bytes are done with; what is to be given back now, 0 for nothing yet. */
  done(bytes: number): number {
    this.#owed += bytes;
    if (this.#owed * RETURN_SHARE < this.#window_bytes) return 0;
    const owed = this.#owed;
    this.#owed = 0;
    this.#room += owed;
    return owed;
  }
}

/** What an inlet tells its stream. */
export interface InletNeeds {
  /** The reader took so many bytes; `credit` of them may come again. */
  taken(bytes: number, credit: number): void;
  /** So many bytes are dropped unread. */
  dropped(bytes: number): void;
  /** The reader wants no more. */
  left(): void;
}

/** A body that comes in: held until its reader takes it, and no longer than that. */
export class Inlet {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #needs: InletNeeds;
  readonly #returns = new Returns(STREAM_WINDOW_BYTES);
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  #wanted: (() => void) | undefined;
  #state: "open" | "whole" | "over" = "open";

  constructor(needs: InletNeeds) {
    this.#needs = needs;
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => {
        this.#drop();
        needs.left();
      },
    }, { highWaterMark: 0 });
  }

  /** A piece came: it is kept, unless the reader left, or there was no room for it. */
  take(chunk: Uint8Array<ArrayBuffer>): "kept" | "left" | "no room" {
    if (this.#state === "over") return "left";
    if (this.#state === "whole" || !this.#returns.came(chunk.length)) return "no room";
    this.#keep(chunk);
    this.#wanted?.();
    return "kept";
  }

  /** All has come. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "whole";
    this.#wanted?.();
  }

  /** No more will come, though more was to come. */
  fail(why: Error): void {
    if (this.#state === "over" || (this.#state === "whole" && this.#chunks.length === 0)) return;
    this.#drop();
    this.#controller.error(why);
    this.#wanted?.();
  }

  #pull(): void | Promise<void> {
    this.#wanted = undefined;
    if (this.#state === "over") return;
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#controller.enqueue(chunk);
      return this.#needs.taken(chunk.length, this.#returns.done(chunk.length));
    }
    if (this.#state === "whole") {
      this.#state = "over";
      return this.#controller.close();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = resolve;
    return promise.then(() => this.#pull());
  }

  /** Many small pieces, or views of large messages, would take far more memory than they count. */
  #keep(chunk: Uint8Array<ArrayBuffer>): void {
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
    if (bytes > 0) this.#needs.dropped(bytes);
  }
}
