/** Scopes: reading is always included, sending is optional, and a grant can only be narrowed. */

import { READ, WRITE } from "protocol/relay/mcp.ts";
import type { Scope } from "protocol/relay/oauth.ts";

const ALL = `${READ} ${WRITE}` as const;

/**
 * The requested scope. By default, reading. Leaves out scopes that the relay does not know, which
 * some apps add, such as `offline_access` (RFC 6749 3.3). Undefined without `agents:read`.
 */
export function scopeOf(text: string | undefined): Scope | undefined {
  const requested = new Set((text ?? READ).split(" "));
  if (!requested.has(READ)) return undefined;
  return requested.has(WRITE) ? ALL : READ;
}

const ACCESS: ReadonlyMap<string, Scope> = new Map([["read", READ], ["write", ALL]]);

/**
 * The scope that a person allows on the consent form, which is never more than the app requested.
 * By default, all of it. Undefined for an unknown choice.
 */
export function allowedScope(requested: Scope, access: string | undefined): Scope | undefined {
  if (access === undefined) return requested;
  const chosen = ACCESS.get(access);
  return chosen === ALL ? requested : chosen;
}

/** The scope after a refresh. Undefined if the request is wider than `scope`, or lacks reading. */
export function narrowScope(scope: Scope, scopeParameter: string | undefined): Scope | undefined {
  const requestedScope = scopeParameter === undefined ? scope : scopeOf(scopeParameter);
  return requestedScope === READ || requestedScope === scope ? requestedScope : undefined;
}
