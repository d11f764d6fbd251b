/** Sends spans to an OpenTelemetry collector in batches. Nothing waits for the collector. */

import * as z from "zod";
import type { Clock, Monotonic } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { doublingMs, timeout } from "kit/core/timeout.ts";
import { decodeUtf8, readUpTo } from "kit/http/body.ts";
import type { CollectorOptions } from "./collector.ts";
import type { Attributes, Span } from "./span.ts";

/** Maximum number of spans that wait for the collector. Further spans are dropped and counted. */
export const QUEUED_SPANS_MAX = 4096;
const BATCH_SPANS_MAX = 512;
/** Maximum time for the collector to answer. */
const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 65_536;
/** The pause after a failed attempt. */
const RETRY_MS = { first: 1000, max: 60_000 };
const DROPS_LOGGED_EVERY_MS = 60_000;
/** Maximum time that the shutdown waits for the remaining spans. */
const CLOSE_MS_MAX = 2000;

/** The statuses after which the same batch may be sent again (OTLP 1, "Failures"). */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Answer of a collector that has not taken all spans. */
const Answer = z.object({
  partialSuccess: z.object({ rejectedSpans: z.coerce.number().int().min(0) }),
});

interface SpanExporterDeps extends CollectorOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Describes this process. */
  readonly resource: Attributes;
  send(request: Request): Promise<Response>;
}

/** Result of a batch: it was taken, will be sent again, or was refused for good. */
type Outcome = { state: "taken"; rejected: number } | { state: "failed" | "refused"; why: string };

export class SpanExporter {
  readonly #deps: SpanExporterDeps;
  readonly #queue: Span[] = [];
  /** Spans that the collector took, and spans that it will never get, since the start. */
  readonly counts = { sent: 0, dropped: 0 };
  #logged = { at: Number.NEGATIVE_INFINITY, dropped: 0 };
  #lastFailure: string | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;
  #retry_at = Number.NEGATIVE_INFINITY;

  constructor(deps: SpanExporterDeps) {
    this.#deps = deps;
  }

  /** Queues a span. A whole batch is sent at once. */
  add(span: Span): void {
    if (this.#queue.length >= QUEUED_SPANS_MAX) return void this.counts.dropped++;
    this.#queue.push(span);
    if (this.#queue.length === BATCH_SPANS_MAX) this.#start(this.#deps.clock.monotonic());
  }

  /** Counts spans that were dropped before they were made. */
  countDropped(count: number): void {
    this.counts.dropped += count;
  }

  /** Called once a second: sends what has been added, and logs what was dropped. */
  tick(now: Monotonic): void {
    this.#logDrops(now);
    this.#start(now);
  }

  /** Sends the remaining spans, for a short time. */
  async close(): Promise<void> {
    const { clock } = this.#deps;
    this.tick(clock.monotonic());
    await timeout(clock, CLOSE_MS_MAX, Promise.resolve(this.#sending));
    this.counts.dropped += this.#queue.splice(0).length;
    this.#logDrops(Number.POSITIVE_INFINITY);
  }

  #start(now: Monotonic): void {
    if (this.#queue.length === 0 || this.#sending || now < this.#retry_at) return;
    this.#sending = this.#sendAll().finally(() => this.#sending = undefined);
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH_SPANS_MAX);
      const outcome = await this.#sendBatch(batch);
      if (outcome.state !== "taken") this.#lastFailure = outcome.why;
      if (outcome.state === "failed") {
        const pause_ms = doublingMs(RETRY_MS, this.#failures++);
        this.#retry_at = this.#deps.clock.monotonic() + pause_ms;
        return;
      }
      this.#failures = 0;
      this.#queue.splice(0, batch.length);
      const lost = outcome.state === "taken"
        ? Math.min(outcome.rejected, batch.length)
        : batch.length;
      this.counts.sent += batch.length - lost;
      this.counts.dropped += lost;
    }
  }

  /** Never rejects: an unreachable collector is an outcome. */
  async #sendBatch(batch: readonly Span[]): Promise<Outcome> {
    const { clock, headers, resource, send, url } = this.#deps;
    const body = toOtlp(resource, batch);
    const exchange = async (signal: AbortSignal): Promise<Outcome> => {
      const response = await send(
        new Request(url, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body,
          // A redirect could send the headers, which may hold a key, to another server.
          redirect: "manual",
          signal,
        }),
      );
      return await toOutcome(response);
    };
    try {
      return await timeout(clock, ANSWER_MS_MAX, exchange) ??
        { state: "failed", why: `no answer within ${ANSWER_MS_MAX / 1000} s` };
    } catch (error) {
      return { state: "failed", why: messageOf(error) };
    }
  }

  #logDrops(now: number): void {
    const dropped = this.counts.dropped - this.#logged.dropped;
    if (dropped === 0 || now - this.#logged.at < DROPS_LOGGED_EVERY_MS) return;
    this.#logged = { at: now, dropped: this.counts.dropped };
    const reason = this.#lastFailure ?? "more spans than the collector takes";
    this.#deps.log.warn("Spans were dropped", { dropped, reason });
  }
}

async function toOutcome(response: Response): Promise<Outcome> {
  const { status } = response;
  if (!response.ok) {
    await response.body?.cancel();
    const state = RETRYABLE_STATUSES.has(status) ? "failed" : "refused";
    return { state, why: `the collector answered ${status}` };
  }
  // A collector that answers in another format than OTLP has probably taken the spans.
  const bytes = await readUpTo(response.body, ANSWER_BYTES_MAX);
  const answer = Answer.safeParse(tryJson(bytes && decodeUtf8(bytes) || ""));
  return { state: "taken", rejected: answer.data?.partialSuccess.rejectedSpans ?? 0 };
}

/** The numbers of OTLP's `SpanKind`. */
const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;
/** The flags of a span that is sampled. */
const SAMPLED = 1;
const STATUS_ERROR = 2;
const SCOPE = "mesh";

/** The body of an export request. */
function toOtlp(resource: Attributes, spans: readonly Span[]): string {
  const scope = { name: SCOPE };
  return JSON.stringify({
    resourceSpans: [{
      resource: { attributes: toKeyValues(resource) },
      scopeSpans: [{ scope, spans: spans.map(toOtlpSpan) }],
    }],
  });
}

function toOtlpSpan(span: Span) {
  const { trace_id, span_id, parent_id, link } = span;
  return {
    traceId: trace_id,
    spanId: span_id,
    ...(parent_id !== null && { parentSpanId: parent_id }),
    flags: SAMPLED,
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: toNanoseconds(span.started_at),
    // A step may be stored before the step that it follows; a span must not end before it starts.
    endTimeUnixNano: toNanoseconds(Math.max(span.started_at, span.ended_at)),
    attributes: toKeyValues(span.attributes),
    ...(link && { links: [{ traceId: link.trace_id, spanId: link.span_id }] }),
    status: span.failed ? { code: STATUS_ERROR } : {},
  };
}

/** A 64-bit number is text in OTLP's JSON. */
function toNanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`;
}

function toKeyValues(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: toAnyValue(value) }]
  );
}

function toAnyValue(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: value };
  return typeof value === "number" ? { intValue: String(value) } : { boolValue: value };
}
