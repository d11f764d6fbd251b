/** What a peer is called, what it says of itself, its role, and its provenance. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { PeerChanges } from "./changes.ts";
import type { Provenance, Role } from "./schemas.ts";
import { isLive } from "./directory.ts";
import type { Peers } from "./peers.ts";
import { provenanceOf } from "./registration.ts";
import { freeName, refuseReserved } from "./identity/naming.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

export interface ProfilesDeps {
  readonly changes: PeerChanges;
  readonly peers: Pick<Peers, "touch">;
}

export class PeerProfiles {
  readonly #ctx: Context;
  readonly #changes: PeerChanges;
  readonly #peers: ProfilesDeps["peers"];

  constructor(ctx: Context, { changes, peers }: ProfilesDeps) {
    this.#ctx = ctx;
    this.#changes = changes;
    this.#peers = peers;
  }

  /** What it says of itself is a sign of life. */
  describe(peer_id: string, description: string): void {
    this.#peers.touch(peer_id);
    this.#changes.update(peer_id, (peer) => ({
      ...peer,
      description: description === "" ? null : description,
      described_at: this.#ctx.clock.now(),
    }));
  }

  rename(peer_id: string, name: string): void {
    this.#changes.refuseHuman(peer_id);
    refuseReserved(this.#ctx.db, name, peer_id);
    this.reassign(peer_id, { name });
  }

  /** Gives a peer what it was asked to be, and did not know of when it registered. */
  reassign(peer_id: string, changes: Partial<Pick<StoredPeer, "name" | "circle" | "role">>): void {
    this.#changes.update(peer_id, (peer) => {
      const placed = { ...peer, ...changes };
      return { ...placed, name: freeName(this.#ctx.db, placed) };
    });
  }

  /** Gives a peer a role; a live orchestrator gives way only to `force` (contract 3). */
  changeRole(
    peer_id: string,
    { role, force }: { role: Exclude<Role, "human">; force: boolean },
  ): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      this.#changes.refuseRetired(peer_id);
      this.#changes.refuseHuman(peer_id);
      const { circle } = this.#changes.mustGet(peer_id);
      const others = role === "orchestrator" ? rows.orchestrators(db, circle) : [];
      for (const other of others.filter((other) => other.peer_id !== peer_id)) {
        const { peer_id: present_id, name } = other;
        if (isLive(other) && !force) {
          throw new Problem("orchestrator_present", { peer_id: present_id, name });
        }
        rows.update(tx, { ...this.#changes.mustGet(present_id), role: "agent" });
        if (other.dropped_at === null) this.#changes.publishUpdated({ peer_id: present_id, name });
      }
      this.#changes.update(peer_id, (peer) => ({ ...peer, role }));
    });
  }

  /** Replaces all provenance of a live peer; losing addressability clears its table. */
  setProvenance(peer_id: string, provenance: Provenance): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      const before = this.#changes.mustGet(peer_id);
      if (!isLive(before)) throw new Problem("unknown_peer", { peer: peer_id });
      const peer = { ...before, ...provenanceOf(provenance, before) };
      rows.update(tx, peer);
      this.#changes.publishUpdated(peer);
      if (before.addressable && !peer.addressable) this.#changes.becomeUnaddressable(peer);
    });
  }
}
