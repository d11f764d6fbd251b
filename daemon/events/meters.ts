/** The daemon's numbers, for Prometheus. Its library is loaded when somebody reads them. */

import type { Instruments, Levels } from "./instruments.ts";

/** Times that are kept until somebody reads; then they go into the histogram in any case. */
const TIMES_MAX = 8192;

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
    return this.#instruments ??= open(this.#levels);
  }
}

function observe({ latency }: Instruments, times: readonly number[]): void {
  for (const ms of times) latency.observe(ms / 1000);
}

async function open(levels: () => Levels): Promise<Instruments> {
  const { openInstruments } = await import("./instruments.ts");
  return openInstruments(levels);
}
