/** Times in buckets, as Prometheus reads them: counted without its library, which loads late. */

const BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300];

export class Histogram {
  readonly #name: string;
  readonly #help: string;
  /** How many fell into each bucket and not into the one before; the last is endless. */
  readonly #counts: number[] = [...BUCKETS_SECONDS, Infinity].map(() => 0);
  #sum_ms = 0;

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  observe(ms: number): void {
    const found = BUCKETS_SECONDS.findIndex((most) => ms / 1000 <= most);
    const bucket = found < 0 ? BUCKETS_SECONDS.length : found;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum_ms += ms;
  }

  /** In Prometheus' text format: each bucket counts those before it as well. */
  render(): string {
    const name = this.#name;
    let count = 0;
    const buckets = this.#counts.map((own, at) =>
      `${name}_bucket{le="${BUCKETS_SECONDS[at] ?? "+Inf"}"} ${count += own}\n`
    );
    return `# HELP ${name} ${this.#help}\n# TYPE ${name} histogram\n${buckets.join("")}` +
      `${name}_sum ${this.#sum_ms / 1000}\n${name}_count ${count}\n`;
  }
}
