/** Changes of peer records: each reads, changes and stores one record in one transaction. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { ProcessTable } from "../../host/processes.ts";
import { type Directory, mustGetPeer } from "./directory.ts";
import type { Reachability } from "./records.ts";
import type { PeerIds } from "./identity/peer_ids.ts";
import type { Address, CircleBoundary } from "protocol/peers/record.ts";
import { type PeerEvent, peerMachine } from "protocol/peers/states.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";
import type { TurnEvidence } from "./turn_end.ts";
import type { LimitReport, PeerWaits } from "./waits.ts";

/** Effects of a change of a peer on higher features, in the same transaction. */
export interface PeerEffects {
  /** Closes the asks to the peer and drops its queue; returns both numbers. */
  unreachable(peer: Address, why: "peer_retired" | "peer_not_addressable"): {
    closed_asks: number;
    dropped_deliveries: number;
  };
  promptSeen(peer_id: string, prompt: string): void;
  /** New evidence shows if turns of the peer have ended. */
  turnEvidence(peer_id: string, evidence: TurnEvidence): void;
  /** An error of this class ended a turn of the peer. */
  turnFailed(peer_id: string, error: string): void;
  limitReported(peer_id: string, report: LimitReport): void;
  limitWithdrawn(peer_id: string): void;
  /** The peer registered or came online, after the commit. */
  seen(peer_id: string): void;
  /** Queued messages may be deliverable now. */
  availabilityChanged(peer_id: string): void;
  /** The peer went offline: its socket gets no messages until it is seen again. */
  wentOffline(peer_id: string): void;
  /** The record changed, after the commit. */
  recordUpdated(peer_id: string): void;
  closeSocket(peer_id: string, why: "peer_retired" | "going_away"): void;
  /** The status or the turn of the peer changed. */
  stateChanged(before: PeerState, after: PeerState): void;
  /** A turn that was reported as ended in this transaction continues. */
  turnHeld(peer_id: string): void;
}

/** The status and turn of a peer, with their times and reporters. */
export type PeerState = Pick<
  StoredPeer,
  | ("peer_id" | "name" | "status" | "status_at" | "status_by" | "offline_reason")
  | ("turn_state" | "turn_at" | "turn_by")
>;

/** The dependencies of the classes that make up the peer registry. */
export interface RegistryDeps {
  readonly changes: PeerChanges;
  readonly circle_boundary: CircleBoundary;
  readonly directory: Directory;
  /** The name of this machine. */
  readonly machine: string;
  readonly peerIds: PeerIds;
  readonly processes: ProcessTable;
  readonly reachability: Reachability;
  readonly effects: PeerEffects;
  readonly waits: PeerWaits;
}

export class PeerChanges {
  readonly #ctx: Context;
  readonly #effects: PeerEffects;
  readonly #waits: Pick<PeerWaits, "publishTurn">;

  constructor(ctx: Context, effects: PeerEffects, waits: Pick<PeerWaits, "publishTurn">) {
    this.#ctx = ctx;
    this.#effects = effects;
    this.#waits = waits;
  }

  mustGet(peer_id: string): StoredPeer {
    return mustGetPeer(this.#ctx.db, peer_id);
  }

  mustAddress(peer_id: string): Address {
    const address = rows.address(this.#ctx.db, peer_id);
    if (!address) throw new Problem("unknown_peer", { peer: peer_id });
    return address;
  }

  /** Refuses to end or rename the human (contract 2). */
  refuseHuman(peer_id: string): void {
    if (this.mustGet(peer_id).role === "human") throw new Problem("role_fixed", { peer_id });
  }

  refuseRetired(peer_id: string): void {
    if (this.mustGet(peer_id).status === "retired") throw new Problem("peer_retired", { peer_id });
  }

  /** Changes a record except its status and the time when it was last seen. */
  update(peer_id: string, change: (peer: StoredPeer) => StoredPeer): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      this.refuseRetired(peer_id);
      const peer = change(this.mustGet(peer_id));
      rows.update(tx, peer);
      this.publishUpdated(peer);
    });
  }

  /** Applies a lifecycle event to a record, in one transaction. */
  applyEvent(
    peer_id: string,
    event: PeerEvent,
    apply: (before: StoredPeer, peer: StoredPeer) => StoredPeer,
  ): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      const before = this.mustGet(peer_id);
      const peer = apply(before, { ...before, status: peerMachine.step(before.status, event) });
      rows.update(tx, peer);
      const { status, turn_state } = peer;
      const isNews = status !== before.status || turn_state !== before.turn_state;
      if (!isNews) return;
      this.#waits.publishTurn(peer);
      this.#effects.stateChanged(before, peer);
    });
  }

  publishUpdated({ peer_id, name }: Pick<StoredPeer, "peer_id" | "name">): void {
    const { db, events } = this.#ctx;
    events.append("peer_updated", { peer_id, name });
    db.afterCommit(() => this.#effects.recordUpdated(peer_id));
  }

  becomeUnaddressable(peer: StoredPeer): void {
    const { peer_id, addressable_reason } = peer;
    const why = "peer_not_addressable";
    const counts = this.#effects.unreachable(this.mustAddress(peer_id), why);
    this.#ctx.events.append(why, { peer_id, ...counts, addressable_reason });
  }
}
