/** The variables that decide how a process reaches servers outside. */

import { AUTHORITY_VARIABLES } from "./authorities.ts";
import { PROXY_VARIABLES } from "./proxies.ts";

export const OUTGOING_VARIABLES: readonly string[] = [...PROXY_VARIABLES, ...AUTHORITY_VARIABLES];

/** Those that two environments set differently; their values may hold passwords. */
export function differingVariables(
  one: (name: string) => string | undefined,
  other: (name: string) => string | undefined,
): string[] {
  return OUTGOING_VARIABLES.filter((name) => (one(name) || "") !== (other(name) || ""));
}
