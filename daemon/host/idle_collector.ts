/**
 * Collects garbage when the daemon is idle, because V8 rarely does so without allocations, and
 * returns what the C library keeps.
 */

import { process, v8, vm } from "kit/host/node_library.ts";

/** A tick is quiet if this process used at most this processor time since the previous tick. */
const QUIET_MS_MAX = 50;
/** The same for a tick without requests, as after a flood, while its texts are indexed. */
const UNASKED_MS_MAX = 500;
/** After this many quiet ticks in a row, the daemon counts as idle. */
const IDLE_TICKS = 3;
/** A collection runs only if the heap has grown by this much since the previous collection. */
const GROWTH_BYTES_MIN = 8 * 1024 * 1024;

const TRIM = { malloc_trim: { parameters: ["usize"], result: "i32" } } as const;

interface Heap {
  /** Processor time that this process has used since its start. */
  processorMs(): number;
  bytes(): number;
  /** Collects all garbage, which takes about 30 ms, and returns free memory to the system. */
  collect(): void;
}

export class IdleCollector {
  readonly #heap: Heap;
  readonly #requestCount: () => number;
  #processor_ms = 0;
  #requests = 0;
  #quiet_ticks = 0;
  /** The heap's size right after the previous collection. */
  #remaining_bytes = 0;

  /** `requestCount` returns how many requests were received since the start. */
  constructor(heap: Heap, requestCount: () => number) {
    this.#heap = heap;
    this.#requestCount = requestCount;
  }

  /** Called once a second. */
  tick(): void {
    const processor_ms = this.#heap.processorMs();
    const requests = this.#requestCount();
    const ms_max = requests === this.#requests ? UNASKED_MS_MAX : QUIET_MS_MAX;
    const quiet = processor_ms - this.#processor_ms <= ms_max;
    this.#processor_ms = processor_ms;
    this.#requests = requests;
    this.#quiet_ticks = quiet ? this.#quiet_ticks + 1 : 0;
    if (this.#quiet_ticks < IDLE_TICKS) return;
    this.#quiet_ticks = 0;
    if (this.#heap.bytes() - this.#remaining_bytes < GROWTH_BYTES_MIN) return;
    this.#heap.collect();
    this.#remaining_bytes = this.#heap.bytes();
  }
}

export function processHeap(): Heap {
  let collectGarbage: (() => void) | undefined;
  let trim: (() => void) | undefined;
  return {
    processorMs() {
      const { user, system } = process().cpuUsage(); // In microseconds.
      return (user + system) / 1000;
    },
    bytes: () => Deno.memoryUsage().heapTotal,
    collect() {
      (collectGarbage ??= openCollector())();
      (trim ??= openTrim())();
    },
  };
}

function openCollector(): () => void {
  v8().setFlagsFromString("--expose-gc");
  return vm().runInNewContext("gc");
}

/**
 * A function that returns free memory of glibc's heap to the system. SQLite, the HTTP server and V8
 * allocate there, and after a flood it keeps 10 MB and more. Does nothing with another C library.
 */
function openTrim(): () => void {
  try {
    const { symbols } = Deno.dlopen("libc.so.6", TRIM);
    return () => void symbols.malloc_trim(0n);
  } catch (error) {
    // This system has a different C library, or this process has no permission.
    if (error instanceof Error) return () => undefined;
    throw error;
  }
}
