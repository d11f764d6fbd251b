/** The test for a subagent. SQL statements use `SUBAGENT` of the peers' store. */

import type { StoredPeer } from "../store.ts";

/**
 * True if another peer started it, it takes no messages, and it is short-lived. A program may also
 * register such a peer by itself, with its provenance.
 */
export function isSubagent(
  { ephemeral, addressable, parent_runtime_id }: Pick<
    StoredPeer,
    "ephemeral" | "addressable" | "parent_runtime_id"
  >,
): boolean {
  return ephemeral && !addressable && parent_runtime_id !== null;
}
