/** Records of peers on other machines, as the API shows them beside the local records. */

import type { Context } from "../../../data/context.ts";
import type { PeerFilter } from "protocol/peers/contract.ts";
import type { Peer } from "protocol/peers/record.ts";
import type { RemotePeers } from "./remote_peers.ts";
import { qualifiedName, type RemotePeer } from "./schemas.ts";
import * as rows from "./store.ts";

/** The fields that only the peer's own machine knows. */
const UNKNOWN = {
  tmux_session: null,
  tmux_socket: null,
  terminal: null,
  pane_id: null,
  metadata: {},
  reminders: null,
  queue_max: null,
  pair_per_minute: null,
  offline_since: null,
  offline_reason: null,
  hook_messages: true,
  wake_policy: null,
  wake: null,
  agent_pid: null,
  mesh_session_id: null,
  source: "unknown",
  parent_peer_id: null,
  ephemeral: false,
  ws_connected: false,
  last_delivery_at: null,
  last_delivery_failure_at: null,
} as const satisfies Partial<Peer>;

/** The open asks to a peer. */
export type PendingFields = Pick<Peer, "pending_ask_count" | "oldest_pending_age_seconds">;

export class RemoteRecords {
  readonly #ctx: Context;
  readonly #peers: RemotePeers;

  constructor(ctx: Context, peers: RemotePeers) {
    this.#ctx = ctx;
    this.#peers = peers;
  }

  get(peer_id: string): RemotePeer | undefined {
    const address = this.#peers.address(peer_id);
    return address && address.role !== "human" ? rows.get(this.#ctx.db, peer_id) : undefined;
  }

  /** The ids of the peers that match, machine by machine. `since`: as in `PeerRecords`. */
  listedIds(filter: PeerFilter, since: number | null): string[] {
    const { source = UNKNOWN.source, addressable = true, listed = true, circle, status } = filter;
    const isShared = source === UNKNOWN.source && addressable && listed && !filter.subagents;
    if (!isShared || !this.#peers.isAny) return [];
    const { db } = this.#ctx;
    return rows.listedIds(db, { since, circle: circle ?? null, status: status ?? null });
  }

  byIds(peer_ids: readonly string[]): RemotePeer[] {
    return rows.byIds(this.#ctx.db, peer_ids);
  }

  toPeer(stored: RemotePeer, pending: PendingFields): Peer {
    const { seen_at: _, id_proof: _proof, ...record } = stored;
    return {
      ...record,
      ...UNKNOWN,
      tags: [],
      ...pending,
      display_name: qualifiedName(stored),
      last_seen: this.#peers.lastSeen(stored),
      waits_for: this.#peers.waitOf(stored),
      addressable: true,
      transport: "bus",
      inbound_status: stored.status === "offline" ? "offline" : "ok",
    };
  }
}
