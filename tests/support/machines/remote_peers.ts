/** Peers of other machines in a world, as their machines announce them. */

import type { SharedHuman, SharedPeer } from "../../../daemon/features/peers/remote/schemas.ts";
import type { World } from "../world.ts";

export const BUILDBOX = { daemon_id: "dm-b00000000001", name: "buildbox" };
export const TOWER = { daemon_id: "dm-70000000002a", name: "tower" };

/** A peer's record as its machine shares it. `digits` make its id. */
export function sharedPeer(
  name: string,
  digits: string,
  more: Partial<SharedPeer> = {},
): SharedPeer {
  return {
    peer_id: `peer-${digits.padEnd(12, "0")}`,
    name,
    circle: "default",
    backend: "codex",
    model: null,
    role: "agent",
    status: "online",
    turn_state: null,
    waits_for: null,
    description: null,
    folder: "work",
    last_seen: null,
    id_proof: null,
    ...more,
  };
}

/** Stores what a machine announces. */
export function announce(
  w: World,
  machine: typeof BUILDBOX,
  peers: readonly SharedPeer[],
  human: Omit<SharedHuman, "id_proof"> | null = null,
) {
  const { ctx, remotePeers } = w.daemon;
  const given = human && { id_proof: null, ...human };
  return ctx.db.transact((tx) => remotePeers.announce(tx, machine, peers, given));
}
