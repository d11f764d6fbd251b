/** Faults that are put into the core on purpose, each of which the tests must find. */

/** The faults of one file, and the tests that must find them. */
export interface Target {
  readonly file: string;
  readonly tests: readonly string[];
  /** What is wrong then, a text that occurs once in the file, and what replaces it. */
  readonly faults: readonly (readonly [fault: string, find: string, replace: string])[];
}
