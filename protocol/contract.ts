/** Contracts whose problems are in the table: a code that is missing there does not compile. */

import * as z from "zod";
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

/** The routes of the relay itself, which checks its callers; no tunnel leads to them. */
export const atRelay = { access: "public", tunnel: "never" } as const;

export const nullableString = z.string().nullable();
/** The parameters of a route about one record. */
export const byId = z.object({ id: z.string() });
