/** The reason why a peer cannot be interrupted now, by its record. The daemon looks again. */

import { isSubagent } from "protocol/derived/peers.ts";
import { waitOf } from "protocol/derived/waits.ts";
import type { Peer } from "protocol/wire.ts";

/** A sentence; undefined for a peer that works and can be asked to stop. */
export function whyNotInterrupted(peer: Peer): string | undefined {
  const { name, status, turn_state, role } = peer;
  if (role === "human") return `${name} is no agent`;
  if (isSubagent(peer)) return `${name} is a subagent: interrupt its parent`;
  if (status !== "online" && status !== "busy") return `${name} is offline`;
  const wait = waitOf(peer);
  if (wait && wait.kind !== "limit") {
    return `${name} waits for an answer: answer it, or decline it`;
  }
  return turn_state === "working" ? undefined : `${name} is not at work`;
}
