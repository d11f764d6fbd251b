/** Scopes: reading is always in, messaging may be, and a refresh only ever narrows. */

import { READ, WRITE } from "../mcp/contract.ts";
import { type Scope, SCOPES } from "./contract.ts";

/** The scope that is asked for; left out it is reading. Undefined for what cannot be had. */
export function scopeOf(text: string | undefined): Scope | undefined {
  const requested = new Set((text ?? READ).split(" ").filter(Boolean));
  const supported: readonly string[] = SCOPES;
  if (!requested.has(READ) || ![...requested].every((scope) => supported.includes(scope))) {
    return undefined;
  }
  return requested.has(WRITE) ? `${READ} ${WRITE}` : READ;
}

/** What a refresh leaves of a scope; undefined when it asks for more, or for what is none. */
export function narrowScope(scope: Scope, scopeParameter: string | undefined): Scope | undefined {
  const requestedScope = scopeParameter === undefined ? scope : scopeOf(scopeParameter);
  return requestedScope === READ || requestedScope === scope ? requestedScope : undefined;
}
