/** Detects silence: of a stream, a connection, or a reader. */

import type { Clock } from "kit/core/clock.ts";

export class Silence implements Disposable {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #ms_max: number;
  readonly #onSilence: () => void;
  #cancel: () => void = () => undefined;

  /** Calls `onSilence` once after `ms_max` without a call of `heard`. */
  constructor(clock: Pick<Clock, "setTimer">, ms_max: number, onSilence: () => void) {
    this.#clock = clock;
    this.#ms_max = ms_max;
    this.#onSilence = onSilence;
    this.heard();
  }

  heard(): void {
    this.#cancel();
    this.#cancel = this.#clock.setTimer(this.#ms_max, this.#onSilence);
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }
}

/**
 * Forwards a body. Fails it if its reader takes nothing for `ms_max` while data waits. The runtime
 * then ends the connection, and the source is cancelled.
 */
export function failStalled<Chunk extends Uint8Array>(
  clock: Pick<Clock, "setTimer">,
  ms_max: number,
  body: ReadableStream<Chunk>,
): ReadableStream<Chunk> {
  const source = body.getReader();
  let offered: Silence | undefined;
  return new ReadableStream({
    async pull(controller) {
      offered?.[Symbol.dispose]();
      const { done, value } = await source.read();
      if (done) return controller.close();
      controller.enqueue(value);
      offered = new Silence(clock, ms_max, () => {
        const why = new Error(`the reader took nothing for ${ms_max / 1000} s`);
        controller.error(why);
        void source.cancel(why).catch(() => undefined); // The source may have ended already.
      });
    },
    async cancel(reason) {
      offered?.[Symbol.dispose]();
      await source.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** Time limit for a stalled reader of an event stream. Something is sent every 15 s. */
export const STALLED_MS_MAX = 60_000;
