/** Gives memory back when it is quiet: V8 collects while much is made, and at rest little is. */

import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Processor time of a quiet second at most. */
const QUIET_MS_MAX = 50;
/** How many quiet beats in a row are rest. */
const IDLE_TICKS = 10;
/** What the heap has to have grown by, so that a collection is worth its time. */
const GROWTH_BYTES_MIN = 8 * 1024 * 1024;

export interface Heap {
  /** Processor time of this process so far. */
  processorMs(): number;
  /** What the heap holds of the machine's memory. */
  bytes(): number;
  /** Collects all at once, which takes some 30 ms. */
  collect(): void;
}

export class IdleCollector {
  readonly #heap: Heap;
  #processor_ms = 0;
  #quiet_ticks = 0;
  /** What was left after the last collection. */
  #remaining_bytes = 0;

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /** Once a second. */
  tick(): void {
    const processor_ms = this.#heap.processorMs();
    const quiet = processor_ms - this.#processor_ms <= QUIET_MS_MAX;
    this.#processor_ms = processor_ms;
    this.#quiet_ticks = quiet ? this.#quiet_ticks + 1 : 0;
    if (this.#quiet_ticks < IDLE_TICKS) return;
    this.#quiet_ticks = 0;
    if (this.#heap.bytes() - this.#remaining_bytes < GROWTH_BYTES_MIN) return;
    this.#heap.collect();
    this.#remaining_bytes = this.#heap.bytes();
  }
}

/** The heap of this process. */
export function processHeap(): Heap {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  return {
    processorMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    bytes: () => Deno.memoryUsage().heapTotal,
    collect,
  };
}
