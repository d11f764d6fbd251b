/** A simulation: steps that a seed and their numbers determine, and that may fail. */

export interface SimulationOptions {
  readonly seed: number;
  /** Gets a line for each thing that can be seen from outside. */
  readonly trace?: ((line: string) => void) | undefined;
}

export interface Simulation extends AsyncDisposable {
  /** Takes one step, and checks every invariant. Any step may be left out. */
  step(number: number): Promise<void>;
  /** Checks after the last step. */
  finish?(): Promise<void>;
}

/** The seed of the chances of one step. */
export function seedOfStep(seed: number, number: number): number {
  return Math.imul(seed, 0x9e3779b1) + Math.imul(number, 0x85ebca6b);
}

/** The invariant that a failing verb breaks. */
export const VERB = "the verb itself";

/** A failed step, with the invariant or the verb that failed. */
export class StepError extends Error {
  readonly number: number;
  readonly invariant: string;
  /** The number and the name of each verb up to this one. */
  readonly verbNames: readonly string[];

  constructor(failed: Pick<StepError, "number" | "invariant" | "verbNames">, cause: unknown) {
    super(`Step ${failed.number} broke: ${failed.invariant}`, { cause });
    this.number = failed.number;
    this.invariant = failed.invariant;
    this.verbNames = failed.verbNames;
  }
}
