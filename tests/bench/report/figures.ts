/** The figures of the bench: samples of ours and of a yardstick, taken in turn, and a budget. */

/** Size of a run: a quick run shows that everything works, a full run is for figures. */
export interface Effort {
  /** Rounds; each measures ours and every yardstick in turn. */
  readonly rounds: number;
  /** Duration of a flood. */
  readonly seconds: number;
  /** Timed messages in a round. */
  readonly count: number;
  readonly idle_seconds: number;
  readonly idle_peers: number;
  readonly queued: number;
  /** Runs of a program in a round. */
  readonly runs: number;
}

/** A product or program measured for comparison, in the same rounds as ours. */
export interface Yardstick {
  readonly name: string;
  readonly samples: readonly number[];
}

export interface Budget {
  /** Subject of the limits: our value, or its ratio to the yardstick's. */
  readonly of: "ratio" | "value";
  readonly max?: number;
  readonly min?: number;
}

export interface Figure {
  /** The same in every run, so that runs can be compared. */
  readonly what: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly yardstick?: Yardstick;
  readonly budget?: Budget;
  readonly note?: string;
  /** Other figures of the same thing, such as the processor time of a duration. */
  readonly details?: readonly Figure[];
}

/** A part of the bench. `remark` prints what was left out, and why. */
export type Part = (effort: Effort, remark: (text: string) => void) => Promise<Figure[]>;

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = NaN, high = NaN] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]];
  return (low + high) / 2;
}

export function summaryOf(samples: readonly number[]): Summary {
  return { median: medianOf(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

/**
 * The median of the rounds' ratios to the yardstick. Both were measured within seconds, so a
 * machine that becomes slower changes the ratio less than the values.
 */
export function ratioOf({ ours, yardstick }: Figure): number | undefined {
  if (!yardstick) return undefined;
  const { samples } = yardstick;
  if (samples.length !== ours.length) return medianOf(ours) / medianOf(samples);
  return medianOf(ours.map((value, round) => value / (samples[round] ?? NaN)));
}

/** Undefined without a budget. */
export function isWithinBudget(figure: Figure): boolean | undefined {
  const { budget } = figure;
  if (!budget) return undefined;
  const value = budget.of === "ratio" ? ratioOf(figure) ?? NaN : medianOf(figure.ours);
  return value <= (budget.max ?? Infinity) && value >= (budget.min ?? -Infinity);
}

/**
 * Runs each of these in turn, `rounds` times, and once before that, which is not counted: code is
 * then compiled, and files are cached.
 */
export async function interleave<T extends Record<string, unknown>>(
  rounds: number,
  runs: { readonly [name in keyof T]: () => Promise<T[name]> },
): Promise<{ readonly [name in keyof T]: readonly T[name][] }> {
  const results = {} as { [name in keyof T]: T[name][] };
  for (const name in runs) results[name] = [];
  for (let round = 0; round <= rounds; round++) {
    for (const name in runs) {
      const result = await runs[name]();
      if (round > 0) results[name].push(result);
    }
  }
  return results;
}
