/** The daemon's numbers, for Prometheus. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** What is read at the moment of asking. */
export interface Levels {
  readonly peers: number;
  readonly sockets: number;
  readonly commits: number;
  readonly queue: Readonly<Record<string, number>>;
}

const BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300];

export class Meters {
  readonly #registry = new Registry();
  readonly #steps = new Counter({
    name: "mesh_delivery_steps_total",
    help: "Deliveries that reached a state, by kind of message",
    labelNames: ["kind", "state"],
    registers: [this.#registry],
  });
  readonly #latency = new Histogram({
    name: "mesh_delivery_seconds",
    help: "From the moment a message was taken in until its bytes went out",
    buckets: BUCKETS_SECONDS,
    registers: [this.#registry],
  });
  readonly #lag = new Gauge({
    name: "mesh_event_loop_lag_seconds",
    help: "How late the heart's last beat was",
    registers: [this.#registry],
  });
  readonly #counts = new Map<string, number>();

  constructor(levels: () => Levels) {
    this.#gauge("mesh_peers", "Peers that have a record", () => levels().peers);
    this.#gauge("mesh_sockets", "Live /ws connections", () => levels().sockets);
    this.#gauge("mesh_commits_total", "Commits since the start", () => levels().commits);
    new Gauge({
      name: "mesh_messages",
      help: "Messages kept, by state: the conservation count",
      labelNames: ["state"],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [state, count] of Object.entries(levels().queue)) this.set({ state }, count);
      },
    });
  }

  stepped(kind: string, state: string): void {
    const key = `${kind} ${state}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  took(ms: number): void {
    this.#latency.observe(ms / 1000);
  }

  lagged(ms: number): void {
    this.#lag.set(ms / 1000);
  }

  async render(): Promise<string> {
    for (const [key, count] of this.#counts) {
      const [kind = "", state = ""] = key.split(" ");
      this.#steps.inc({ kind, state }, count);
    }
    this.#counts.clear();
    return await this.#registry.metrics();
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }
}
