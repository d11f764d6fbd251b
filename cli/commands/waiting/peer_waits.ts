/** Asks the daemon what peers wait for, for output that says more with the answer. */

import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { getPeer, listPeers } from "protocol/generated/endpoints.ts";
import { holdSentence } from "protocol/derived/holds.ts";
import { waitSentence } from "protocol/derived/waits.ts";
import { isUnreachable } from "../../client/daemon_client.ts";
import { unlessRejected } from "../../client/failures.ts";

const isRefusal = (error: unknown) => error instanceof ApiError || isUnreachable(error);

/** The record of a peer; undefined if it is refused. */
export function peerOf(call: Call, id: string): Promise<WireResponse<typeof getPeer> | undefined> {
  return unlessRejected(isRefusal, () => call(getPeer, { params: { id }, query: {} }));
}

/**
 * The sentence on a message to a peer that waits for a reason; undefined if the record of the peer
 * is refused.
 */
export async function holdOf(
  call: Call,
  peer_id: string,
  reason: string | null,
): Promise<string | undefined> {
  const peer = await peerOf(call, peer_id);
  return peer && holdSentence(peer, reason);
}

/** The sentences on all live peers that wait; none if the list is refused. */
export async function allWaits(call: Call): Promise<string[]> {
  const list = () => call(listPeers, { query: { live: "true" } });
  const { peers } = await unlessRejected(isRefusal, list) ?? { peers: [] };
  return peers.flatMap((peer) => waitSentence(peer) ?? []);
}
