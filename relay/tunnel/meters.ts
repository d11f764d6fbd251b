/** The relay's numbers, for Prometheus. Its library is loaded when somebody reads them. */

import type { Counter, Histogram, Registry } from "prom-client";
import type { Outcome } from "./machines.ts";

/** What is read at the moment of asking. */
export interface Levels {
  readonly daemons: number;
  readonly requests: number;
  readonly held_bytes: number;
}

const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60];
/** Times that are kept until somebody reads; the oldest half of them goes when they are more. */
const TIMES_MAX = 8192;

interface Instruments {
  readonly registry: Registry;
  readonly requests: Counter<"outcome">;
  readonly seconds: Histogram;
}

export class Meters {
  readonly #levels: () => Levels;
  readonly #counts = new Map<Outcome, number>();
  #times: number[] = [];
  #instruments: Promise<Instruments> | undefined;

  constructor(levels: () => Levels) {
    this.#levels = levels;
  }

  asked(outcome: Outcome, took_ms: number): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
    this.#times.push(took_ms);
    if (this.#times.length >= TIMES_MAX) this.#times = this.#times.slice(TIMES_MAX / 2);
  }

  async render(): Promise<string> {
    const { registry, requests, seconds } = await (this.#instruments ??= open(this.#levels));
    for (const [outcome, count] of this.#counts) requests.inc({ outcome }, count);
    this.#counts.clear();
    for (const ms of this.#times.splice(0)) seconds.observe(ms / 1000);
    return await registry.metrics();
  }
}

async function open(levels: () => Levels): Promise<Instruments> {
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
  gauge("mesh_relay_daemons", "Daemons that are connected", () => levels().daemons);
  gauge("mesh_relay_requests", "Requests that are under way", () => levels().requests);
  gauge("mesh_relay_held_bytes", "Bytes of answers not read yet", () => levels().held_bytes);
  return {
    registry,
    requests: new Counter({
      name: "mesh_relay_requests_total",
      help: "Requests to daemons, by how they ended",
      labelNames: ["outcome"],
      registers,
    }),
    seconds: new Histogram({
      name: "mesh_relay_request_seconds",
      help: "From a request to the head of its answer",
      buckets: BUCKETS_SECONDS,
      registers,
    }),
  };
}
