/** Faults that are put into the core on purpose, each of which the tests must find. */

/** A fault's description, a text that occurs once in the file, and its replacement. */
export type Fault = readonly [fault: string, find: string, replace: string];

/** The faults of one file, and the tests that must find them. */
export interface Target {
  readonly file: string;
  /** The narrowest come first; each is run alone until one finds the fault. */
  readonly tests: readonly string[];
  readonly faults: readonly Fault[];
}

/** The outcome of the faults of one file. */
export interface TargetResult {
  /** When and of which commit the tests were run. */
  readonly date: string;
  readonly commit: string;
  /** By fault: the test file that found it; null if none did. */
  readonly foundBy: ReadonlyMap<string, string | null>;
}

export type Results = ReadonlyMap<string, TargetResult>;
