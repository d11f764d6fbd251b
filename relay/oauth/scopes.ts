/** Scopes: reading is always in, messaging may be, and a refresh only ever narrows. */

import { READ, WRITE } from "../mcp/contract.ts";
import { type Scope, SCOPES } from "./contract.ts";

/** The scope that is asked for; left out it is reading. Undefined for what cannot be had. */
export function scopeOf(text: string | undefined): Scope | undefined {
  const words = new Set((text ?? READ).split(" ").filter(Boolean));
  const known: readonly string[] = SCOPES;
  if (!words.has(READ) || ![...words].every((word) => known.includes(word))) return undefined;
  return words.has(WRITE) ? `${READ} ${WRITE}` : READ;
}

/** What a refresh leaves of a scope; undefined when it asks for more, or for what is none. */
export function narrowed(scope: Scope, wanted: string | undefined): Scope | undefined {
  const asked = wanted === undefined ? scope : scopeOf(wanted);
  return asked === READ || asked === scope ? asked : undefined;
}
