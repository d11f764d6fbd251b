/** The idle collector frees memory when the daemon is idle, and only if there is some to free. */

import assert from "node:assert/strict";
import { IdleCollector, processHeap } from "../../../daemon/host/idle_collector.ts";

const MIB = 1024 * 1024;

/** A heap that a test fills; a collection leaves 20 MiB. */
class FakeHeap {
  processor_ms = 0;
  requests = 0;
  held = 50 * MIB;
  collections = 0;

  processorMs(): number {
    return this.processor_ms;
  }

  bytes(): number {
    return this.held;
  }

  collect(): void {
    this.collections++;
    this.held = 20 * MIB;
  }
}

/** Lets seconds pass, each with a request and this much work. */
function pass(memory: IdleCollector, heap: FakeHeap, seconds: number, work_ms: number): void {
  for (let second = 0; second < seconds; second++) {
    heap.requests++;
    heap.processor_ms += work_ms;
    memory.tick();
  }
}

Deno.test("memory is collected after three quiet seconds, and never during work", () => {
  const heap = new FakeHeap();
  const memory = new IdleCollector(heap, () => heap.requests);
  for (let round = 0; round < 5; round++) {
    pass(memory, heap, 2, 4);
    pass(memory, heap, 1, 300);
  }
  assert.equal(heap.collections, 0);
  pass(memory, heap, 3, 4);
  assert.equal(heap.collections, 1);
});

Deno.test("memory is collected without requests, also while texts are indexed", () => {
  const heap = new FakeHeap();
  const memory = new IdleCollector(heap, () => heap.requests);
  pass(memory, heap, 10, 300);
  assert.equal(heap.collections, 0);
  for (let second = 0; second < 3; second++) {
    heap.processor_ms += 300;
    memory.tick();
  }
  assert.equal(heap.collections, 1);
});

Deno.test("a heap that has not grown since the last collection is not collected", () => {
  const heap = new FakeHeap();
  const memory = new IdleCollector(heap, () => heap.requests);
  pass(memory, heap, 100, 4);
  assert.equal(heap.collections, 1);
  heap.held += 7 * MIB;
  pass(memory, heap, 100, 4);
  assert.equal(heap.collections, 1);
  heap.held += 2 * MIB;
  pass(memory, heap, 10, 4);
  assert.equal(heap.collections, 2);
});

Deno.test("a collection shrinks the process's own heap, and its processor time is counted", () => {
  const heap = processHeap();
  const before = heap.processorMs();
  let held: unknown[] = Array.from({ length: 400_000 }, (_, number) => ({ number }));
  const full = heap.bytes();
  assert.equal(held.length, 400_000);
  held = [];
  heap.collect();
  assert.ok(heap.bytes() < full, `${heap.bytes()} of ${full}`);
  assert.ok(heap.processorMs() > before);
});
