/** Shares: links to one peer of one machine. They are in memory only: a restart ends them. */

import { type Clock, type Ids, TimeLimit } from "kit/core/clock.ts";
import { Problem } from "protocol/problems.ts";
import type { Share } from "protocol/shares.ts";
import { digestOf } from "../web/secrets.ts";
import type { CreateShare } from "protocol/relay/shares.ts";

/** Size of a share's id: 192 bits, so that the id cannot be guessed. */
const ID_BYTES = 24;
const SHARES_MAX = 10_000;
export const SHARES_EACH_MAX = 100;
export const VIEWERS_MAX = 20;

/** A share as it is stored. The URL is left out, because it depends on the relay's origin. */
export interface StoredShare extends Readonly<Omit<Share, "url" | "viewers">> {
  readonly namespace: string;
  /** The sender of the guests' asks. The name is reserved, so that no peer can have it. */
  readonly asker: string;
  readonly limit: TimeLimit;
}

/** A guest's open event stream. Disposing it frees the place for another viewer. */
interface Viewer extends Disposable {
  /** Aborts when the share ends. */
  readonly signal: AbortSignal;
}

export class Shares {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #shares = new Map<string, StoredShare>();
  /** The open streams of each share. */
  readonly #viewers = new Map<string, Set<AbortController>>();

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
  }

  create(namespace: string, input: CreateShare & { readonly display_name: string }): StoredShare {
    const own = this.list(namespace).length;
    if (own >= SHARES_EACH_MAX) throw new Problem("too_many_shares", { shares: own });
    if (this.#shares.size >= SHARES_MAX) {
      throw new Problem("too_many_shares", { shares: this.#shares.size });
    }
    const { daemon_id, peer_id, display_name, permissions, ttl_seconds } = input;
    const share_id = `sh_${this.#ids.secret(ID_BYTES)}`;
    const created_at = this.#clock.now();
    const limit = new TimeLimit(this.#clock, ttl_seconds * 1000);
    const share = {
      share_id,
      namespace,
      daemon_id,
      peer_id,
      display_name,
      permissions,
      created_at,
      expires_at: limit.ends_at,
      limit,
      asker: `mcp-share-${digestOf(share_id).slice(0, 12)}`,
    };
    this.#shares.set(share_id, share);
    return share;
  }

  list(namespace: string): StoredShare[] {
    return [...this.#shares.values()].filter((share) =>
      share.namespace === namespace && !share.limit.isOver
    );
  }

  /** Finds the share of a link. Throws `unknown_share` if the share is unknown or has expired. */
  mustGet(share_id: string): StoredShare {
    const share = this.#shares.get(share_id);
    if (share && !share.limit.isOver) return share;
    throw new Problem("unknown_share", {});
  }

  /** Revokes a share of the namespace. A share of another namespace is treated as unknown. */
  revoke(namespace: string, share_id: string): void {
    const share = this.mustGet(share_id);
    if (share.namespace !== namespace) throw new Problem("unknown_share", {});
    this.#end(share_id);
  }

  openViewer(share_id: string): Viewer {
    this.mustGet(share_id);
    const viewers = this.#viewers.getOrInsertComputed(share_id, () => new Set());
    if (viewers.size >= VIEWERS_MAX) {
      throw new Problem("too_many_viewers", { viewers: viewers.size });
    }
    const stop = new AbortController();
    viewers.add(stop);
    return {
      signal: stop.signal,
      [Symbol.dispose]: () => {
        viewers.delete(stop);
        if (viewers.size === 0) this.#viewers.delete(share_id);
      },
    };
  }

  viewersOf(share_id: string): number {
    return this.#viewers.get(share_id)?.size ?? 0;
  }

  /** Ends expired shares and their streams. */
  tick(): void {
    for (const { share_id, limit } of this.#shares.values()) {
      if (limit.isOver) this.#end(share_id);
    }
  }

  /** Ends all shares. Called at shutdown. */
  endAll(): void {
    for (const share_id of this.#shares.keys()) this.#end(share_id);
  }

  #end(share_id: string): void {
    this.#shares.delete(share_id);
    this.#viewers.get(share_id)?.forEach((stop) => stop.abort());
    this.#viewers.delete(share_id);
  }
}
