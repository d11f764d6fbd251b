/** Bodies that are held until they are answered: so many bytes of one address, and for so long. */

import type { Clock } from "kit/core/clock.ts";
import { Problem } from "kit/core/problem.ts";

/** How long a body may take to come: none that is held whole is longer than 1 MiB. */
export const BODY_MS_MAX = 30_000;
/** Of one address, all its bodies together: 8 of the longest, or some thousand usual ones. */
export const BODIES_BYTES_MAX = 8_388_608;
const RETRY_SECONDS = 1;

export class Intake {
  readonly #clock: Clock;
  readonly #reading = new Set<Reading>();
  readonly #bytes = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A request with a body that counts, and has to come in time, until this is disposed of. */
  begin(request: Request, address: string): Reading {
    const reading = new Reading(request, this.#clock.now(), {
      came: (bytes) => this.#count(address, bytes),
      over: (bytes) => {
        this.#reading.delete(reading);
        this.#count(address, -bytes);
      },
    });
    this.#reading.add(reading);
    return reading;
  }

  /** Once a second. */
  beat(now: number): void {
    for (const reading of this.#reading) {
      if (now - reading.began_at < BODY_MS_MAX) return; // The rest is younger.
      reading.giveUp();
    }
  }

  /** False for more than one address may have. */
  #count(address: string, bytes: number): boolean {
    const now = (this.#bytes.get(address) ?? 0) + bytes;
    if (now > 0) this.#bytes.set(address, now);
    else this.#bytes.delete(address);
    return now <= BODIES_BYTES_MAX;
  }
}

interface ReadingNeeds {
  came(bytes: number): boolean;
  over(bytes: number): void;
}

class Reading implements Disposable {
  readonly request: Request;
  readonly began_at: number;
  readonly #needs: ReadingNeeds;
  #controller: TransformStreamDefaultController | undefined;
  #bytes = 0;

  constructor(request: Request, began_at: number, needs: ReadingNeeds) {
    this.began_at = began_at;
    this.#needs = needs;
    const counted = new TransformStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (this.#controller = controller),
      transform: (chunk, controller) => {
        this.#bytes += chunk.length;
        if (needs.came(chunk.length)) return controller.enqueue(chunk);
        throw new Problem("too_many_requests", { retry_after_seconds: RETRY_SECONDS });
      },
      flush: () => void (this.#controller = undefined),
    });
    const body = request.body?.pipeThrough(counted);
    this.request = body ? new Request(request, { body }) : request;
  }

  /** What did not come by now will not come; one that is whole only waits for its answer. */
  giveUp(): void {
    this.#controller?.error(new Error("The body comes too slowly"));
    this.#controller = undefined;
  }

  [Symbol.dispose](): void {
    this.#needs.over(this.#bytes);
  }
}
