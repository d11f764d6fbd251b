/** Limits request bodies in memory: the bytes of each address, and how long a body may take. */

import type { Clock, Monotonic } from "kit/core/clock.ts";
import { Problem } from "kit/core/problem.ts";

/** How long a body may take to arrive. Bodies that are held in memory have at most 1 MiB. */
export const BODY_MS_MAX = 30_000;
/** Limits all bodies of one address: 8 of the longest, or some thousand of common size. */
export const ADDRESS_BODY_BYTES_MAX = 8_388_608;
const RETRY_SECONDS = 1;

/** A request whose body counts towards the limits of its address until this object is disposed. */
interface LimitedBody extends Disposable {
  readonly request: Request;
  readonly startedAt: Monotonic;
  /** Aborts the body if it has not arrived completely. */
  fail(): void;
}

export class BodyLimiter {
  readonly #clock: Clock;
  readonly #open = new Set<LimitedBody>();
  readonly #bytes = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(request: Request, address: string): LimitedBody {
    let open: TransformStreamDefaultController | undefined, bytes = 0;
    const counted = new TransformStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (open = controller),
      transform: (chunk, controller) => {
        bytes += chunk.length;
        if (this.#count(address, chunk.length)) return controller.enqueue(chunk);
        throw new Problem("too_many_requests", { retry_after_seconds: RETRY_SECONDS });
      },
      flush: () => void (open = undefined),
    });
    const body = request.body?.pipeThrough(counted);
    const limitedBody = {
      request: body ? new Request(request, { body }) : request,
      startedAt: this.#clock.monotonic(),
      fail() {
        open?.error(new Error("The body arrives too slowly"));
        open = undefined;
      },
      [Symbol.dispose]: () => {
        this.#open.delete(limitedBody);
        this.#count(address, -bytes);
      },
    };
    this.#open.add(limitedBody);
    return limitedBody;
  }

  /** Aborts bodies that take too long. Must be called once a second. */
  tick(now: Monotonic): void {
    for (const limitedBody of this.#open) {
      // The bodies are in the order of their start, so the remaining ones are younger.
      if (now - limitedBody.startedAt < BODY_MS_MAX) return;
      limitedBody.fail();
    }
  }

  /** Adds to the byte count of an address. False if the address exceeds its limit. */
  #count(address: string, bytes: number): boolean {
    const now = (this.#bytes.get(address) ?? 0) + bytes;
    if (now > 0) this.#bytes.set(address, now);
    else this.#bytes.delete(address);
    return now <= ADDRESS_BODY_BYTES_MAX;
  }
}
