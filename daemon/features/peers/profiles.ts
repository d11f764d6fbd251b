/** A peer's profile and settings: name, description, role, provenance, tags, limits and circle. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { PeerChanges } from "./changes.ts";
import { type Provenance, type Role, type Tag, TAGS_MAX } from "protocol/peers/record.ts";
import { isLive } from "./directory.ts";
import type { Peers } from "./peers.ts";
import { provenanceOf } from "./registration.ts";
import {
  freeName,
  misnamedPeers,
  refuseReserved,
  refuseReservedTag,
  unreservedName,
} from "./identity/naming.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";
import type { PeerSettings } from "protocol/peers/groups.ts";

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

  /** Renames peers whose names are reserved by now: by a new version, or the human's new name. */
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

  /** Sets the effect of asks while a peer sleeps. */
  setWakePolicy(peer_id: string, wake_policy: StoredPeer["wake_policy"]): void {
    this.#changes.update(peer_id, (peer) => ({ ...peer, wake_policy }));
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

  /**
   * Changes all or nothing. Only a person may change the circle, which decides the peers that find
   * each other, the limits, and whether asks start its agent.
   */
  set(peer_id: string, settings: PeerSettings, isHuman: () => boolean): void {
    const { description, circle } = settings;
    if (isForPersons(settings) && !isHuman()) throw new Problem("human_not_proven", {});
    this.#ctx.db.transact(() => {
      this.#changes.refuseRetired(peer_id);
      this.#changes.refuseHuman(peer_id);
      if (circle !== undefined) this.#move(peer_id, circle);
      if (description !== undefined) this.describe(peer_id, description);
      const before = this.#changes.mustGet(peer_id);
      const tags = changedTags(before.tags, settings);
      for (const tag of tags) refuseReservedTag(this.#ctx.db, tag, before.tags);
      if (tags.length > TAGS_MAX) {
        const counts = { tags: tags.length, tags_max: TAGS_MAX };
        throw new Problem("too_many_tags", { peer: before.name, ...counts });
      }
      this.#changes.update(peer_id, (peer) => ({
        ...peer,
        ...changedOptions(peer, settings),
        tags,
      }));
    });
  }

  /** Queue and open asks move with the id. The name gets a number if a live peer there has it. */
  #move(peer_id: string, circle: string): void {
    const peer = this.#changes.mustGet(peer_id);
    if (peer.circle === circle) return;
    const leader = rows.orchestrators(this.#ctx.db, circle).find(isLive);
    if (peer.role === "orchestrator" && leader) {
      const { peer_id, name } = leader;
      throw new Problem("orchestrator_present", { peer_id, name });
    }
    this.reassign(peer_id, { circle });
  }
}

function isForPersons({ circle, queue_max, pair_per_minute, wake }: PeerSettings): boolean {
  return [circle, queue_max, pair_per_minute, wake].some((value) => value !== undefined);
}

/** The settings after a change. Null means the setting for all peers. */
function changedOptions(peer: StoredPeer, settings: PeerSettings) {
  const { reminders, queue_max, pair_per_minute, hook_messages, wake } = settings;
  return {
    reminders: reminders === undefined ? peer.reminders : reminders,
    queue_max: queue_max === undefined ? peer.queue_max : queue_max,
    pair_per_minute: pair_per_minute === undefined ? peer.pair_per_minute : pair_per_minute,
    hook_messages: hook_messages ?? peer.hook_messages,
    wake_policy: wake === undefined ? peer.wake_policy : wake,
  };
}

/** The tags after a change, each once, in alphabetical order. */
function changedTags(before: readonly Tag[], { tags, add_tags, remove_tags }: PeerSettings): Tag[] {
  const kept = [...tags ?? before, ...add_tags].filter((tag) => !remove_tags.includes(tag));
  return [...new Set(kept)].sort();
}
