/** The daemon's numbers, for Prometheus. Its library is loaded when somebody reads them. */

import type { Counter, Gauge, Histogram, Registry } from "prom-client";

/** What is read at the moment of asking. */
export interface Levels {
  readonly peers: number;
  readonly sockets: number;
  readonly commits: number;
  readonly queue: Readonly<Record<string, number>>;
  readonly jobs: Readonly<Record<string, number>>;
}

const BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300];
/** Times that are kept until somebody reads; then they go into the histogram in any case. */
const TIMES_MAX = 8192;

interface Instruments {
  readonly registry: Registry;
  readonly steps: Counter<"kind" | "state">;
  readonly latency: Histogram;
  readonly lag: Gauge;
}

export class Meters {
  readonly #levels: () => Levels;
  readonly #counts = new Map<string, number>();
  #times: number[] = [];
  #lag_ms = 0;
  #instruments: Promise<Instruments> | undefined;

  constructor(levels: () => Levels) {
    this.#levels = levels;
  }

  stepped(kind: string, state: string): void {
    const key = `${kind} ${state}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  took(ms: number): void {
    this.#times.push(ms);
    if (this.#times.length < TIMES_MAX) return;
    const times = this.#times;
    this.#times = [];
    void this.#open().then((instruments) => observe(instruments, times));
  }

  lagged(ms: number): void {
    this.#lag_ms = ms;
  }

  async render(): Promise<string> {
    const instruments = await this.#open();
    const { registry, steps, lag } = instruments;
    for (const [key, count] of this.#counts) {
      const [kind = "", state = ""] = key.split(" ");
      steps.inc({ kind, state }, count);
    }
    this.#counts.clear();
    observe(instruments, this.#times.splice(0));
    lag.set(this.#lag_ms / 1000);
    return await registry.metrics();
  }

  #open(): Promise<Instruments> {
    return this.#instruments ??= openInstruments(this.#levels);
  }
}

function observe({ latency }: Instruments, times: readonly number[]): void {
  for (const ms of times) latency.observe(ms / 1000);
}

async function openInstruments(levels: () => Levels): Promise<Instruments> {
  const { Counter, Gauge, Histogram, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge("mesh_peers", "Peers that have a record", () => levels().peers);
  gauge("mesh_sockets", "Live /ws connections", () => levels().sockets);
  gauge("mesh_queue_depth", "Messages that wait", () => levels().queue["queued"] ?? 0);
  const byState = (name: string, help: string, read: () => Readonly<Record<string, number>>) =>
    new Gauge({
      name,
      help,
      labelNames: ["state"],
      registers,
      collect() {
        this.reset();
        for (const [state, count] of Object.entries(read())) this.set({ state }, count);
      },
    });
  byState("mesh_messages", "Messages kept, by state: the conservation count", () => levels().queue);
  byState("mesh_jobs", "Jobs kept, by state", () => levels().jobs);
  let told = 0;
  new Counter({
    name: "mesh_commits_total",
    help: "Commits since the start",
    registers,
    collect() {
      this.inc(levels().commits - told);
      told = levels().commits;
    },
  });
  return {
    registry,
    steps: new Counter({
      name: "mesh_delivery_steps_total",
      help: "Deliveries that reached a state, by kind of message",
      labelNames: ["kind", "state"],
      registers,
    }),
    latency: new Histogram({
      name: "mesh_delivery_seconds",
      help: "From the moment a message was taken in until its bytes went out",
      buckets: BUCKETS_SECONDS,
      registers,
    }),
    lag: new Gauge({
      name: "mesh_event_loop_lag_seconds",
      help: "How late the heart's last beat was",
      registers,
    }),
  };
}
