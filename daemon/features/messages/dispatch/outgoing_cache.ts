/** Caches outgoing messages, so that each is framed once, however often it is attempted. */

import type { OutgoingMessage } from "../../agents/adapter.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { frame, proofId } from "./framing.ts";

/**
 * The maximum number of characters in all cached frames. A text has at most 262,144 characters, and
 * escaping makes at most five of each.
 */
const CACHED_CHARS_MAX = 4 * 1024 * 1024;
const CACHED_MAX = 256;

/** The first queued message of each peer, which the dispatcher reads every second. */
export class OutgoingCache {
  readonly #cached = new Map<
    string,
    { readonly seq: number; readonly outgoing: OutgoingMessage }
  >();
  #chars = 0;

  /** Calls `load` only if the message is not cached. */
  getOrLoad(
    peer_id: string,
    seq: number,
    load: () => StoredMessage | undefined,
  ): OutgoingMessage | undefined {
    const cached = this.#cached.get(peer_id);
    if (cached?.seq === seq) return cached.outgoing;
    this.forget(peer_id);
    const message = load();
    if (!message) return undefined;
    const outgoing = toOutgoing(message);
    this.#cached.set(peer_id, { seq, outgoing });
    this.#chars += outgoing.framed.length;
    for (const [oldest] of this.#cached) {
      const fits = this.#chars <= CACHED_CHARS_MAX && this.#cached.size <= CACHED_MAX;
      if (fits || oldest === peer_id) break;
      this.forget(oldest);
    }
    return outgoing;
  }

  /** Removes the cached message of a peer. */
  forget(peer_id: string): void {
    this.#chars -= this.#cached.get(peer_id)?.outgoing.framed.length ?? 0;
    this.#cached.delete(peer_id);
  }
}

export function toOutgoing(message: StoredMessage): OutgoingMessage {
  return {
    delivery_id: message.delivery_id,
    proof_id: proofId(message),
    kind: message.kind,
    human: message.voice === "human",
    framed: frame(message),
  };
}
