/** Counters, gauges and histograms, and their rendering in Prometheus' text format 0.0.4. */

export const METRICS_TYPE = "text/plain; version=0.0.4";

/** A sample of a metric: the suffix of its name, its labels and its value. */
type Sample = readonly [suffix: string, labels: readonly Label[], value: number];
type Label = readonly [name: string, value: string];

/** A metric without its values. */
export interface Definition {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
}

/** A metric whose values are counted elsewhere, one for each value of its label. */
interface LabelledDefinition extends Pick<Definition, "name" | "help"> {
  readonly label: string;
}

interface Family extends Definition {
  readonly read: () => Iterable<Sample>;
}

/** The metrics of a server, in the order of definition. Names and help texts are not escaped. */
export class Metrics {
  readonly #families: Family[] = [];

  /** Defines a gauge. Its value is read when the metrics are rendered. */
  gauge(name: string, help: string, read: () => number): void {
    this.#families.push({ name, help, type: "gauge", labels: [], read: () => [["", [], read()]] });
  }

  /** Defines a gauge with one label. `read` returns a value for each value of the label. */
  gauges(labelled: LabelledDefinition, read: () => Readonly<Record<string, number>>): void {
    this.#addLabelled("gauge", labelled, read);
  }

  /** Defines a gauge with several labels. `read` returns the values of the labels, and the level. */
  gaugeRows(
    { name, help, labels }: Pick<Definition, "name" | "help" | "labels">,
    read: () => readonly { readonly values: readonly string[]; readonly level: number }[],
  ): void {
    const samples = () =>
      read().map(({ values, level }): Sample => [
        "",
        labels.map((label, at): Label => [label, values[at] ?? ""]),
        level,
      ]);
    this.#families.push({ name, help, type: "gauge", labels, read: samples });
  }

  /** Defines a gauge that is always 1, and whose labels describe the process. */
  info(name: string, help: string, described: Readonly<Record<string, string>>): void {
    const labels = Object.keys(described);
    const samples: Sample[] = [["", Object.entries(described), 1]];
    this.#families.push({ name, help, type: "gauge", labels, read: () => samples });
  }

  /** Defines a counter whose total is counted elsewhere. */
  total(name: string, help: string, read: () => number): void {
    this.#families.push({
      name,
      help,
      type: "counter",
      labels: [],
      read: () => [["", [], read()]],
    });
  }

  /** Defines a counter with one label whose totals are counted elsewhere. */
  totals(labelled: LabelledDefinition, read: () => Readonly<Record<string, number>>): void {
    this.#addLabelled("counter", labelled, read);
  }

  counter(name: string, help: string, labels: readonly string[]): Counter {
    const counter = new Counter(labels);
    this.#families.push({ name, help, type: "counter", labels, read: () => counter.samples() });
    return counter;
  }

  /** `bounds` are the upper limits of the buckets, in seconds and in ascending order. */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    const read = () => histogram.samples();
    this.#families.push({ name, help, type: "histogram", labels: [], read });
    return histogram;
  }

  definitions(): Definition[] {
    return this.#families.map(({ name, help, type, labels }) => ({ name, help, type, labels }));
  }

  render(): string {
    return this.#families.map(renderFamily).join("\n");
  }

  #addLabelled(
    type: "counter" | "gauge",
    { name, help, label }: LabelledDefinition,
    read: () => Readonly<Record<string, number>>,
  ): void {
    const samples = () =>
      Object.entries(read()).map(([value, level]): Sample => ["", [[label, value]], level]);
    this.#families.push({ name, help, type, labels: [label], read: samples });
  }
}

/** Counts separately for each combination of label values. */
class Counter {
  readonly #labels: readonly string[];
  readonly #counts = new Map<string, { readonly labels: readonly Label[]; count: number }>();

  constructor(labels: readonly string[]) {
    this.#labels = labels;
  }

  inc(...values: readonly string[]): void {
    this.add(1, ...values);
  }

  /** `values` are in the order of the labels. They come from closed sets, so the map is bounded. */
  add(count: number, ...values: readonly string[]): void {
    const key = values.join("\n");
    const known = this.#counts.get(key);
    if (known) known.count += count;
    else {
      const labels = this.#labels.map((label, at): Label => [label, values[at] ?? ""]);
      this.#counts.set(key, { labels, count });
    }
  }

  *samples(): Generator<Sample> {
    for (const { labels, count } of this.#counts.values()) yield ["", labels, count];
  }
}

/** Counts durations in buckets. */
class Histogram {
  readonly #bounds: readonly number[];
  /** The durations of each bucket, without those of smaller buckets. The last has no limit. */
  readonly #counts: number[];
  #sum_ms = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  observe(ms: number): void {
    const found = this.#bounds.findIndex((bound) => ms / 1000 <= bound);
    const bucket = found < 0 ? this.#bounds.length : found;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum_ms += ms;
  }

  /** The buckets are cumulative here, as Prometheus expects. */
  *samples(): Generator<Sample> {
    let count = 0;
    for (const [at, own] of this.#counts.entries()) {
      count += own;
      yield ["_bucket", [["le", String(this.#bounds[at] ?? "+Inf")]], count];
    }
    yield ["_sum", [], this.#sum_ms / 1000];
    yield ["_count", [], count];
  }
}

function renderFamily({ name, help, type, read }: Family): string {
  const samples = Array.from(read(), ([suffix, labels, value]) => {
    const inside = labels.map(([label, text]) => `${label}="${escapeLabel(text)}"`).join(",");
    return `${name}${suffix}${inside && `{${inside}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join("")}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
