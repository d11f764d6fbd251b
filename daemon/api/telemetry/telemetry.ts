/**
 * Traces: follows each message from its request to its receipts and its reply, and exports the
 * spans. Loaded only with `telemetry.otlp`.
 */

import { VERSION } from "kit/core/version.ts";
import { afterSocketReads, type Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import type { DeliveryStep, MeshEvent } from "protocol/events.ts";
import type { CollectorOptions } from "kit/telemetry/collector.ts";
import { SpanExporter } from "kit/telemetry/exporter.ts";
import { type RequestSpan, RequestSpans } from "kit/telemetry/request_spans.ts";
import { isRecorded, type SpanRef, toTraceContext, type TraceContext } from "kit/telemetry/span.ts";
import { lastSeq } from "../../features/messages/ledger/ledger.ts";
import { get as getSchedule } from "../../features/schedules/store.ts";
import {
  answerSpan,
  attemptSpanId,
  messageSpan,
  stepSpans,
  type TimedStep,
} from "./message_spans.ts";
import { type TracedMessage, tracedMessage } from "./store.ts";

/** Maximum number of unread deliveries with new steps. Steps of further deliveries are dropped. */
const PENDING_MAX = 10_000;
/** Number of deliveries read at once, which takes some milliseconds. */
const READ_MAX = 200;
/** Maximum number of requests of one message that are noted between two reads. */
const REPORTS_MAX = 4;
/** After so many reads without a commit, the transaction of a noted step was rolled back. */
const UNCOMMITTED_PASSES_MAX = 2;

/** The requests that caused the steps of a message. */
interface NotedRequests {
  /** The request of the first step, which sent the message if it is new. */
  readonly first: RequestSpan | undefined;
  readonly later: Set<RequestSpan>;
  /** Number of reads that found no committed step. */
  passes: number;
}

interface TelemetryOptions extends CollectorOptions {
  /** The part of all traces that is recorded, 0 to 1. */
  readonly ratio: number;
  readonly daemon_id: string;
  send(request: Request): Promise<Response>;
}

/** Builds the traces of a daemon. */
export type OpenTelemetry = (ctx: Context, options: TelemetryOptions) => Telemetry;

export const openTelemetry: OpenTelemetry = (ctx, options) => new Telemetry(ctx, options);

export class Telemetry {
  readonly requests: RequestSpans;
  readonly exporter: SpanExporter;
  readonly #ctx: Context;
  readonly #ratio: number;
  /** The steps of each delivery that are not yet spans, in the order of their commits. */
  readonly #steps = new Map<string, TimedStep[]>();
  /** The requests that sent each message, and that reported on it since. */
  readonly #noted = new Map<string, NotedRequests>();
  /** Asks that were closed. */
  readonly #closed = new Set<string>();
  /** Traceparents of schedules: they name the request that made the schedule. */
  readonly #scheduled = new Set<string>();
  readonly #subscription: Disposable;
  /** Messages with a higher number are new. */
  #last_seq: number;
  #readScheduled = false;
  #ending: Promise<void> | undefined;

  constructor(ctx: Context, options: TelemetryOptions) {
    const { clock, events, ids, log } = ctx;
    const { daemon_id, headers, ratio, send, url } = options;
    this.#ctx = ctx;
    this.#ratio = ratio;
    this.#last_seq = lastSeq(ctx.db);
    this.requests = new RequestSpans({ clock, ids, ratio });
    const resource = {
      "service.name": "mesh-daemon",
      "service.version": VERSION,
      "service.instance.id": daemon_id,
    };
    this.exporter = new SpanExporter({ clock, log, url, headers, resource, send });
    this.#subscription = events.subscribe({
      delivery: (step) => this.#stepped(step),
      event: (event) => this.#published(event),
    });
  }

  /** Called within the transaction of a step, so that the request which caused it is known. */
  noteStep(delivery_id: string): void {
    const { current } = this.requests;
    const noted = this.#noted.get(delivery_id);
    if (!noted && this.#noted.size < PENDING_MAX) {
      this.#noted.set(delivery_id, { first: current, later: new Set(), passes: 0 });
    } else if (current && noted && current !== noted.first && noted.later.size < REPORTS_MAX) {
      noted.later.add(current);
    }
  }

  /** Called once a second. */
  tick(now: Monotonic): void {
    this.#readSteps();
    this.exporter.tick(now);
  }

  /** Sends the remaining spans, for a short time. */
  close(): Promise<void> {
    return this.#ending ??= this.#end();
  }

  async #end(): Promise<void> {
    this.#subscription[Symbol.dispose]();
    do this.#readSteps(); while (this.#steps.size > 0);
    await this.exporter.close();
  }

  #stepped({ delivery_id, state, transport }: DeliveryStep): void {
    const step = { state, transport, at: this.#ctx.clock.now() };
    const steps = this.#steps.get(delivery_id);
    if (steps) steps.push(step);
    else if (this.#steps.size >= PENDING_MAX) this.exporter.countDropped(1);
    else this.#steps.set(delivery_id, [step]);
    if (this.#steps.size >= READ_MAX) this.#readLater();
  }

  #readLater(): void {
    if (this.#readScheduled) return;
    this.#readScheduled = true;
    afterSocketReads(() => {
      this.#readScheduled = false;
      if (!this.#ending) this.#readSteps();
    });
  }

  #published({ type, data }: MeshEvent): void {
    if (type === "ack" && this.#closed.size < PENDING_MAX) this.#closed.add(data.correlation_id);
    if (type !== "schedule_fired" || this.#scheduled.size >= PENDING_MAX) return;
    const schedule = getSchedule(this.#ctx.db, data.schedule_id);
    if (schedule?.traceparent) this.#scheduled.add(schedule.traceparent);
  }

  /** Makes spans of the steps of up to `READ_MAX` deliveries. Requests follow the last one. */
  #readSteps(): void {
    let count = 0;
    for (const [delivery_id, steps] of this.#steps) {
      if (count++ === READ_MAX) return this.#readLater();
      this.#steps.delete(delivery_id);
      const message = tracedMessage(this.#ctx.db, delivery_id);
      if (message) this.#record(message, steps, this.#noted.get(delivery_id));
      this.#noted.delete(delivery_id);
    }
    for (const correlation_id of this.#closed) this.#recordAnswer(correlation_id);
    this.#closed.clear();
    this.#scheduled.clear();
    for (const [delivery_id, noted] of this.#noted) {
      if (++noted.passes > UNCOMMITTED_PASSES_MAX) this.#noted.delete(delivery_id);
    }
    for (const span of this.requests.takeEnded()) this.exporter.add(span);
  }

  #record(
    message: TracedMessage,
    steps: readonly TimedStep[],
    noted: NotedRequests | undefined,
  ): void {
    const isNew = message.seq > this.#last_seq;
    if (isNew) this.#last_seq = message.seq;
    const context = toTraceContext(message.traceparent);
    if (!context || !isRecorded(context, this.#ratio)) return;
    const request = noted?.first;
    if (isNew) this.#recordNew(message, { context, request, committed_at: steps[0]?.at ?? 0 });
    const reporting = [...isNew ? [] : [request], ...noted?.later ?? []];
    const parent_id = attemptSpanId(context, message, message.attempts);
    for (const span of reporting) {
      if (span && span.trace_id === undefined) span.join(context.trace_id, parent_id);
    }
    for (const span of stepSpans(message, context, steps)) this.exporter.add(span);
  }

  /**
   * The span that the message's traceparent names is its request. Without one, the daemon itself
   * sends the message, and the span is recorded here.
   */
  #recordNew(
    message: TracedMessage,
    { context, request, committed_at }: {
      context: TraceContext;
      request: RequestSpan | undefined;
      committed_at: number;
    },
  ): void {
    const { kind, created_at, traceparent } = message;
    const { trace_id, span_id } = context;
    const before = this.#relatedTo(message);
    const parent_id = before?.trace_id === trace_id ? before.span_id : null;
    const link = before && before.trace_id !== trace_id ? before : undefined;
    if (request && request.trace_id === undefined) {
      request.join(trace_id, parent_id);
      request.span_id = span_id;
    }
    const times = { started_at: created_at, ended_at: committed_at };
    if (request?.span_id !== span_id && !this.#scheduled.has(traceparent)) {
      const sender = parent_id ?? (request?.trace_id === trace_id ? request.span_id : null);
      const own = { ...times, name: `send ${kind}`, span_id, parent_id: sender };
      this.exporter.add(messageSpan(message, context, own));
    }
    this.exporter.add(messageSpan(message, context, { ...times, name: "commit", link }));
  }

  /** The span that sent the ask which a message answers or follows up. */
  #relatedTo({ kind, correlation_id, reply_to }: TracedMessage): SpanRef | undefined {
    const id = reply_to ?? (kind === "ask" ? null : correlation_id);
    const ask = id === null ? undefined : tracedMessage(this.#ctx.db, id);
    return ask && toTraceContext(ask.traceparent);
  }

  #recordAnswer(correlation_id: string): void {
    const ask = tracedMessage(this.#ctx.db, correlation_id);
    const context = ask && toTraceContext(ask.traceparent);
    if (!context || !isRecorded(context, this.#ratio)) return;
    this.exporter.add(answerSpan(ask, context));
  }
}
