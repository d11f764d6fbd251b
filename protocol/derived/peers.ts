/** Subagents, the order of peers, why they are offline, and the jobs that a peer executes. */

import { waitOf } from "protocol/derived/waits.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { JobInList, Peer } from "protocol/wire.ts";

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

/** Peers that need a person first, then peers at work, then the others; offline peers last. */
export function byNeed(a: Peer, b: Peer): number {
  return rank(a) - rank(b) || a.name.localeCompare(b.name);
}

function rank(peer: Peer): number {
  const { status, turn_state } = peer;
  if (status === "offline") return 3;
  const wait = waitOf(peer);
  if (wait && wait.kind !== "limit") return 0;
  return status === "busy" || turn_state === "working" ? 1 : 2;
}

/** True if a peer waits for a person. `askers` have an open ask to the human. */
export function needsPerson(peer: Peer, askers: ReadonlySet<string | null>): boolean {
  if (peer.status === "offline") return false;
  return waitOf(peer) !== undefined || askers.has(peer.peer_id);
}

/** Why a peer is offline; undefined for a live peer, and if no reason is recorded. */
export function offlineReason({ offline_reason: code }: Pick<Peer, "offline_reason">) {
  if (!code) return undefined;
  return code === "socket_closed" ? "its connection was closed" : sentenceOf(code);
}

/** The states of a job that has an executor. */
export const EXECUTING = [
  "dispatching",
  "delivered",
  "running",
  "awaiting_input",
  "blocked",
] as const;

/** For a job in one of the states above. */
export function isExecutedBy(peer_id: string, { runner, assigned_peer_id }: JobInList): boolean {
  return (runner?.attempts.at(-1)?.executor_peer_id ?? assigned_peer_id) === peer_id;
}
