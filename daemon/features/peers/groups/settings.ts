/** The changeable settings of a running peer: its tags, its hooks, its limits and its circle. */

import type { Context } from "../../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { PeerChanges } from "../changes.ts";
import { isLive } from "../directory.ts";
import type { PeerProfiles } from "../profiles.ts";
import { refuseReservedTag } from "../identity/naming.ts";
import type { Scope } from "../identity/name_lookup.ts";
import { type Address, type Tag, TAGS_MAX } from "protocol/peers/record.ts";
import * as rows from "../store.ts";
import type { StoredPeer } from "../store.ts";
import { peersTagged } from "./groups.ts";
import type { PeerSettings } from "protocol/peers/groups.ts";

export class PeerSettingsService {
  readonly #ctx: Context;
  readonly #changes: PeerChanges;
  readonly #profiles: PeerProfiles;

  constructor(ctx: Context, changes: PeerChanges, profiles: PeerProfiles) {
    this.#ctx = ctx;
    this.#changes = changes;
    this.#profiles = profiles;
  }

  /** The peers that `@tag` means for a caller, at least one. */
  tagged(tag: string, scope: Scope): readonly Address[] {
    return peersTagged(this.#ctx.db, tag, scope);
  }

  /**
   * Changes all or nothing. Only a person may change the circle, which decides the peers that find
   * each other, and the limits.
   */
  set(peer_id: string, settings: PeerSettings, isHuman: () => boolean): void {
    const { description, circle } = settings;
    if (isForPersons(settings) && !isHuman()) throw new Problem("human_not_proven", {});
    this.#ctx.db.transact(() => {
      this.#changes.refuseRetired(peer_id);
      this.#changes.refuseHuman(peer_id);
      if (circle !== undefined) this.#move(peer_id, circle);
      if (description !== undefined) this.#profiles.describe(peer_id, description);
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

  /**
   * Messages and asks belong to the peer's id, so its queue and its open asks move with it. Its
   * name gets a number if a live peer of that circle has it.
   */
  #move(peer_id: string, circle: string): void {
    const peer = this.#changes.mustGet(peer_id);
    if (peer.circle === circle) return;
    const leader = rows.orchestrators(this.#ctx.db, circle).find(isLive);
    if (peer.role === "orchestrator" && leader) {
      const { peer_id, name } = leader;
      throw new Problem("orchestrator_present", { peer_id, name });
    }
    this.#profiles.reassign(peer_id, { circle });
  }
}

function isForPersons({ circle, queue_max, pair_per_minute }: PeerSettings): boolean {
  return [circle, queue_max, pair_per_minute].some((value) => value !== undefined);
}

/** The settings after a change. Null means the setting for all peers. */
function changedOptions(peer: StoredPeer, settings: PeerSettings) {
  const { reminders, queue_max, pair_per_minute, hook_messages } = settings;
  return {
    reminders: reminders === undefined ? peer.reminders : reminders,
    queue_max: queue_max === undefined ? peer.queue_max : queue_max,
    pair_per_minute: pair_per_minute === undefined ? peer.pair_per_minute : pair_per_minute,
    hook_messages: hook_messages ?? peer.hook_messages,
  };
}

/** The tags after a change, each once, in alphabetical order. */
function changedTags(before: readonly Tag[], { tags, add_tags, remove_tags }: PeerSettings): Tag[] {
  const kept = [...tags ?? before, ...add_tags].filter((tag) => !remove_tags.includes(tag));
  return [...new Set(kept)].sort();
}
