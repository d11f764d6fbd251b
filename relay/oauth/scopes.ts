/** Scopes: reading is always included, sending is optional, and a refresh can only narrow them. */

import { READ, WRITE } from "../mcp/contract.ts";
import { type Scope, SCOPES } from "./contract.ts";

/** The requested scope. By default, reading. Undefined if the requested scope is not supported. */
export function scopeOf(text: string | undefined): Scope | undefined {
  const requested = new Set((text ?? READ).split(" ").filter(Boolean));
  const supported: readonly string[] = SCOPES;
  if (!requested.has(READ) || ![...requested].every((scope) => supported.includes(scope))) {
    return undefined;
  }
  return requested.has(WRITE) ? `${READ} ${WRITE}` : READ;
}

/** The scope after a refresh. Undefined if the request is wider than `scope`, or unsupported. */
export function narrowScope(scope: Scope, scopeParameter: string | undefined): Scope | undefined {
  const requestedScope = scopeParameter === undefined ? scope : scopeOf(scopeParameter);
  return requestedScope === READ || requestedScope === scope ? requestedScope : undefined;
}
