/** Brings panes and peers together: who is not bound, binding it, and finding a lost way again. */

import { basename } from "node:path";
import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Addressee, Probe } from "../agents/adapter.ts";
import { agentNamed } from "../agents/registry.ts";
import type { Front, PaneFacts, PaneSights } from "../../host/tmux/observations.ts";
import type { Processes } from "../peers/registration.ts";
import { type Registration } from "../peers/contract.ts";
import { ANY_PROGRAM } from "../agents/contract.ts";
import { type Directory, isLive, placeOf } from "../peers/directory.ts";
import type { Peers } from "../peers/peers.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Linked, Orphan, PaneLink, Rehooked } from "./contract.ts";

export interface LinkingNeeds {
  readonly directory: Directory;
  readonly peers: Peers;
  readonly processes: Processes;
  readonly sights: PaneSights;
  /** The name of this machine. */
  readonly machine: string;
  /** What each way to this agent says now, the best one first. */
  probe(peer: Addressee): Promise<readonly Probe[]>;
  /** What waits for it may go. */
  wake(peer_id: string): void;
}

/** A registration that would be made, and the process that it rests on. */
interface Plan {
  readonly registration: Registration;
  readonly pane: PaneFacts;
  readonly front: Front;
  readonly proven_peer_id?: string;
}

export class Linking {
  readonly #ground: Ground;
  readonly #needs: LinkingNeeds;

  constructor(ground: Ground, needs: LinkingNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** PaneSights of every server that is known here, with no live peer on them. */
  async orphans(): Promise<Orphan[]> {
    const panes = await this.#all();
    return panes.filter((pane) => !pane.dead && !this.#ownerOf(pane)).map(toOrphan);
  }

  /**
   * Registers the agent that reads in a pane, or says why no message would reach it. It may be
   * known which peer that is: one whose session was taken up there.
   */
  async linkPane(
    pane_id: string,
    { backend, tmux_socket, name, circle }: PaneLink,
    peer_id?: string,
  ): Promise<Linked> {
    const pane = await this.#find(pane_id, tmux_socket);
    this.#refuseOwned(pane);
    if (!pane.front) return unlinked("no_process");
    const registration: Registration = {
      ...spotOf(pane),
      path: pane.cwd || "/",
      backend,
      agent_pid: pane.front.pid,
      ...(name && { name }),
      ...(circle && { circle }),
      ...(peer_id && { peer_id }),
    };
    const known = peer_id === undefined ? {} : { proven_peer_id: peer_id };
    return await this.#link({ registration, pane, front: pane.front, ...known });
  }

  /** The same for the pane on a peer's record: its agent may have been started anew there. */
  async linkPeer(peer_id: string): Promise<Linked> {
    const { peer, pane } = await this.#paneOf(peer_id);
    if (!pane) throw new Problem("unknown_pane", { pane_id: peer.pane_id ?? "" });
    this.#refuseOwned(pane, peer_id);
    if (await this.#reachable(peer)) {
      throw new Problem("already_linked", { pane_id: pane.pane_id, peer_id });
    }
    if (!pane.front) return unlinked("no_process");
    const registration: Registration = {
      ...spotOf(pane),
      peer_id,
      path: peer.path ?? pane.cwd,
      backend: peer.backend ?? ANY_PROGRAM,
      agent_pid: pane.front.pid,
    };
    return await this.#link({ registration, pane, front: pane.front, proven_peer_id: peer_id });
  }

  /** Whether messages reach a peer, and, with `apply`, what can be done about it without harm. */
  async rehook(peer_id: string, { apply }: { apply: boolean }): Promise<Rehooked> {
    const { directory, peers, wake } = this.#needs;
    const answer = (said: Partial<Rehooked>): Rehooked => ({
      ok: true,
      acted: false,
      peer_id,
      transport: directory.transport(peer_id),
      healthy: false,
      would_do: null,
      reason: null,
      ...said,
    });
    const back = async ({ offline_reason: reason }: StoredPeer, why: string) => {
      const would_do = `take it back online: ${why}`;
      if (!apply) return answer({ would_do, reason });
      peers.sighted(peer_id, "rehook");
      wake(peer_id);
      await this.#ground.db.durable(); // From then on its socket carries again.
      const transport = directory.transport(peer_id);
      return answer({ acted: true, healthy: transport !== "none", transport, would_do, reason });
    };
    if (directory.connected(peer_id)) {
      const peer = this.#mustGet(peer_id);
      return isLive(peer) ? answer({ healthy: true }) : await back(peer, "its socket is open");
    }
    const { peer, pane } = await this.#paneOf(peer_id);
    if (!pane) throw new Problem("missing_pane", { peer_id });
    this.#refuseUnverified(peer, pane);
    const probes = await this.#needs.probe(placeOf(peer));
    const ready = probes.some(isReady);
    if (!ready) return answer({ ok: false, reason: reasonOf(probes) });
    if (isLive(peer)) return answer({ healthy: true });
    return await back(peer, `its process ${peer.agent_pid} reads in ${pane.pane_id}`);
  }

  /**
   * Looks before it registers: a peer that nothing reaches was never there, and so the rollback
   * leaves nothing. What was seen is looked at again in the transaction.
   */
  async #link({ registration, pane, front, proven_peer_id }: Plan): Promise<Linked> {
    const probes = await this.#needs.probe(addresseeOf(registration, front));
    if (!probes.some(isReady)) return unlinked(reasonOf(probes));
    return this.#ground.db.transact(() => {
      this.#refuseOwned(pane, proven_peer_id);
      if (!this.#needs.processes.isAlive(front.pid, front.started)) return unlinked("agent_gone");
      const entrance = { isProcess: () => true, ...(proven_peer_id && { proven_peer_id }) };
      const { peer_id, name } = this.#needs.peers.register(registration, entrance);
      return { linked: true, peer_id, display_name: name };
    });
  }

