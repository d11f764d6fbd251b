/** The relay's metrics, rendered for Prometheus. */

import { Metrics } from "kit/http/metrics.ts";
import type { MachineRegistry, Outcome } from "./machine_registry.ts";

const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60];

export class RelayMetrics {
  readonly #metrics = new Metrics();
  readonly #requests = this.#metrics.counter(
    "mesh_relay_requests_total",
    "Requests to daemons, by outcome",
    ["outcome"],
  );
  readonly #seconds = this.#metrics.histogram(
    "mesh_relay_request_seconds",
    "From a request to the head of its response",
    BUCKETS_SECONDS,
  );

  constructor(machines: Pick<MachineRegistry, "size" | "requests" | "held_bytes">) {
    const metrics = this.#metrics;
    metrics.gauge("mesh_relay_daemons", "Connected daemons", () => machines.size);
    metrics.gauge("mesh_relay_requests", "Requests in flight", () => machines.requests);
    metrics.gauge(
      "mesh_relay_held_bytes",
      "Bytes of unread responses and of unsent requests",
      () => machines.held_bytes,
    );
  }

  recordRequest(outcome: Outcome, took_ms: number): void {
    this.#requests.inc(outcome);
    this.#seconds.observe(took_ms);
  }

  render(): string {
    return this.#metrics.render();
  }
}
