/** The peers among which a routing strategy chooses. */

import type { Context } from "kit/data/context.ts";
import * as peerRows from "../../peers/store.ts";
import type { Candidate } from "./contract.ts";
import * as load from "./load.ts";

/** Every live peer that takes messages and was not started by the system itself. */
export function liveCandidates({ db, clock }: Pick<Context, "db" | "clock">): Candidate[] {
  const open = load.openCountByPeer(db);
  const closed = load.lastClosedAtByPeer(db);
  const now = clock.now();
  return peerRows.livePeers(db).filter(({ addressable, initiator }) =>
    addressable && initiator !== "system"
  ).map((peer) => ({
    peer_id: peer.peer_id,
    name: peer.name,
    circle: peer.circle,
    backend: peer.backend,
    role: peer.role,
    status: peer.status,
    turn_state: peer.turn_state,
    path: peer.path,
    description: peer.description,
    description_age_seconds: peer.described_at && (now - peer.described_at) / 1000,
    open_asks: open.get(peer.peer_id) ?? 0,
    last_closed_at: closed.get(peer.peer_id) ?? null,
  }));
}
