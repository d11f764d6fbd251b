/** The data of a chart. */

/** A line of a chart; null for unknown values. */
export interface Line {
  readonly label: string;
  /** A custom property of the styles, such as `--busy`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly filled?: boolean;
}

export interface ChartData {
  /** Seconds since 1970, in order. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}
