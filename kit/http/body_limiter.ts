/** Limits request bodies in memory: their total size, their size per address, their duration. */

import type { Clock, Monotonic } from "kit/core/clock.ts";
import { CommonProblem, type Refusal } from "kit/core/problem.ts";

/** Time limit for a body to arrive. Bodies in memory have at most 1 MiB. */
export const BODY_MS_MAX = 30_000;
/** Limit of all bodies of one address: 8 of maximum size, or some thousand of common size. */
export const ADDRESS_BODY_BYTES_MAX = 8_388_608;
/** Limit of all bodies together. Beyond it, the body that started first is refused. */
export const TOTAL_BODY_BYTES_MAX = 33_554_432;
/** A body with at most this `Content-Length` is read at once, which takes half the time. */
const SMALL_BYTES = 65_536;
const RETRY_SECONDS = 1;

/** A request whose body counts towards the limits until this object is disposed. */
interface LimitedBody extends Disposable {
  readonly request: Request;
}

interface ArrivingBody {
  readonly startedAt: Monotonic;
  readonly address: string | undefined;
  bytes: number;
  /** Aborts the body. */
  fail(problem: Refusal): void;
}

interface BodyLimiterOptions {
  /** The limit of each address; without it, only all bodies together are limited. */
  readonly address_bytes_max?: number;
  readonly total_bytes_max?: number;
}

export class BodyLimiter {
  readonly #clock: Clock;
  readonly #addressBytesMax: number;
  readonly #totalBytesMax: number;
  /** In the order of their start. */
  readonly #arriving = new Set<ArrivingBody>();
  readonly #bytesOf = new Map<string, number>();
  #total = 0;

  constructor(
    clock: Clock,
    { address_bytes_max = Infinity, total_bytes_max = TOTAL_BODY_BYTES_MAX }: BodyLimiterOptions =
      {},
  ) {
    this.#clock = clock;
    this.#addressBytesMax = address_bytes_max;
    this.#totalBytesMax = total_bytes_max;
  }

  /** The number of bytes in memory now. */
  get bytes(): number {
    return this.#total;
  }

  /**
   * Counts the body of a request while it is read. Read the returned request, whose body replaces
   * the original one.
   */
  begin(request: Request, address?: string): LimitedBody {
    let open: TransformStreamDefaultController | undefined;
    const arriving = this.#add(address, (problem) => {
      open?.error(problem);
      open = undefined;
    });
    const counted = new TransformStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (open = controller),
      transform: (chunk, controller) => {
        if (!this.#count(arriving, chunk.length)) {
          throw new CommonProblem("too_many_requests", { retry_after_seconds: RETRY_SECONDS });
        }
        controller.enqueue(chunk);
      },
      flush: () => {
        open = undefined;
        this.#arriving.delete(arriving);
      },
    });
    const body = request.body?.pipeThrough(counted);
    return {
      request: body ? new Request(request, { body }) : request,
      [Symbol.dispose]: () => this.#end(arriving),
    };
  }

  /** Reads the body with `read`. A short body counts as a whole until it has arrived. */
  async read<T>(request: Request, read: (request: Request) => Promise<T>): Promise<T> {
    const length = request.headers.get("content-length");
    if (length === null || !(Number(length) <= SMALL_BYTES)) {
      using limited = this.begin(request);
      return await read(limited.request);
    }
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const arriving = this.#add(undefined, reject);
    try {
      this.#count(arriving, Number(length));
      return await Promise.race([read(request), failed]);
    } finally {
      this.#end(arriving);
    }
  }

  /** Aborts bodies that take too long. Must be called once a second. */
  tick(now: Monotonic): void {
    for (const arriving of this.#arriving) {
      if (now - arriving.startedAt < BODY_MS_MAX) return; // The remaining ones are younger.
      this.#fail(arriving);
    }
  }

  #add(address: string | undefined, fail: (problem: Refusal) => void): ArrivingBody {
    const arriving = { startedAt: this.#clock.monotonic(), address, bytes: 0, fail };
    this.#arriving.add(arriving);
    return arriving;
  }

  /** Counts bytes. Returns false if the address exceeds its limit. */
  #count(arriving: ArrivingBody, bytes: number): boolean {
    arriving.bytes += bytes;
    this.#total += bytes;
    const { address } = arriving;
    if (address !== undefined) {
      const held = (this.#bytesOf.get(address) ?? 0) + bytes;
      this.#bytesOf.set(address, held);
      if (held > this.#addressBytesMax) return false;
    }
    // A normal body arrives within milliseconds, so the oldest one is slow.
    for (const oldest of this.#arriving) {
      if (this.#total <= this.#totalBytesMax) break;
      this.#fail(oldest);
    }
    return true;
  }

  #fail(arriving: ArrivingBody): void {
    this.#end(arriving);
    arriving.fail(new CommonProblem("body_too_slow", { seconds: BODY_MS_MAX / 1000 }));
  }

  /** Releases the bytes of a body. */
  #end(arriving: ArrivingBody): void {
    this.#arriving.delete(arriving);
    const { address, bytes } = arriving;
    arriving.bytes = 0;
    this.#total -= bytes;
    if (address === undefined) return;
    const held = (this.#bytesOf.get(address) ?? 0) - bytes;
    if (held > 0) this.#bytesOf.set(address, held);
    else this.#bytesOf.delete(address);
  }
}
