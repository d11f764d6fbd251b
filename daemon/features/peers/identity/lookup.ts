/** The peers that a name means: first the peers of the caller's circle, then all others. */

import { Problem } from "protocol/problems.ts";
import { type Address, ROLES_OF_ALL_CIRCLES } from "protocol/peers/record.ts";

type NamedPeer = Pick<Address, "circle" | "role" | "status">;

/** The circles in which a name is looked up. */
export interface LookupCircles {
  /** The circle that the request names: no other one is searched. */
  readonly only?: string | undefined;
  /** The caller's circle, which is searched first. */
  readonly first?: string | undefined;
}

/**
 * The peers that a name means, of the peers that have it (contract 1). The caller must refuse more
 * than one. Peers of some roles are found from every circle.
 */
export function matchesOf<P extends NamedPeer>(
  named: readonly P[],
  { only, first }: LookupCircles,
): readonly P[] {
  if (only !== undefined) return liveFirst(inCircle(named, only));
  const near = first === undefined ? [] : inCircle(named, first);
  return liveFirst(near.length > 0 ? near : named);
}

/** The only peer of those that an argument means, if any. Throws `ambiguous_peer` for several. */
export function onlyOf(argument: string, found: readonly Address[]): Address | undefined {
  const [match, ...more] = found;
  if (match === undefined || more.length === 0) return match;
  const candidates = found.map(({ peer_id, name, circle }) => ({ peer_id, name, circle }));
  throw new Problem("ambiguous_peer", { peer: argument, candidates });
}

/** The peers of a circle, and those that are found from every circle. */
export function inCircle<P extends NamedPeer>(peers: readonly P[], circle: string): readonly P[] {
  return peers.filter((peer) => peer.circle === circle || ROLES_OF_ALL_CIRCLES.includes(peer.role));
}

/** The live peers; without any, the offline ones. */
function liveFirst<P extends NamedPeer>(peers: readonly P[]): readonly P[] {
  const live = peers.filter(({ status }) => status !== "offline");
  return live.length > 0 ? live : peers;
}
