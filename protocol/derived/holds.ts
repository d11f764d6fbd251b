/** Sentences on messages that wait for their recipients: the same in commands, tools and views. */

import type { ChildAsk } from "protocol/asks/many.ts";
import type { Peer } from "protocol/wire.ts";
import { sentenceOf } from "protocol/reasons.ts";
import { type WaitingPeer, waitSentence } from "protocol/derived/waits.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";

type Recipient = WaitingPeer & Partial<Pick<Peer, "wake">>;

/**
 * The sentence on a message that waits for a peer: by what the peer waits for, by its sleep, or by
 * the reason of the delivery. Undefined if none is known.
 */
export function holdSentence(
  peer: Recipient,
  reason: string | null | undefined,
): string | undefined {
  const { display_name: name, wake } = peer;
  // A daemon of an earlier version gives no reason.
  const rest = reason ? `${name}: ${sentenceOf(reason)}` : undefined;
  return waitSentence(peer) ?? wakeSentence(name, wake) ?? rest;
}

/** The sentences on those of several asks that wait. `peers` are those that the daemon knows. */
export function heldAmong(
  children: readonly ChildAsk[],
  peers: readonly (Recipient & Pick<Peer, "peer_id">)[],
): string[] {
  const known = new Map(peers.map((peer) => [peer.peer_id, peer]));
  return children.flatMap((child) => {
    if (!("reason" in child)) return [];
    const { peer_id, reason } = child;
    const peer = known.get(peer_id);
    return peer && reason ? holdSentence(peer, reason) ?? [] : [];
  });
}
