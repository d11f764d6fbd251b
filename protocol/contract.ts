/** Contracts whose problems are in the table: a code that is missing there does not compile. */

import type { Contract } from "kit/http/contract.ts";
import type { ProblemCode } from "protocol/problems.ts";

export interface MeshContract extends Contract {
  /** The problems of this route beside those of any route (guard, request format, storage). */
  readonly fails?: readonly ProblemCode[];
}

/** Returns the contract unchanged, with its exact type. */
export function contract<const C extends MeshContract>(spec: C): C {
  return spec;
}
