/** Peer records as the API shows them (specification 2, contract 2). */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import type { Transport } from "protocol/agents/contract.ts";
import type { PeerFilter } from "protocol/peers/contract.ts";
import type { ProofRecord } from "protocol/proofs/contract.ts";
import type { Peer, Wake } from "protocol/peers/record.ts";
import type { Directory } from "./directory.ts";
import type { PendingFields, RemoteRecords } from "./remote/remote_records.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";
import type { KnownWait, PeerWaits, WaitingQuestion } from "./waits.ts";

/** The ways in which messages reach a peer now. */
export interface Reachability {
  /** The best transport that reaches the peer now. */
  transport(peer_id: string): Transport;
  isReachable(peer_id: string): boolean;
  /** True if the peer has a live socket. */
  isConnected(peer_id: string): boolean;
  /** The failure of this transport in the last selftest with such an agent, if there was one. */
  failure(peer: Pick<StoredPeer, "backend">, transport: Transport): string | undefined;
  /** The reason of the last refusal, such as `pane: dialog_open`; null with an empty queue. */
  blockedReason(peer_id: string): string | null;
}

/** The number of open asks to a peer, and the opening time of the oldest. */
interface PendingAsks {
  readonly count: number;
  readonly oldest: number | null;
}

/** Time for which an offline peer counts as live in a list. */
const RECENT_MS = 7 * 86_400_000;
/** Peers that a list reads before other requests run. It takes 5 to 10 ms. */
const STEP_PEERS = 200;
const NONE_PENDING: PendingAsks = { count: 0, oldest: null };

/** Questions of peers' records to higher features. */
export interface RecordPorts {
  /** The open asks to a peer. */
  pending(peer_id: string): PendingAsks;
  /** The open asks of every peer that has any, in one query. */
  pendingOfAll(): ReadonlyMap<string, PendingAsks>;
  /** The sleep of a peer; null for a peer that is no agent, and for one that runs by itself. */
  wakeOf(peer: StoredPeer): Wake | null;
  /** The open questions for whose answers peers wait, by the peer. */
  waitingQuestions(): ReadonlyMap<string, WaitingQuestion>;
  /** The limit of a peer's account, which another of its peers may have reported. */
  limitOf(peer_id: string): KnownWait | undefined;
  /** The outcomes of the answers of a peer that were checked; null for none. */
  proofsOf(peer_id: string): ProofRecord | null;
  /** The loop in which a peer is; undefined for none. */
  loopOf(peer_id: string): Peer["looping"];
}

interface PeerRecordsDeps {
  readonly daemon_id: string;
  readonly description_ttl_ms: number;
  readonly directory: Directory;
  readonly ports: RecordPorts;
  readonly reachability: Reachability;
  readonly remoteRecords: RemoteRecords;
  readonly waits: Pick<PeerWaits, "of">;
}

export class PeerRecords {
  readonly #ctx: Context;
  readonly #deps: PeerRecordsDeps;

  constructor(ctx: Context, deps: PeerRecordsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  mustGet(peer_id: string): Peer {
    const stored = rows.get(this.#ctx.db, peer_id);
    if (stored && !stored.closed) return this.#toPeer(stored);
    const { ports, remoteRecords } = this.#deps;
    const remote = remoteRecords.get(peer_id);
    if (!remote) throw new Problem("unknown_peer", { peer: peer_id });
    return remoteRecords.toPeer(remote, this.#toFields(ports.pending(peer_id)));
  }

  /** The peers that match, in the order of their registration; then those of other machines. */
  async list(filter: PeerFilter): Promise<Peer[]> {
    const { db, clock } = this.#ctx;
    const { remoteRecords, ports } = this.#deps;
    const { listed, live, source, addressable, circle, status, subagents } = filter;
    const since = live ? clock.now() - RECENT_MS : null;
    const ids = rows.listedIds(db, {
      since,
      source: source ?? null,
      addressable: addressable === undefined ? null : addressable ? 1 : 0,
      circle: circle ?? null,
      status: status ?? null,
      subagents: subagents === undefined ? null : subagents ? 1 : 0,
    });
    const pending = ports.pendingOfAll();
    const pendingOf = (peer_id: string) => pending.get(peer_id) ?? NONE_PENDING;
    const questions = ports.waitingQuestions();
    const peers: Peer[] = [];
    await this.#inSteps(ids, (step) => {
      for (const stored of rows.byIds(db, step)) {
        const peer = this.#toPeer(stored, pendingOf(stored.peer_id), questions);
        if (listed === undefined || this.#isListed(peer) === listed) peers.push(peer);
      }
    });
    await this.#inSteps(remoteRecords.listedIds(filter, since), (step) => {
      for (const stored of remoteRecords.byIds(step)) {
        const fields = this.#toFields(pendingOf(stored.peer_id));
        peers.push(remoteRecords.toPeer(stored, fields));
      }
    });
    return peers;
  }

