/** The relay's numbers, for Prometheus. Its library is loaded when somebody reads them. */

import type { Instruments, Levels } from "./instruments.ts";
import type { Outcome } from "./machines.ts";

/** Times that are kept until somebody reads; the oldest half of them goes when they are more. */
const TIMES_MAX = 8192;

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
  const { openInstruments } = await import("./instruments.ts");
  return openInstruments(levels);
}
