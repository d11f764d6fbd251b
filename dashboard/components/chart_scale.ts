/** The data of a chart, and its scale: where values are drawn, and where lines end. */

/** A value of a line; null if it is unknown. */
export type Value = number | null;

/** A line of a chart. */
export interface Line {
  readonly label: string;
  /** A custom property of the styles, such as `--busy`. */
  readonly colour: string;
  readonly values: readonly Value[];
  readonly filled?: boolean;
}

export interface ChartData {
  /** Seconds since 1970, a minute apart. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}

export interface Scale {
  /** From 1, at 0, to 0, a little above the largest value. */
  readonly toY: (value: number) => number;
  /** The values that have a horizontal line and a label. */
  readonly ticks: readonly number[];
}

const MARGIN = 1.1;
const TICKS = 4;
const NICE = [1, 2, 5, 10];
const DECADES_SHOWN = 3;

/** `wide`: values that differ by orders of magnitude, and 0, are all seen. */
export function scaleOf(values: readonly Value[], wide: boolean): Scale {
  const max = Math.max(1, ...values.map((value) => value ?? 0)) * MARGIN;
  const grown = wide ? Math.asinh : (value: number) => value;
  return {
    toY: (value) => 1 - grown(value) / grown(max),
    ticks: wide ? decadesTo(max) : stepsTo(max),
  };
}

/** 0, and the highest powers of ten. */
function decadesTo(max: number): number[] {
  const highest = Math.floor(Math.log10(max));
  const powers = Array.from({ length: highest + 1 }, (_, power) => 10 ** power);
  return [0, ...powers.slice(-DECADES_SHOWN)];
}

/** Multiples of 1, 2 or 5 times a power of ten; whole numbers only. */
function stepsTo(max: number): number[] {
  const power = 10 ** Math.floor(Math.log10(max / TICKS));
  const step = Math.max(1, power * (NICE.find((nice) => nice * power >= max / TICKS) ?? 1));
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step);
}

/** A stretch of known values, as places: the index in the line, and its height. */
export type Run = readonly (readonly [at: number, y: number])[];

/** The stretches of a line between its gaps. */
export function runsOf(values: readonly Value[], toY: Scale["toY"]): Run[] {
  const runs: [number, number][][] = [];
  values.forEach((value, at) => {
    if (value === null) return;
    if ((values[at - 1] ?? null) === null) runs.push([]);
    runs.at(-1)?.push([at, toY(value)]);
  });
  return runs;
}
