/** The nodes of the map, and their activity at a moment. */

import type { LogEvent, Message, Peer } from "../../state/records.ts";
import type { Member } from "./layout.ts";
import { senderOf } from "./traffic.ts";

/** A node of the map. A sender that is no peer has no record. */
export interface Node extends Member {
  readonly peer: Peer | undefined;
}

/** The circle of the senders that are no peers. */
const NO_PEER = "without a peer";

/**
 * The peers that are not retired, and those that sent or received something. Peers that are
 * offline and had no traffic are left out.
 */
export function nodesOf(peers: readonly Peer[], messages: readonly Message[]): Node[] {
  const known = new Map(peers.map((peer) => [peer.peer_id, peer]));
  const nodes = new Map<string, Node>();
  const add = (id: string, name: string) => {
    const peer = known.get(id);
    const circle = peer?.circle ?? NO_PEER;
    nodes.set(id, { id, name: peer?.name ?? name, circle, peer });
  };
  for (const { peer_id, name, status } of peers) {
    if (status !== "retired" && status !== "offline") add(peer_id, name);
  }
  for (const message of messages) {
    add(senderOf(message), message.from_peer_name);
    add(message.to_peer_id, message.to_peer_name);
  }
  return [...nodes.values()];
}

/** The activity now: `awaiting_input`, `busy`, `online`, `offline`; `none` for no peer. */
export function lookOf({ peer }: Node): string {
  if (!peer) return "none";
  if (peer.status === "offline" || peer.status === "retired") return "offline";
  if (peer.turn_state === "awaiting_input") return "awaiting_input";
  return peer.turn_state === "working" ? "busy" : peer.status;
}

/** The peers whose status at a moment differed from now, as far as events show. */
export function statusesAt(events: readonly LogEvent[], at: number): Map<string, string> {
  const found = new Map<string, string>();
  for (const { type, timestamp, peer_id } of events) {
    if (Date.parse(timestamp) <= at || typeof peer_id !== "string" || found.has(peer_id)) continue;
    // The next change contains the status before it.
    if (type === "peer_online" || type === "peer_registered") found.set(peer_id, "offline");
    if (type === "peer_offline") found.set(peer_id, "online");
  }
  return found;
}

/** An event as a sentence; undefined for events that messages already show. */
export function sentenceOf(event: LogEvent): string | undefined {
  const { type, name, reason, state, job_id, to, parent_peer_id } = event;
  const is_subagent = parent_peer_id !== undefined;
  switch (type) {
    case "peer_registered":
      return is_subagent ? `subagent ${name} started` : undefined;
    case "peer_online":
      return is_subagent ? `subagent ${name} started again` : `${name} came online`;
    case "peer_offline":
      if (is_subagent) return `subagent ${name} ended`;
      return `${name} went offline${reason ? `: ${String(reason).replaceAll("_", " ")}` : ""}`;
    case "peer_retired":
      return `${name} was retired`;
    case "job_state_changed":
      return `job ${job_id} is ${String(state).replaceAll("_", " ")}`;
    case "schedule_fired":
      return `a schedule fired for ${to}`;
    default:
      return undefined;
  }
}
