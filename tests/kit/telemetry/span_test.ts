/** Ids of spans, and which traces are recorded. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { deriveSpanId, isRecorded, toTraceContext } from "kit/telemetry/span.ts";

const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: digits, maxLength: digits });

Deno.test("a derived span id has 16 hex digits, and depends on every name", () => {
  const id = deriveSpanId("trace", "qd-1", "attempt", 1);
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(id, deriveSpanId("trace", "qd-1", "attempt", 1));
  assert.notEqual(id, deriveSpanId("trace", "qd-1", "attempt", 2));
});

Deno.test("a larger ratio records every trace of a smaller one; 1 records all and 0 none", () => {
  const ratio = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(fc.property(hex(32), ratio, ratio, (trace_id, ratioA, ratioB) => {
    const context = { trace_id, span_id: "1".repeat(16), sampled: true };
    const [small, large] = [Math.min(ratioA, ratioB), Math.max(ratioA, ratioB)];
    if (isRecorded(context, small)) assert.ok(isRecorded(context, large));
    assert.equal(isRecorded(context, 1), true);
    assert.equal(isRecorded(context, 0), false);
    assert.equal(isRecorded({ ...context, sampled: false }, 1), false);
  }));
});

Deno.test("a ratio of 0.25 records about a quarter of random traces", () => {
  const traces = Array.from({ length: 4000 }, (_, n) => deriveSpanId(n).repeat(2));
  const recorded = traces.filter((trace_id) =>
    isRecorded({ trace_id, span_id: "", sampled: true }, 0.25)
  );
  assert.ok(Math.abs(recorded.length - 1000) < 120, String(recorded.length));
});

Deno.test("a traceparent is read with its flag; a malformed one is no context", () => {
  const [trace_id, span_id] = ["a".repeat(32), "b".repeat(16)];
  const read = (flags: string) => toTraceContext(`00-${trace_id}-${span_id}-${flags}`);
  assert.deepEqual(read("01"), { trace_id, span_id, sampled: true });
  assert.deepEqual(read("02"), { trace_id, span_id, sampled: false });
  assert.equal(toTraceContext("00-xyz"), undefined);
  assert.equal(toTraceContext(null), undefined);
});
