/** The daemon's numbers, for Prometheus. Its library is loaded when somebody reads them. */

import { Histogram } from "./histogram.ts";
import type { Instruments, Levels } from "./instruments.ts";

export class Meters {
  readonly #levels: () => Levels;
  readonly #counts = new Map<string, number>();
  readonly #latency = new Histogram(
    "mesh_delivery_seconds",
    "From the moment a message was taken in until its bytes went out",
  );
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
    this.#latency.observe(ms);
  }

  lagged(ms: number): void {
    this.#lag_ms = ms;
  }

  async render(): Promise<string> {
    const { registry, steps, lag } = await (this.#instruments ??= open(this.#levels));
    for (const [key, count] of this.#counts) {
      const [kind = "", state = ""] = key.split(" ");
      steps.inc({ kind, state }, count);
    }
    this.#counts.clear();
    lag.set(this.#lag_ms / 1000);
    return `${await registry.metrics()}\n${this.#latency.render()}`;
  }
}

async function open(levels: () => Levels): Promise<Instruments> {
  const { openInstruments } = await import("./instruments.ts");
  return openInstruments(levels);
}
