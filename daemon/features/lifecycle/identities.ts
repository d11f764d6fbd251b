/** Validates and renews birth certificates. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { type Claims, mustMatchPeer, mustMatchPresented } from "../peers/identity/certificates.ts";
import { isLive, isOnMachine, mustGetPeer } from "../peers/directory.ts";
import { isRunning } from "../peers/identity/known_peer.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Renewal, Validation } from "protocol/lifecycle.ts";
import type { LifecycleDeps } from "./deps.ts";

export class Identities {
  readonly #ctx: Context;
  readonly #deps: LifecycleDeps;

  constructor(ctx: Context, deps: LifecycleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Checks a certificate and returns its peer's id. If the peer is offline, brings it back online
   * (specification 4).
   */
  async validate({ birth_certificate, ...presented }: Validation): Promise<string> {
    const claims = await this.#deps.certificates.verify(birth_certificate);
    mustMatchPresented(claims, presented);
    const { peer_id } = claims;
    this.#ctx.db.transact(() => {
      const peer = mustGetPeer(this.#ctx.db, peer_id);
      if (peer.closed) throw new Problem("peer_retired", { peer_id });
      mustMatchPeer(claims, peer);
      this.#mustBeRunning(claims, peer);
      if (isLive(peer)) return this.#deps.peers.markSeen(peer_id, "certificate");
      this.#deps.peers.register({ peer_id, ...presented }, { proven_peer_id: peer_id });
    });
    return peer_id;
  }

  /** Issues a new certificate, if the peer is connected on the session of the old one. */
  async renew({ birth_certificate, ...presented }: Renewal) {
    const { certificates } = this.#deps;
    const claims = await certificates.verify(birth_certificate, { acceptExpired: true });
    mustMatchPresented(claims, presented);
    const { peer_id, runtime_session_id } = claims;
    if (runtime_session_id === null) throw new Problem("no_runtime_session", { peer_id });
    const before = rows.get(this.#ctx.db, peer_id);
    const { machine } = this.#deps;
    const pane = before?.pane_id && before.agent_pid === null && isOnMachine(before, machine)
      ? await this.#deps.paneObserver.at(before.tmux_socket, before.pane_id)
      : undefined;
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer || peer.runtime_session_id !== runtime_session_id) {
      throw new Problem("not_connected", { peer_id });
    }
    mustMatchPeer(claims, peer);
    if (!this.#isConnected(peer, pane?.state === "found" && !pane.pane.dead)) {
      throw new Problem("not_connected", { peer_id });
    }
    return await certificates.issue(peer);
  }

  /** True if the peer has a socket, or a transport to a process or pane that still exists. */
  #isConnected(peer: StoredPeer, hasPane: boolean): boolean {
    const { reachability } = this.#deps;
    const { peer_id, agent_pid } = peer;
    if (!isLive(peer)) return false;
    if (reachability.isConnected(peer_id)) return true;
    const transport = reachability.transport(peer_id);
    if (transport !== "native" && transport !== "pane") return false;
    if (agent_pid === null) return hasPane;
    return isRunning(this.#deps, peer);
  }

  /** Refuses a certificate whose process has ended, if this machine can check the process. */
  #mustBeRunning({ agent_pid, agent_started }: Claims, { machine }: StoredPeer): void {
    if (agent_pid === null || agent_started === null || machine !== this.#deps.machine) return;
    if (this.#deps.processes.isAlive(agent_pid, agent_started)) return;
    throw new Problem("certificate_mismatch", { reason: "its process has ended" });
  }
}
