/** The daemon's metrics, and the figures of the last hour. */

import type { Clock } from "kit/core/clock.ts";
import { Metrics } from "kit/http/metrics.ts";
import { Hour } from "./hour.ts";

/** Counts that are read when the metrics are requested. */
export interface CurrentCounts {
  readonly peers: number;
  readonly sockets: number;
  readonly commits: number;
  readonly queue: Readonly<Record<string, number>>;
  readonly jobs: Readonly<Record<string, number>>;
}

const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300];

/** What the human gets waits for a person, so that its times say nothing about delivery. */
const TO_HUMAN = "inbox_item";

export class Meters {
  readonly hour: Hour;
  readonly #metrics = new Metrics();
  readonly #steps = this.#metrics.counter(
    "mesh_delivery_steps_total",
    "Deliveries that reached a state, by kind of message",
    ["kind", "state"],
  );
  readonly #latency = this.#metrics.histogram(
    "mesh_delivery_seconds",
    "Time from a message's acceptance until its bytes are sent",
    LATENCY_BUCKETS_SECONDS,
  );
  #lag_ms = 0;

  constructor(clock: Clock) {
    this.hour = new Hour(clock);
  }

  /** Adds the gauges; they are read whenever the metrics are rendered. */
  addGauges(currentCounts: () => CurrentCounts): void {
    const metrics = this.#metrics;
    metrics.gauge("mesh_peers", "Peers with a record", () => currentCounts().peers);
    metrics.gauge("mesh_sockets", "Live /ws connections", () => currentCounts().sockets);
    metrics.gauge(
      "mesh_queue_depth",
      "Queued messages",
      () => currentCounts().queue["queued"] ?? 0,
    );
    metrics.gauges({
      name: "mesh_messages",
      help: "Stored messages by state, which must add up to all messages accepted",
      label: "state",
    }, () => currentCounts().queue);
    metrics.gauges(
      { name: "mesh_jobs", help: "Stored jobs by state", label: "state" },
      () => currentCounts().jobs,
    );
    metrics.total("mesh_commits_total", "Commits since the start", () => currentCounts().commits);
    metrics.gauge(
      "mesh_event_loop_lag_seconds",
      "Delay of the scheduler's last tick",
      () => this.#lag_ms / 1000,
    );
  }

  /** A delivery reached a state, so many milliseconds after the message was created. */
  stepped(kind: string, state: string, age_ms: number): void {
    this.#steps.inc(kind, state);
    if (state === "sent") this.#latency.observe(age_ms);
    if (kind !== TO_HUMAN) this.hour.stepped(state, age_ms);
  }

  setLag(ms: number): void {
    this.#lag_ms = ms;
  }

  render(): string {
    return this.#metrics.render();
  }
}
