/** The figures of the scale proof: what an operation costs at each size, and single figures. */

/** An operation at one size. */
export interface Point {
  readonly n: number;
  /** The median of the rounds. */
  readonly ms: number;
  /** The median of the rounds' longest delivery meanwhile, from its request to its frame. */
  readonly block_ms?: number;
}

/** An operation at growing sizes. */
export interface Growth {
  /** The same in every run. */
  readonly what: string;
  /** Unit of `n`. */
  readonly of: string;
  readonly points: Point[];
}

/** A figure of one size. */
export interface Single {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly note?: string;
}

export interface PartMeasurements {
  readonly growth: readonly Growth[];
  readonly singles: readonly Single[];
}

/** Size of a run. A quick run shows that everything works. */
export interface Scale {
  /** The largest size of each part; the sizes before it are its halves. */
  readonly messages: number;
  readonly open_asks: number;
  readonly peers: number;
  readonly schedules: number;
  readonly daemons: number;
  readonly grants: number;
  /** Machines on one NATS server. */
  readonly machines: number;
  readonly sizes: number;
  readonly rounds: number;
  /** Time for which a steady state is measured. */
  readonly seconds: number;
}

export type ScalePart = (scale: Scale, remark: (text: string) => void) => Promise<PartMeasurements>;

/** `max`, and its halves before it. */
export function sizesUpTo(max: number, { sizes }: Pick<Scale, "sizes">): number[] {
  return Array.from({ length: sizes }, (_, at) => Math.round(max / 2 ** (sizes - 1 - at)));
}

/** Collects the points of many operations, in the order of their first appearance. */
export class Growths {
  readonly #of: string;
  readonly #growths = new Map<string, Growth>();

  constructor(of: string) {
    this.#of = of;
  }

  add(what: string, point: Point): void {
    this.#growths.getOrInsertComputed(what, () => ({ what, of: this.#of, points: [] }))
      .points.push(point);
  }

  all(): Growth[] {
    return [...this.#growths.values()];
  }
}

/**
 * By which power of `n` the time grew from the first size to the last: 0 for none, 1 if it doubled
 * with `n`.
 */
export function exponentOf({ points }: Growth): number | undefined {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || first.n === last.n || first.ms <= 0 || last.ms <= 0) return undefined;
  return Math.log(last.ms / first.ms) / Math.log(last.n / first.n);
}