  async #reachable(peer: StoredPeer): Promise<boolean> {
    if (!isLive(peer)) return false;
    if (this.#needs.directory.connected(peer.peer_id)) return true;
    return (await this.#needs.probe(placeOf(peer))).some(isReady);
  }

  /** A peer of this machine, with the pane on its record; undefined where tmux has none such. */
  async #paneOf(peer_id: string): Promise<{ peer: StoredPeer; pane: PaneFacts | undefined }> {
    const peer = this.#mustGet(peer_id);
    const { machine, pane_id, tmux_socket } = peer;
    if (machine !== null && machine !== this.#needs.machine) {
      throw new Problem("other_host", { peer_id, machine });
    }
    if (pane_id === null) throw new Problem("missing_pane", { peer_id });
    const sight = await this.#needs.sights.at(tmux_socket, pane_id);
    return { peer, pane: sight.state === "found" && !sight.pane.dead ? sight.pane : undefined };
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = rows.get(this.#ground.db, peer_id);
    if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
    if (peer.status === "retired") throw new Problem("peer_retired", { peer_id });
    return peer;
  }

  async #all(): Promise<PaneFacts[]> {
    const { sights, machine } = this.#needs;
    return await sights.all(rows.tmuxSockets(this.#ground.db, machine));
  }

  async #find(pane_id: string, tmux_socket: string | undefined): Promise<PaneFacts> {
    const panes =
      await (tmux_socket === undefined
        ? this.#all()
        : this.#needs.sights.at(tmux_socket, pane_id).then((sight) =>
          sight.state === "found" ? [sight.pane] : []
        ));
    const [found, ...more] = panes.filter((pane) => pane.pane_id === pane_id && !pane.dead);
    if (!found || more.length > 0) throw new Problem("unknown_pane", { pane_id });
    return found;
  }

  /** The live peer that is registered on a pane, or that its process is. */
  #ownerOf({ pane_id, tmux_socket, front }: PaneFacts): string | undefined {
    const { db } = this.#ground;
    const here = rows.byPane(db, pane_id, null).filter((peer) =>
      peer.machine === this.#needs.machine &&
      (peer.tmux_socket === null || peer.tmux_socket === tmux_socket)
    );
    const running = front ? rows.byProcess(db, front.pid, front.started) : [];
    return [...here, ...running].find(isLive)?.peer_id;
  }

  #refuseOwned(pane: PaneFacts, but?: string): void {
    const owner = this.#ownerOf(pane);
    if (owner === undefined || owner === but) return;
    throw new Problem("already_linked", { pane_id: pane.pane_id, peer_id: owner });
  }

  /** Only a process that is proved to be the agent's, in that very pane, is believed. */
  #refuseUnverified({ peer_id, agent_pid, agent_started }: StoredPeer, pane: PaneFacts): void {
    const refuse = (reason: string) => {
      throw new Problem("pane_unverified", { peer_id, pane_id: pane.pane_id, reason });
    };
    if (agent_pid === null || agent_started === null) return refuse("no_process");
    if (!this.#needs.processes.isAlive(agent_pid, agent_started)) return refuse("agent_gone");
    if (!this.#needs.sights.holds(pane, agent_pid)) return refuse("agent_elsewhere");
    const owner = this.#ownerOf(pane);
    if (owner !== undefined && owner !== peer_id) return refuse(`it is ${owner}'s`);
  }
}

function toOrphan(pane: PaneFacts): Orphan {
  const { pane_id, tmux_socket, pane_pid: pid, command, cwd, session, window, front } = pane;
  const [program = "", script = ""] = front?.args ?? [];
  const names = [command, program, script].flatMap((
    text,
  ) => [basename(text).replace(/\.[a-z]+$/, ""), ...text.split("/")]);
  const backend_hint = agentNamed(names)?.id ?? null;
  const confidence = backend_hint === null ? "unknown" : "hint";
  const place = { pane_id, tmux_socket, pid, command, cwd, session, window };
  return { ...place, backend_hint, confidence };
}

function spotOf({ pane_id, tmux_socket, session }: PaneFacts) {
  return { pane_id, tmux_socket, tmux_session: session };
}

function addresseeOf({ peer_id, backend, ...registration }: Registration, front: Front): Addressee {
  return {
    peer_id: peer_id ?? "",
    backend,
    tmux_socket: registration.tmux_socket ?? null,
    pane_id: registration.pane_id ?? null,
    agent_pid: front.pid,
    agent_started: front.started,
    runtime_session_id: null,
    turn_state: null,
    metadata: {},
  };
}

/** A hook only answers; it is no way by which a message comes in. */
function isReady({ rung, ready }: Probe): boolean {
  return ready && rung !== "hook";
}

/** What the last way said: those before it are asked first, and fall to it. */
function reasonOf(probes: readonly Probe[]): string {
  return probes.findLast(({ rung }) => rung !== "hook")?.reason ?? "no_rung";
}

const HINTS: Readonly<Record<string, string>> = {
  dialog_open: "answer the dialog in the pane, and link again",
  draft_present: "send or clear what is typed in the pane, and link again",
  no_process: "start the agent in the pane",
  no_rung: "no adapter here reaches this backend; `generic` is any program in a pane",
  shell_prompt: "a shell would run what it is told: start the agent in the pane",
  screen_unknown: "the screen does not look like this backend's; is it another?",
};

function unlinked(reason: string): Linked {
  const hint = HINTS[reason] ?? "nothing was registered; see to it, and link again";
  return { linked: false, reason, hint };
}