  /** Lets other requests run between two steps. */
  async #inSteps(ids: readonly string[], work: (step: readonly string[]) => void): Promise<void> {
    for (let from = 0; from < ids.length; from += STEP_PEERS) {
      if (from > 0) await this.#ctx.clock.sleep(0);
      work(ids.slice(from, from + STEP_PEERS));
    }
  }

  #isListed(peer: Peer): boolean {
    if (!peer.addressable || peer.initiator === "system") return false;
    if (peer.parent_runtime_id === undefined) return true;
    const parent = peer.parent_peer_id && rows.address(this.#ctx.db, peer.parent_peer_id);
    return Boolean(parent && parent.status !== "offline");
  }

  #toPeer(
    stored: StoredPeer,
    pending = this.#deps.ports.pending(stored.peer_id),
    questions = this.#deps.ports.waitingQuestions(),
  ): Peer {
    const { peer_id, name } = stored;
    const { turn_at: _at, described_at, agent_started: _since, agent_proved: _, ...withoutTimes } =
      stored;
    const { runtime_session_id: _session, ...withoutSession } = withoutTimes;
    const { status_by: _by, status_at, turn_by: _turn_by, ...withoutStatus } = withoutSession;
    const { client_key: _key, certified: _certified, session_proved: _proved, ...withoutKey } =
      withoutStatus;
    const { id_proof: _proof, ...withoutProofs } = withoutKey;
    const { claimed_pane_id: _claimed, dropped_at: _dropped, closed: _closed, ...visible } =
      withoutProofs;
    const { initiator, parent_runtime_id, addressable_reason, ...record } = visible;
    const now = this.#ctx.clock.now();
    const human = stored.role === "human"; // It has no folder, and messages to it go to the inbox.
    const transport = human ? "none" : this.#deps.reachability.transport(peer_id);
    const isOver = stored.status === "offline" || stored.status === "retired";
    const looping = this.#deps.ports.loopOf(peer_id);
    const proofs = this.#deps.ports.proofsOf(peer_id);
    const isFresh = now - (described_at ?? now) <= this.#deps.description_ttl_ms;
    return {
      ...record,
      ...(human && { path: null }),
      name,
      display_name: name,
      terminal: stored.pane_id === null ? null : kindOf(stored.tmux_socket ?? ""),
      daemon_id: this.#deps.daemon_id,
      description: isFresh ? stored.description : null,
      last_seen: this.#deps.directory.lastSeen(stored),
      offline_since: isOver ? status_at : null,
      offline_reason: isOver ? stored.offline_reason : null,
      ...(initiator && { initiator }),
      ...(parent_runtime_id && { parent_runtime_id }),
      ...(addressable_reason && { addressable_reason }),
      parent_peer_id: this.#deps.directory.parentOf(stored),
      transport,
      ws_connected: this.#deps.reachability.isConnected(peer_id),
      ...this.#inboundOf(stored, transport),
      waits_for: this.#deps.waits.of(stored, questions),
      wake: this.#deps.ports.wakeOf(stored),
      ...(looping && { looping }),
      ...(proofs && { proofs }),
      ...this.#toFields(pending),
    };
  }

  #toFields({ count, oldest }: PendingAsks): PendingFields {
    const age = oldest === null ? null : (this.#ctx.clock.now() - oldest) / 1000;
    return { pending_ask_count: count, oldest_pending_age_seconds: age };
  }

  #inboundOf(
    peer: StoredPeer,
    transport: Transport,
  ): Pick<Peer, "inbound_status" | "inbound_reason"> {
    const { peer_id, status, role } = peer;
    if (role === "human") return { inbound_status: "ok" };
    if (status === "offline" || status === "retired") return { inbound_status: "offline" };
    if (transport === "none") return { inbound_status: "no_transport" };
    // A socket takes messages in spite of an earlier reason. A list of many peers reads no reasons.
    const { reachability } = this.#deps;
    const blocked = transport === "websocket" ? null : reachability.blockedReason(peer_id);
    const inbound_reason = blocked ?? reachability.failure(peer, transport);
    if (inbound_reason === undefined) return { inbound_status: "ok" };
    const isPane = blocked?.includes("pane:") ?? false;
    return { inbound_status: isPane ? "pane_unsafe" : "degraded", inbound_reason };
  }
}
