/** Finds peers that are subagents of another peer, for the page and the commands. */

import type { Peer } from "protocol/wire.ts";

/**
 * A subagent is short-lived, has a parent, and takes no messages. A program may also register such
 * a peer by itself.
 */
export function isSubagent(
  { ephemeral, addressable, parent_runtime_id }: Pick<
    Peer,
    "ephemeral" | "addressable" | "parent_runtime_id"
  >,
): boolean {
  return ephemeral && !addressable && parent_runtime_id !== undefined;
}
