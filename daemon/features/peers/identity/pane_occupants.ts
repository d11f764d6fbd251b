/** Panes, each with one occupant. Others wait without a pane until it ends (contract 11). */

import type { Context } from "../../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { RegistryDeps } from "../changes.ts";
import type { Offline } from "protocol/peers/contract.ts";
import { isLive } from "../directory.ts";
import * as rows from "../store.ts";
import type { StoredPeer } from "../store.ts";
import { isSameProcess, occupantOf, type PaneClaim } from "./identity.ts";
import { knownPeerOf } from "./known_peer.ts";

interface PaneOccupantsDeps extends RegistryDeps {
  offline(peer_id: string, cause: Offline): void;
}

export class PaneOccupants {
  readonly #ctx: Context;
  readonly #deps: PaneOccupantsDeps;

  constructor(ctx: Context, deps: PaneOccupantsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Decides the occupant of the pane of a registering peer. Returns the peer's record, with or
   * without the pane. `pane_pid` is the first process of the pane, if its terminal has reported it.
   */
  claim(tx: Tx, peer: StoredPeer, pane_pid?: number): StoredPeer {
    const pane_id = peer.claimed_pane_id ?? peer.pane_id;
    if (pane_id === null) return peer;
    const claimants = rows.atPane(tx, { ...peer, pane_id });
    const terminal = pane_pid === undefined ? undefined : this.#deps.processes.terminalOf(pane_pid);
    const own = this.#toClaim(peer, { pane_id, terminal });
    const claims = claimants.map((claimant) => this.#toClaim(claimant, { pane_id, terminal }));
    const occupant = occupantOf([...claims, own], own);
    const claimed_pane_id = own.is_elsewhere ? null : pane_id;
    if (occupant !== own) {
      if (occupant && !occupant.has_pane) this.#give(tx, pane_id, occupant.peer_id);
      return { ...peer, pane_id: null, claimed_pane_id };
    }
    for (const [index, claimant] of claimants.entries()) {
      const claim = claims[index];
      if (claim && claimant.pane_id === pane_id) this.#take(tx, { claimant, claim }, own);
    }
    return { ...peer, pane_id, claimed_pane_id };
  }

  /** Gives the pane of a peer that has ended or moved to the next one proved to run there. */
  passOn(tx: Tx, before: StoredPeer): void {
    const { peer_id, pane_id } = before;
    if (pane_id === null) return;
    const now = this.#deps.changes.mustGet(peer_id);
    const has_pane = now.pane_id === pane_id && now.tmux_socket === before.tmux_socket;
    if (has_pane && isLive(now)) return;
    const place = { pane_id, terminal: undefined };
    const claims = rows.atPane(tx, { ...before, pane_id })
      .map((claimant) => this.#toClaim(claimant, place));
    const next = occupantOf(claims);
    if (!next || next.has_pane) return;
    if (has_pane) rows.update(tx, { ...now, pane_id: null });
    this.#give(tx, pane_id, next.peer_id);
  }

  /** Gives a returning peer the pane for which it waits, if it is the occupant now. */
  restore(tx: Tx, peer_id: string): void {
    const peer = this.#deps.changes.mustGet(peer_id);
    if (peer.claimed_pane_id === null || peer.pane_id !== null) return;
    if (knownPeerOf(this.#deps, peer).state !== "proved") return;
    const claimed = this.claim(tx, peer);
    if (claimed.pane_id !== null) this.#give(tx, claimed.pane_id, peer_id);
  }

  /** Takes the pane from a peer, which stays live if it is proved to be another process. */
  #take(
    tx: Tx,
    { claimant, claim }: { claimant: StoredPeer; claim: PaneClaim },
    by: PaneClaim,
  ): void {
    const { peer_id } = claimant;
    const goesOn = claim.state === "proved" &&
      !(by.process && isSameProcess(claim.process, by.process));
    const claimed_pane_id = goesOn && !claim.is_elsewhere ? claimant.claimed_pane_id : null;
    rows.update(tx, { ...claimant, pane_id: null, claimed_pane_id });
    if (!isLive(claimant)) return;
    if (goesOn) return this.#deps.changes.publishUpdated(claimant);
    const cause = { reason: "pane_takeover", source: "registration", detail: by.peer_id };
    this.#deps.offline(peer_id, { ...cause, terminal: false });
  }

  #give(tx: Tx, pane_id: string, peer_id: string): void {
    const peer = { ...this.#deps.changes.mustGet(peer_id), pane_id };
    rows.update(tx, peer);
    this.#deps.changes.publishUpdated(peer);
    this.#ctx.db.afterCommit(() => this.#deps.effects.availabilityChanged(peer_id));
  }

  #toClaim(
    peer: StoredPeer,
    { pane_id, terminal }: { pane_id: string; terminal: number | undefined },
  ): PaneClaim {
    const known = knownPeerOf(this.#deps, peer);
    const is_elsewhere = terminal !== undefined && known.process !== null &&
      this.#deps.processes.terminalOf(known.process.pid) !== terminal;
    return { ...known, has_pane: peer.pane_id === pane_id, is_elsewhere };
  }
}
