/** The exporter of spans: batches, retries, a bounded queue, and one log line a minute. */

import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { toHeaders, tracesUrl } from "kit/telemetry/collector.ts";
import { QUEUED_SPANS_MAX, SpanExporter } from "kit/telemetry/exporter.ts";
import type { Span } from "kit/telemetry/span.ts";
import { FakeClock } from "../../support/clock.ts";
import { Collector, type CollectorAnswer } from "../../support/telemetry/collector.ts";

function span(number: number): Span {
  return {
    trace_id: number.toString(16).padStart(32, "0"),
    span_id: number.toString(16).padStart(16, "0"),
    parent_id: null,
    name: `span ${number}`,
    kind: "internal",
    started_at: 1000,
    ended_at: 2000,
    attributes: { text: "a", count: 3, flag: true, none: null },
    failed: false,
  };
}

function exporterTo(answer?: CollectorAnswer) {
  const clock = new FakeClock();
  const collector = new Collector(answer);
  const logged: string[] = [];
  const log = jsonLog(clock, "warn", (line) => logged.push(line));
  const headers = { "x-key": "secret-key" };
  const url = "http://127.0.0.1:4318/v1/traces";
  const resource = { "service.name": "test" };
  const send = collector.handle;
  const exporter = new SpanExporter({ clock, log, url, headers, resource, send });
  return {
    clock,
    collector,
    logged,
    exporter,
    add: (count: number) => {
      for (let number = 1; number <= count; number++) exporter.add(span(number));
    },
    async tick(seconds = 1) {
      await clock.advance(seconds * 1000);
      exporter.tick(clock.monotonic());
      await clock.settle();
    },
  };
}

Deno.test("spans are sent in batches of at most 512, with each type of attribute", async () => {
  const t = exporterTo();
  t.add(1200);
  await t.tick();
  assert.deepEqual(t.collector.bodies.length, 3);
  assert.equal(t.collector.spans.length, 1200);
  const [first] = t.collector.spans;
  assert.deepEqual(first?.attributes, { text: "a", count: 3, flag: true });
  assert.deepEqual([first?.startTimeUnixNano, first?.endTimeUnixNano], [1000, 2000]);
  assert.deepEqual(t.exporter.counts, { sent: 1200, dropped: 0 });
});

Deno.test("a whole batch is sent without waiting for the next second", async () => {
  const t = exporterTo();
  t.add(511);
  await t.clock.settle();
  assert.equal(t.collector.bodies.length, 0);
  t.add(1);
  await t.clock.settle();
  assert.equal(t.collector.spans.length, 512);
});

Deno.test("without spans nothing is sent", async () => {
  const t = exporterTo();
  await t.tick();
  assert.equal(t.collector.bodies.length, 0);
});

Deno.test("a busy collector gets the same batch again, after pauses that double", async () => {
  let attempts = 0;
  const t = exporterTo(() => new Response(null, { status: ++attempts < 4 ? 503 : 200 }));
  t.add(1);
  const seconds: number[] = [];
  for (let second = 1; second <= 10; second++) {
    const before = attempts;
    await t.tick();
    if (attempts > before) seconds.push(second);
  }
  assert.deepEqual(seconds, [1, 2, 4, 8]);
  assert.equal(t.collector.spans.length, 1);
});

Deno.test("a batch that the collector refuses permanently is dropped, and the next one is sent", async () => {
  let attempts = 0;
  const t = exporterTo(() => new Response(null, { status: ++attempts === 1 ? 400 : 200 }));
  t.add(513);
  await t.tick();
  assert.deepEqual(t.exporter.counts, { sent: 1, dropped: 512 });
});

Deno.test("spans that a collector rejects out of a batch count as dropped", async () => {
  const t = exporterTo(() => Response.json({ partialSuccess: { rejectedSpans: "2" } }));
  t.add(5);
  await t.tick();
  assert.deepEqual(t.exporter.counts, { sent: 3, dropped: 2 });
});

Deno.test("the queue is bounded; drops are counted, and logged once a minute without a secret", async () => {
  const t = exporterTo(() => new Response(null, { status: 503 }));
  t.add(QUEUED_SPANS_MAX);
  assert.equal(t.exporter.counts.dropped, 0);
  t.add(10);
  assert.equal(t.exporter.counts.dropped, 10);
  for (let second = 0; second < 59; second++) {
    t.add(1);
    await t.tick();
  }
  assert.equal(t.logged.length, 1);
  await t.tick(2);
  assert.equal(t.logged.length, 2);
  const [first, second] = t.logged.map((line) => JSON.parse(line));
  assert.equal(first.what, "Spans were dropped");
  assert.equal(first.dropped + second.dropped, t.exporter.counts.dropped);
  assert.equal(second.reason, "the collector answered 503");
  assert.doesNotMatch(t.logged.join(), /secret-key/);
});

Deno.test("a collector that does not answer within 10 s is given up until the next attempt", async () => {
  let isSlow = true;
  const t = exporterTo(() => isSlow ? new Promise<Response>(() => {}) : new Response(null));
  t.add(1);
  await t.tick();
  isSlow = false;
  await t.tick(9);
  assert.equal(t.collector.spans.length, 0);
  await t.tick(3);
  await t.tick(3);
  assert.equal(t.collector.spans.length, 1);
});

Deno.test("the base address of a collector is completed, and headers are read as pairs", () => {
  for (const given of ["http://c:4318", "http://c:4318/", "http://c:4318/v1/traces"]) {
    assert.equal(tracesUrl(given), "http://c:4318/v1/traces");
  }
  assert.equal(tracesUrl("https://c/tenant"), "https://c/tenant/v1/traces");
  assert.deepEqual(toHeaders("a=b, authorization=Bearer x=y"), {
    a: "b",
    authorization: "Bearer x=y",
  });
  assert.deepEqual(toHeaders(""), {});
});
