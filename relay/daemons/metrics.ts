/** The relay's metrics, rendered for Prometheus. */

import { VERSION } from "kit/core/version.ts";
import { type Definition, Metrics } from "kit/http/metrics.ts";
import type { MachineRegistry, Outcome } from "./machine_registry.ts";

const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60];
const DELAY_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];

interface RelayMetricsSources {
  readonly machines: Pick<MachineRegistry, "size" | "requests" | "held_bytes">;
  /** Milliseconds since the epoch. */
  readonly started_at: number;
  /** Spans by outcome; empty without a collector. */
  spans(): Readonly<Record<string, number>>;
}

export class RelayMetrics {
  readonly #metrics = new Metrics();
  readonly #requests = this.#metrics.counter(
    "mesh_relay_requests_total",
    "Requests to daemons, by outcome",
    ["outcome"],
  );
  readonly #seconds = this.#metrics.histogram(
    "mesh_relay_request_seconds",
    "Seconds from a request to the head of its response",
    BUCKETS_SECONDS,
  );
  readonly #refusals = this.#metrics.counter(
    "mesh_relay_refusals_total",
    "Requests that were refused or failed, by error code",
    ["code"],
  );
  readonly #delay = this.#metrics.histogram(
    "mesh_relay_event_loop_delay_seconds",
    "Seconds by which the event loop was late, measured once a second",
    DELAY_BUCKETS_SECONDS,
  );

  constructor({ machines, spans, started_at }: RelayMetricsSources) {
    const metrics = this.#metrics;
    metrics.gauge("mesh_relay_daemons", "Connected daemons", () => machines.size);
    metrics.gauge("mesh_relay_requests", "Requests in flight", () => machines.requests);
    metrics.gauge(
      "mesh_relay_held_bytes",
      "Bytes of unread responses and of unsent requests",
      () => machines.held_bytes,
    );
    metrics.totals({
      name: "mesh_relay_telemetry_spans_total",
      help: "Spans of traces, sent to the collector or dropped",
      label: "outcome",
    }, spans);
    metrics.gauge(
      "process_resident_memory_bytes",
      "Bytes of memory in use",
      () => Deno.memoryUsage().rss,
    );
    metrics.gauge(
      "process_start_time_seconds",
      "When the relay started, in seconds since 1970",
      () => started_at / 1000,
    );
    const versions = { version: VERSION, deno: Deno.version.deno };
    metrics.info("mesh_relay_build_info", "Always 1; the labels name the versions", versions);
  }

  recordRequest(outcome: Outcome, took_ms: number): void {
    this.#requests.inc(outcome);
    this.#seconds.observe(took_ms);
  }

  refused(code: string): void {
    this.#refusals.inc(code);
  }

  delayed(ms: number): void {
    this.#delay.observe(Math.max(0, ms));
  }

  definitions(): Definition[] {
    return this.#metrics.definitions();
  }

  render(): string {
    return this.#metrics.render();
  }
}
