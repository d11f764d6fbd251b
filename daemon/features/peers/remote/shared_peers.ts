/** The peers that this machine shares: peers of the allowed circles, with a part of each record. */

import { DAY_MS } from "kit/core/duration.ts";
import { basename } from "kit/core/path.ts";
import type { Context } from "../../../data/context.ts";
import type { Directory } from "../directory.ts";
import {
  FOLDER_CHARS_MAX,
  SHARED_DESCRIPTION_CHARS_MAX,
  type SharedHuman,
  type SharedPeer,
} from "./schemas.ts";
import type { Wait } from "protocol/peers/record.ts";
import type { PeerWaits } from "../waits.ts";
import * as rows from "./store.ts";

/** The maximum number of peers that a machine announces. Those seen last come first. */
export const SHARED_PEERS_MAX = 1000;

/** Time for which an offline peer is still announced, as in lists of live peers. */
const RECENT_MS = 7 * DAY_MS;

interface SharedPeersDeps {
  readonly directory: Directory;
  /** The circles whose peers are shared; `*` stands for every circle. */
  readonly circles: readonly string[];
  readonly description_ttl_ms: number;
  readonly waits: Pick<PeerWaits, "of">;
}

export class SharedPeers {
  readonly #ctx: Context;
  readonly #deps: SharedPeersDeps;
  readonly #circles: readonly string[] | null;

  constructor(ctx: Context, deps: SharedPeersDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#circles = deps.circles.includes("*") ? null : deps.circles;
  }

  /** The peers to announce, in the order of their ids. */
  list(): SharedPeer[] {
    if (this.#deps.circles.length === 0) return [];
    const since = this.#ctx.clock.now() - RECENT_MS;
    const filter = { circles: this.#circles, since, limit: SHARED_PEERS_MAX };
    return rows.shareable(this.#ctx.db, filter)
      .filter((peer) => this.#isListed(peer))
      .flatMap((peer) => this.#toShared(peer))
      .toSorted((a, b) => a.peer_id < b.peer_id ? -1 : 1);
  }

  /** The human of this machine; null without one. */
  human(): SharedHuman | null {
    return rows.shareableHuman(this.#ctx.db) ?? null;
  }

  /** True if other machines may reach a peer of this machine. */
  isShared({ peer_id }: { readonly peer_id: string }): boolean {
    if (this.#deps.circles.length === 0) return false;
    const peer = rows.shareablePeer(this.#ctx.db, { peer_id, circles: this.#circles });
    return peer !== undefined && this.#isListed(peer);
  }

  /** As in lists of peers: a sub-agent is listed while its parent is. */
  #isListed(peer: rows.LocalPeer): boolean {
    if (peer.parent_runtime_id === null) return true;
    const { directory } = this.#deps;
    const parent_id = directory.parentOf(peer);
    const parent = parent_id === null ? undefined : directory.address(parent_id);
    return parent !== undefined && parent.status !== "offline";
  }

  #toShared(peer: rows.LocalPeer): SharedPeer[] {
    const { parent_runtime_id: _, turn_at: _at, turn_by: _by, ...visible } = peer;
    const { role, status, described_at, path, ...shared } = visible;
    if (role === "human" || status === "retired") return []; // The query returns neither.
    const now = this.#ctx.clock.now();
    const isStale = now - (described_at ?? now) > this.#deps.description_ttl_ms;
    return [{
      ...shared,
      role,
      status,
      waits_for: withoutTool(this.#deps.waits.of(peer)),
      description: isStale ? null : cut(peer.description, SHARED_DESCRIPTION_CHARS_MAX),
      folder: cut(path && basename(path), FOLDER_CHARS_MAX),
      last_seen: this.#deps.directory.lastSeen(peer),
    }];
  }
}

/** A wait without the name of the tool that needs permission, which is not shared. */
function withoutTool(wait: Wait | null): Wait | null {
  const namesTool = wait?.kind === "permission" || wait?.kind === "question";
  return wait && namesTool ? { ...wait, detail: null } : wait;
}

/** The beginning of a text. A character that would be cut in two is left out. */
function cut(text: string | null, chars_max: number): string | null {
  if (text === null || text.length <= chars_max) return text;
  return text.slice(0, chars_max).replace(/[\ud800-\udbff]$/, "");
}
