/** Spans as OTLP writes them in JSON (OpenTelemetry protocol 1, `POST /v1/traces`). */

import type { Attributes, Span } from "./span.ts";

/** The numbers of OTLP's `SpanKind`. */
const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;
/** The flags of a span that is sampled. */
const SAMPLED = 1;
const STATUS_ERROR = 2;
const SCOPE = "mesh";

/** The body of an export request. */
export function toOtlp(resource: Attributes, spans: readonly Span[]): string {
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
