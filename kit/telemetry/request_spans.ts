/** Spans of HTTP requests: a request finds out while it runs to which trace it belongs. */

import { AsyncLocalStorage } from "node:async_hooks";
import { type Clock, type Ids, stopwatch } from "kit/core/clock.ts";
import { readTrace } from "kit/http/traceparent.ts";
import { isRecorded, type Span, type SpanRef, toTraceContext } from "./span.ts";

/** Maximum number of ended requests that wait to be recorded. Further requests are dropped. */
const ENDED_REQUESTS_MAX = 4096;

/** A request that is being answered, or has just been. */
export class RequestSpan {
  readonly method: string;
  readonly started_at: number;
  span_id: string;
  /** Undefined as long as the request belongs to no trace. */
  trace_id: string | undefined;
  parent_id: string | null = null;
  /** The path of the contract, such as `/asks/:correlation_id`; never that of the request. */
  route: string | undefined;
  /** The code of a refusal. */
  refusal: string | undefined;
  status: number | undefined;
  ended_at: number | undefined;

  constructor(method: string, span_id: string, started_at: number) {
    this.method = method;
    this.span_id = span_id;
    this.started_at = started_at;
  }

  /** Makes the request a span of a trace. */
  join(trace_id: string, parent_id: string | null): void {
    this.trace_id = trace_id;
    this.parent_id = parent_id;
  }

  toSpan(trace_id: string): Span {
    const { method, route = "unknown", status = 500 } = this;
    return {
      trace_id,
      span_id: this.span_id,
      parent_id: this.parent_id,
      name: `${method} ${route}`,
      kind: "server",
      started_at: this.started_at,
      ended_at: this.ended_at ?? this.started_at,
      attributes: {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": status,
        "error.type": this.refusal,
      },
      failed: status >= 500,
    };
  }
}

interface RequestSpansOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** The part of all traces that is recorded, 0 to 1. */
  readonly ratio: number;
  /**
   * True, the default, if every request joins its caller's trace. If false, only a request that
   * sends something on joins it.
   */
  readonly joins_callers?: boolean;
}

type Handler<A extends readonly unknown[]> = (request: Request, ...more: A) => Promise<Response>;

export class RequestSpans {
  readonly #options: RequestSpansOptions;
  readonly #current = new AsyncLocalStorage<RequestSpan>();
  #ended: RequestSpan[] = [];

  constructor(options: RequestSpansOptions) {
    this.#options = options;
  }

  /** The request that the caller works for; undefined for work after the response. */
  get current(): RequestSpan | undefined {
    const request = this.#current.getStore();
    return request?.ended_at === undefined ? request : undefined;
  }

  /** Wraps a handler. A request that another request makes in this process is part of it. */
  traced<A extends readonly unknown[]>(handle: Handler<A>): Handler<A> {
    const { clock, ids, joins_callers = true } = this.#options;
    return (request, ...more) => {
      if (this.current) return handle(request, ...more);
      const span = new RequestSpan(request.method, ids.hex(8), clock.now());
      const elapsedMs = stopwatch(clock);
      if (joins_callers) this.#joinCaller(span, request.headers.get("traceparent"));
      return this.#current.run(span, async () => {
        try {
          const response = await handle(request, ...more);
          span.status = response.status;
          return response;
        } finally {
          span.ended_at = span.started_at + Math.round(elapsedMs());
          if (this.#ended.length < ENDED_REQUESTS_MAX) this.#ended.push(span);
        }
      });
    };
  }

  /** The current request reached a route. The first route is its own. */
  routed(path: string): void {
    if (this.current) this.current.route ??= path;
  }

  /** The current request was refused. */
  refused(code: string): void {
    if (this.current) this.current.refusal = code;
  }

  /** The traceparent for messages of the current request, given the one that it received. */
  continued(traceparent: string | undefined): string | undefined {
    const request = this.current;
    if (!request || traceparent === undefined) return traceparent;
    const joined = this.#joinCaller(request, traceparent);
    return joined ? `00-${joined.trace_id}-${request.span_id}-01` : traceparent;
  }

  /** The current request as a parent. A request without a trace begins a trace. */
  begun(): SpanRef | undefined {
    const request = this.current;
    if (!request) return undefined;
    request.trace_id ??= this.#options.ids.hex(16);
    const { span_id, trace_id } = request;
    return isRecorded({ trace_id, span_id, sampled: true }, this.#options.ratio)
      ? { trace_id, span_id }
      : undefined;
  }

  /** Takes the ended requests that belong to a recorded trace, as spans. */
  takeEnded(): Span[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended.flatMap((request) => {
      const { span_id, trace_id } = request;
      if (trace_id === undefined) return [];
      const isWithinRatio = isRecorded({ trace_id, span_id, sampled: true }, this.#options.ratio);
      return isWithinRatio ? [request.toSpan(trace_id)] : [];
    });
  }

  /** Returns the caller's context if its trace is recorded. */
  #joinCaller(request: RequestSpan, traceparent: string | null): SpanRef | undefined {
    const caller = toTraceContext(traceparent && readTrace(traceparent) || null);
    if (!caller || !isRecorded(caller, this.#options.ratio)) return undefined;
    if (request.trace_id !== caller.trace_id) request.join(caller.trace_id, caller.span_id);
    return caller;
  }
}
