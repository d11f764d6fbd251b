/** Chains from outside, and phrases about what began a chain. Loads no schema. */

import type { Chain, OriginKind } from "protocol/origins/record.ts";

/** The origins outside of this machine and its user. */
const OUTSIDE: readonly (OriginKind | null)[] = ["app", "guest", "machine"];

/** True for a chain that began outside of this machine and its user. */
export function isOutside(chain: Chain | null | undefined): chain is Chain {
  return chain !== null && chain !== undefined && OUTSIDE.includes(chain.origin);
}

/** The origin in a frame, such as `guest` or `machine:guest`. */
export function originMark({ origin, reported }: Chain): string {
  return reported === null ? origin : `${origin}:${reported}`;
}

/** A phrase about what began a chain, such as `guest mcp-share-0123 (ask-3f9c04d1a2b7)`. */
export function originText({ origin, name, root, surface, machine, reported }: Chain): string {
  const where = surface === null ? "" : ` at ${surface}`;
  const report = reported === null ? "" : `, which says: ${reported}`;
  const from = machine === null ? "" : ` on machine ${machine}${report}`;
  return `${origin}${name === null ? "" : ` ${name}`}${where}${from} (${root})`;
}
