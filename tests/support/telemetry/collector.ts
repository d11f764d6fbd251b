/** An OpenTelemetry collector that records the spans that it gets. */

import * as z from "zod";

const Value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.string() }).transform(({ intValue }) => Number(intValue)),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
]);
const Attributes = z.array(z.strictObject({ key: z.string(), value: Value }))
  .transform((pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, value])));
/** Milliseconds of the test's clock. */
const Time = z.string().regex(/^\d+000000$/).transform((text) => Number(text.slice(0, -6)));
const TraceId = z.string().regex(/^[0-9a-f]{32}$/);
const SpanId = z.string().regex(/^[0-9a-f]{16}$/);

/** A span as the protocol writes it, without any other field. */
const Span = z.strictObject({
  traceId: TraceId,
  spanId: SpanId,
  parentSpanId: SpanId.optional(),
  flags: z.literal(1),
  name: z.string().min(1),
  kind: z.number().int().min(1).max(5),
  startTimeUnixNano: Time,
  endTimeUnixNano: Time,
  attributes: Attributes,
  links: z.array(z.strictObject({ traceId: TraceId, spanId: SpanId })).optional(),
  status: z.strictObject({ code: z.literal(2).optional() }),
});
export type RecordedSpan = z.output<typeof Span>;

const Export = z.strictObject({
  resourceSpans: z.tuple([z.strictObject({
    resource: z.strictObject({ attributes: Attributes }),
    scopeSpans: z.tuple([z.strictObject({
      scope: z.strictObject({ name: z.string() }),
      spans: z.array(Span),
    })]),
  })]),
});

/** The collector's answer; by default it accepts everything. */
export type CollectorAnswer = (request: Request) => Response | Promise<Response>;

export class Collector {
  readonly spans: RecordedSpan[] = [];
  readonly headers: Headers[] = [];
  /** The request bodies, as they came. */
  readonly bodies: string[] = [];
  resource: Record<string, unknown> = {};
  readonly #answer: CollectorAnswer;

  constructor(answer: CollectorAnswer = () => Response.json({})) {
    this.#answer = answer;
  }

  /** Answers a request; the spans of a refused one are not recorded. */
  readonly handle = async (request: Request): Promise<Response> => {
    const body = await request.clone().text();
    const response = await this.#answer(request);
    if (!response.ok) return response;
    const [{ resource, scopeSpans: [{ spans }] }] = Export.parse(JSON.parse(body)).resourceSpans;
    this.resource = resource.attributes;
    this.headers.push(request.headers);
    this.bodies.push(body);
    this.spans.push(...spans);
    return response;
  };

  /** The only span of a name. */
  span(name: string): RecordedSpan {
    const found = this.spans.filter((span) => span.name === name);
    const [span] = found;
    if (!span || found.length > 1) {
      throw new Error(`${found.length} spans ${name}; recorded: ${this.names().join(", ")}`);
    }
    return span;
  }

  names(): string[] {
    return this.spans.map(({ name }) => name);
  }

  /** Each span below its parent, as `parent > child`; a root and a foreign parent have no name. */
  edges(): string[] {
    const nameOf = (id: string | undefined) =>
      this.spans.find(({ spanId }) => spanId === id)?.name ?? "";
    return this.spans.map(({ name, parentSpanId }) => `${nameOf(parentSpanId)} > ${name}`).sort();
  }
}

/** Serves a collector on a free port of this machine. */
export function serveCollector(collector: Collector) {
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => undefined,
  }, collector.handle);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
