/** What the daemon counts with, and the library for it: loaded when somebody reads its numbers. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** What is read at the moment of asking. */
export interface Levels {
  readonly peers: number;
  readonly sockets: number;
  readonly commits: number;
  readonly queue: Readonly<Record<string, number>>;
  readonly jobs: Readonly<Record<string, number>>;
}

const BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300];

export interface Instruments {
  readonly registry: Registry;
  readonly steps: Counter<"kind" | "state">;
  readonly latency: Histogram;
  readonly lag: Gauge;
}

export function openInstruments(levels: () => Levels): Instruments {
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
