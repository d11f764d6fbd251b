/** Which peers are subagents that another peer started; the page and the commands ask. */

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
