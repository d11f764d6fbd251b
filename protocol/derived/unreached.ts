/** The peers that a broadcast did not reach, or not yet, each with the reason in words. */

import type { WireResponse } from "kit/http/client.ts";
import type { broadcast } from "protocol/notifications.ts";
import { limitText } from "protocol/derived/waits.ts";
import { statusWithSleep } from "protocol/derived/wakes.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { Peer } from "protocol/wire.ts";

type Sent = Pick<WireResponse<typeof broadcast>, "sent_to" | "skipped" | "failed">;

export interface Unreached {
  readonly name: string;
  readonly why: string;
  /** True if its copy waits, and arrives once a transport reaches it. */
  readonly waits: boolean;
}

/** The words for the codes of a broadcast; other codes are reasons. */
const WORDS: Readonly<Record<string, string>> = {
  excluded: "it was excluded",
  peer_not_addressable: "it takes no messages",
  queue_full: "too many messages wait for it already",
  rate_limited: "too many messages were sent to it within a minute",
};

/** The code of a broadcast for a peer that is not online. */
const OFFLINE = "offline";

/** `peers` are those that the daemon knows now. The id stands for a peer that is not among them. */
export function unreachedPeers(
  { sent_to, skipped, failed }: Sent,
  peers: readonly Peer[],
): Unreached[] {
  const known = new Map(peers.map((peer) => [peer.peer_id, peer]));
  const left = [
    ...skipped,
    ...failed.map(({ peer_id, error }) => ({ peer_id, reason: error })),
  ].map(({ peer_id, reason }) => ({
    name: known.get(peer_id)?.display_name ?? peer_id,
    why: reason === OFFLINE ? offlineText(known.get(peer_id)) : WORDS[reason] ?? sentenceOf(reason),
    waits: false,
  }));
  const waiting = sent_to.flatMap(({ peer_id, name }) => {
    const why = reasonToWait(known.get(peer_id));
    return why === undefined ? [] : [{ name, why, waits: true }];
  });
  return [...left, ...waiting];
}

function offlineText(peer: Peer | undefined): string {
  return peer && statusWithSleep(peer) === "asleep"
    ? "it is asleep, and a broadcast wakes nobody"
    : "it is offline";
}

function reasonToWait(peer: Peer | undefined): string | undefined {
  const limit = limitText(peer?.waits_for);
  if (limit !== undefined) return `it ${limit}`;
  if (peer?.inbound_status === "no_transport") return sentenceOf("no_transport");
  if (peer?.inbound_status !== "pane_unsafe") return undefined;
  const [, code = "screen_unknown"] = /pane: (\w+)/.exec(peer.inbound_reason ?? "") ?? [];
  return sentenceOf(code);
}
