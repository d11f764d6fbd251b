/** Birth certificates at work: what one proves of its bearer, and when it is exchanged. */

import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { PaneSights } from "../../host/tmux/observations.ts";
import type { Processes } from "../peers/registration.ts";
import {
  type Claims,
  claimsOf,
  refuseMoved,
  refuseOther,
  type Registry,
} from "../peers/certificate.ts";
import { type Directory, isLive } from "../peers/directory.ts";
import type { Peers } from "../peers/peers.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Renewal, Validation } from "./contract.ts";

export interface IdentityNeeds {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly peers: Peers;
  readonly processes: Processes;
  readonly sights: PaneSights;
  /** The name of this machine. */
  readonly machine: string;
}

export class Identities {
  readonly #ground: Ground;
  readonly #needs: IdentityNeeds;

  constructor(ground: Ground, needs: IdentityNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** The peer of a certificate that holds; one that is not here comes back (specification 4). */
  async validate({ birth_certificate, ...shown }: Validation): Promise<string> {
    const claims = await this.#needs.registry.check(birth_certificate);
    refuseOther(claims, shown);
    const { peer_id } = claims;
    this.#ground.db.transact(() => {
      const peer = rows.get(this.#ground.db, peer_id);
      if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
      if (peer.closed) throw new Problem("peer_retired", { peer_id });
      refuseMoved(claims, peer);
      this.#refuseEnded(claims, peer);
      if (isLive(peer)) return this.#needs.peers.sighted(peer_id, "certificate");
      this.#needs.peers.register({ peer_id, ...shown }, { proven_peer_id: peer_id });
    });
    return peer_id;
  }

  /** A fresh certificate for a session whose peer is connected on it; else a 409. */
  async renew({ birth_certificate, ...shown }: Renewal) {
    const { registry } = this.#needs;
    const claims = await registry.read(birth_certificate);
    refuseOther(claims, shown);
    const { peer_id, runtime_session_id } = claims;
    if (runtime_session_id === null) throw new Problem("no_runtime_session", { peer_id });
    const before = rows.get(this.#ground.db, peer_id);
    const here = before?.machine === null || before?.machine === this.#needs.machine;
    const pane = here && before?.pane_id && before.agent_pid === null
      ? await this.#needs.sights.at(before.tmux_socket, before.pane_id)
      : undefined;
    const peer = rows.get(this.#ground.db, peer_id);
    if (!peer || peer.runtime_session_id !== runtime_session_id) {
      throw new Problem("not_connected", { peer_id });
    }
    refuseMoved(claims, peer);
    if (!this.#connected(peer, pane?.state === "found" && !pane.pane.dead)) {
      throw new Problem("not_connected", { peer_id });
    }
    return await registry.issue(claimsOf(peer));
  }

  /** A live transport: a socket, or a way to a process or a pane that is really there. */
  #connected(peer: StoredPeer, pane_there: boolean): boolean {
    const { directory, processes, machine } = this.#needs;
    const { peer_id, agent_pid, agent_started } = peer;
    if (!isLive(peer)) return false;
    if (directory.connected(peer_id)) return true;
    const transport = directory.transport(peer_id);
    if (transport !== "native" && transport !== "pane") return false;
    if (agent_pid === null) return pane_there;
    return peer.machine === machine && agent_started !== null &&
      processes.isAlive(agent_pid, agent_started);
  }

  /** A certificate is bound to its process, as far as that can be looked at from here. */
  #refuseEnded({ agent_pid, agent_started }: Claims, { machine }: StoredPeer): void {
    if (agent_pid === null || agent_started === null || machine !== this.#needs.machine) return;
    if (this.#needs.processes.isAlive(agent_pid, agent_started)) return;
    throw new Problem("certificate_mismatch", { reason: "its process has ended" });
  }
}
