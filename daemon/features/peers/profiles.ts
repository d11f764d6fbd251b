/** A peer's profile: its name, description, role and provenance. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { PeerChanges } from "./changes.ts";
import type { Provenance, Role } from "protocol/peers/record.ts";
import { isLive } from "./directory.ts";
import type { Peers } from "./peers.ts";
import { provenanceOf } from "./registration.ts";
import { freeName, misnamedPeers, refuseReserved, unreservedName } from "./identity/naming.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

export class PeerProfiles {
  readonly #ctx: Context;
  readonly #changes: PeerChanges;
  readonly #peers: Peers;

  constructor(ctx: Context, changes: PeerChanges, peers: Peers) {
    this.#ctx = ctx;
    this.#changes = changes;
    this.#peers = peers;
  }

  /** Sets the description, which also counts as being seen. */
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
    refuseReserved(this.#ctx.db, name, { peer_id });
    this.reassign(peer_id, { name });
  }

  /**
   * Renames peers whose names have become reserved, by a new version or by a new name of the human.
   */
  renameReserved(): { peer_id: string; before: string; name: string }[] {
    const { db } = this.#ctx;
    return db.transact((tx) =>
      misnamedPeers(db).map((peer_id) => {
        const peer = this.#changes.mustGet(peer_id);
        const name = freeName(db, { ...peer, name: unreservedName(peer.name) });
        rows.update(tx, { ...peer, name });
        this.#changes.publishUpdated({ peer_id, name });
        return { peer_id, before: peer.name, name };
      })
    );
  }

  /** Sets the name, circle or role that were requested for a peer after it registered. */
  reassign(peer_id: string, changes: Partial<Pick<StoredPeer, "name" | "circle" | "role">>): void {
    this.#changes.update(peer_id, (peer) => {
      const placed = { ...peer, ...changes };
      return { ...placed, name: freeName(this.#ctx.db, placed) };
    });
  }

  /** Assigns a peer to another agent or another session. Its pane and its name stay. */
  changeAgent(
    peer_id: string,
    { backend, runtime_session_id }: Pick<StoredPeer, "backend" | "runtime_session_id">,
  ): void {
    const mesh_session_id = this.#ctx.ids.next("ms");
    const changes = { backend, runtime_session_id, model: null, mesh_session_id };
    this.#changes.update(peer_id, (peer) => ({ ...peer, ...changes }));
  }

  /** Changes a role. Only `force` displaces a live orchestrator (contract 3). */
  changeRole(
    peer_id: string,
    { role, force }: { role: Exclude<Role, "human">; force: boolean },
  ): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      this.#changes.refuseRetired(peer_id);
      this.#changes.refuseHuman(peer_id);
      const { circle } = this.#changes.mustGet(peer_id);
      const orchestrators = role === "orchestrator" ? rows.orchestrators(db, circle) : [];
      for (
        const orchestrator of orchestrators.filter((orchestrator) =>
          orchestrator.peer_id !== peer_id
        )
      ) {
        const { peer_id: present_id, name } = orchestrator;
        if (isLive(orchestrator) && !force) {
          throw new Problem("orchestrator_present", { peer_id: present_id, name });
        }
        rows.update(tx, { ...this.#changes.mustGet(present_id), role: "agent" });
        if (orchestrator.dropped_at === null) {
          this.#changes.publishUpdated({ peer_id: present_id, name });
        }
      }
      this.#changes.update(peer_id, (peer) => ({ ...peer, role }));
    });
  }

  /** Replaces the provenance of a live peer. If it becomes unaddressable, its asks are closed. */
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
