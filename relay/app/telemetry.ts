/** The relay's traces: requests that reach a machine. Loaded only with a collector. */

import { type Clock, type Ids, type Monotonic, stopwatch } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { VERSION } from "kit/core/version.ts";
import type { CollectorOptions } from "kit/telemetry/collector.ts";
import { SpanExporter } from "kit/telemetry/exporter.ts";
import { RequestSpans } from "kit/telemetry/request_spans.ts";
import { type SpanRef, toTraceContext } from "kit/telemetry/span.ts";
import type { MachineRequest } from "protocol/relay/daemons.ts";
import type { ForwardRequest } from "../daemons/machine_registry.ts";

export interface RelayTelemetryOptions extends CollectorOptions {
  /** The part of all traces that is recorded, 0 to 1. */
  readonly ratio: number;
}

interface RelayTelemetryDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  send(request: Request): Promise<Response>;
}

export class RelayTelemetry {
  /** Strangers may send any traceparent, so only requests that reach a machine join a trace. */
  readonly requests: RequestSpans;
  readonly exporter: SpanExporter;
  readonly #deps: RelayTelemetryDeps;

  constructor(deps: RelayTelemetryDeps, { url, headers, ratio }: RelayTelemetryOptions) {
    const { clock, ids, log, send } = deps;
    this.#deps = deps;
    this.requests = new RequestSpans({ clock, ids, ratio, joins_callers: false });
    const resource = { "service.name": "mesh-relay", "service.version": VERSION };
    this.exporter = new SpanExporter({ clock, log, url, headers, resource, send });
  }

  /** Sends a request to a machine, which continues the trace. */
  async forward(request: MachineRequest, send: ForwardRequest): Promise<Response> {
    const parent = this.#parentOf(request);
    if (!parent) return await send(request);
    const { clock, ids } = this.#deps;
    const { trace_id, span_id: parent_id } = parent;
    const span_id = ids.hex(8);
    const traceparent = `00-${trace_id}-${span_id}-01`;
    const started_at = clock.now(), elapsedMs = stopwatch(clock);
    let status: number | undefined;
    try {
      const response = await send({ ...request, headers: { ...request.headers, traceparent } });
      status = response.status;
      return response;
    } finally {
      this.exporter.add({
        trace_id,
        span_id,
        parent_id,
        name: "tunnel",
        kind: "client",
        started_at,
        ended_at: started_at + Math.round(elapsedMs()),
        attributes: { "http.request.method": request.method, "http.response.status_code": status },
        failed: status === undefined || status >= 500,
      });
    }
  }

  tick(now: Monotonic): void {
    for (const span of this.requests.takeEnded()) this.exporter.add(span);
    this.exporter.tick(now);
  }

  async close(): Promise<void> {
    this.tick(this.#deps.clock.monotonic());
    await this.exporter.close();
  }

  /**
   * The request of an app or a guest begins a trace. That of a page does not, because a reply
   * without a traceparent stays in the trace of its ask.
   */
  #parentOf({ headers, origin }: MachineRequest): SpanRef | undefined {
    const given = headers?.["traceparent"];
    if (given === undefined) return origin === "browser" ? undefined : this.requests.begun();
    const continued = this.requests.continued(given);
    return continued === given ? undefined : toTraceContext(continued ?? null);
  }
}
