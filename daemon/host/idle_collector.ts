/** Collects garbage when the daemon is idle, because V8 rarely does so without allocations. */

import { process, v8, vm } from "kit/host/node_library.ts";
import { processorMsOfSelf } from "./processes.ts";

/** A tick is quiet if this process used at most this processor time since the previous tick. */
const QUIET_MS_MAX = 50;
/** After this many quiet ticks in a row, the daemon counts as idle. */
const IDLE_TICKS = 3;
/** A collection runs only if the heap has grown by this much since the previous collection. */
const GROWTH_BYTES_MIN = 8 * 1024 * 1024;

export interface Heap {
  /** Processor time that this process has used since its start. */
  processorMs(): number;
  /** Memory that the heap uses now. */
  bytes(): number;
  /** Runs a full garbage collection, which takes about 30 ms. */
  collect(): void;
}

export class IdleCollector {
  readonly #heap: Heap;
  #processor_ms = 0;
  #quiet_ticks = 0;
  /** The heap's size right after the previous collection. */
  #remaining_bytes = 0;

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /** Called once a second. */
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

export function processHeap(): Heap {
  let collect: (() => void) | undefined;
  return {
    processorMs: () => processorMsOfSelf() ?? nodeProcessorMs(),
    bytes: () => Deno.memoryUsage().heapTotal,
    collect: () => (collect ??= collector())(),
  };
}

/** Where the kernel has no table of processes. Takes half a millisecond. */
function nodeProcessorMs(): number {
  const { user, system } = process().cpuUsage();
  return (user + system) / 1000;
}

function collector(): () => void {
  v8().setFlagsFromString("--expose-gc");
  return vm().runInNewContext("gc");
}
