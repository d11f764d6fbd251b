/** Links panes and peers: lists orphan panes, registers their agents, recovers transports. */

import type { Context } from "../../data/context.ts";
import { Problem, recoverableProblem } from "protocol/problems.ts";
import type { Probe } from "../agents/adapter.ts";
import { agentOfCommand, definitionOf } from "../agents/registry.ts";
import type { PaneFacts } from "../../host/tmux/pane_observer.ts";
import type { Registration } from "protocol/peers/record.ts";
import { ANY_PROGRAM } from "protocol/agents/contract.ts";
import { loadTransliteration } from "../peers/identity/transliteration.ts";
import { isLive, mustBeOnMachine, mustGetPeer } from "../peers/directory.ts";
import { circleOfPane } from "../peers/identity/naming.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { LifecycleDeps } from "./deps.ts";
import type { LinkPane, LinkResult, Orphan, RehookResult } from "protocol/lifecycle.ts";
import type { Reader } from "kit/data/sqlite.ts";
import { idsIn } from "../messages/framing.ts";
import { BY_SCREEN } from "../peers/waits.ts";
import * as ledger from "../messages/ledger/ledger.ts";

/** The pane in which an agent was started. */
export type SpawnedPane = Pick<PaneFacts, "pane_id" | "tmux_socket"> & {
  readonly backend: Registration["backend"];
};

export class Linking {
  readonly #ctx: Context;
  readonly #deps: LifecycleDeps;

  constructor(ctx: Context, deps: LifecycleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The panes of all the user's terminals that have no live peer. */
  async orphans(): Promise<Orphan[]> {
    const panes = await this.#deps.paneObserver.everywhere(this.#knownSockets());
    return panes.filter((pane) => !pane.dead && !this.#ownerOf(pane)).map(toOrphan);
  }

  /**
   * Registers the agent in a pane. If no transport reaches it, returns the reason. `peer_id` names
   * the peer whose session was resumed in the pane.
   */
  async linkPane(
    pane_id: string,
    { backend, tmux_socket, name, circle }: LinkPane,
    peer_id?: string,
  ): Promise<LinkResult> {
    const pane = await this.#mustFindPane(pane_id, tmux_socket);
    this.#mustBeUnowned(pane);
    const requested = { backend, ...(name && { name }), ...(circle && { circle }) };
    return await this.#link(pane, { path: pane.cwd || "/", ...requested }, peer_id);
  }

  /**
   * Registers a spawned agent whose hooks do not run yet: an agent that waits at a dialog, such as
   * the question whether to trust the folder, or a silent agent that a transport reaches. The spawn
   * calls this again later for any other agent. `peer_id` is the peer whose session the agent
   * resumes.
   */
  async linkSilent(
    { pane_id, tmux_socket, backend }: SpawnedPane,
    peer_id: string | undefined,
    { missed_start = false }: { readonly missed_start?: boolean } = {},
  ): Promise<void> {
    const is_silent = missed_start || (definitionOf(backend)?.silent_until_prompt ?? false);
    const accepts = (probes: readonly Probe[]) =>
      probes.some(isAtDialog) || is_silent && probes.some(isReady);
    try {
      const pane = await this.#mustFindPane(pane_id, tmux_socket);
      this.#mustBeUnowned(pane);
      await this.#link(pane, { path: pane.cwd || "/", backend }, peer_id, accepts);
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      this.#ctx.log.info("A spawned agent cannot be linked", { pane_id, code: refusal.code });
    }
  }

  /**
   * Returns the peer that read a prompt. A session of a shared server is registered without a pane
   * and a process. If such a session reads a message that was typed into the pane of a peer without
   * a session, both are the same agent, and their records are joined.
   */
  peerOfPrompt(peer_id: string, prompt: string): string {
    const { db } = this.#ctx;
    const { peers } = this.#deps;
    const session = rows.get(db, peer_id);
    if (!session || session.pane_id !== null || session.agent_pid !== null) return peer_id;
    const { backend, path, runtime_session_id } = session;
    if (!backend || path === null || runtime_session_id === null) return peer_id;
    for (const id of idsIn(prompt)) {
      const typed = typedPeer(db, id, session);
      if (!typed) continue;
      peers.close(peer_id);
      const registration = { peer_id: typed.peer_id, backend, path, runtime_session_id };
      return peers.register(registration, { proven_peer_id: typed.peer_id }).peer_id;
    }
    return peer_id;
  }

  /** Links a peer to the pane on its record: its agent may have been started there again. */
  async linkPeer(peer_id: string): Promise<LinkResult> {
    const { peer, pane } = await this.#findPaneOf(peer_id);
    if (!pane) throw new Problem("unknown_pane", { pane_id: peer.pane_id ?? "" });
    this.#mustBeUnowned(pane, peer_id);
    if (await this.#isReachable(peer)) {
      throw new Problem("already_linked", { pane_id: pane.pane_id, peer_id });
    }
    const known = { path: peer.path ?? pane.cwd, backend: peer.backend ?? ANY_PROGRAM };
    return await this.#link(pane, known, peer_id);
  }

  /** Reports if a transport reaches a peer. With `apply`, brings an offline peer back online. */
  async rehook(peer_id: string, { apply }: { apply: boolean }): Promise<RehookResult> {
    const { dispatcher, peers, reachability, transports } = this.#deps;
    const result = (fields: Partial<RehookResult>): RehookResult => ({
      ok: true,
      acted: false,
      peer_id,
      transport: reachability.transport(peer_id),
      healthy: false,
      would_do: null,
      reason: null,
      ...fields,
    });
    const bringBack = async ({ offline_reason: reason }: StoredPeer, why: string) => {
      const would_do = `bring it back online: ${why}`;
      if (!apply) return result({ would_do, reason });
      peers.markSeen(peer_id, "rehook");
      dispatcher.wake(peer_id);
      await this.#ctx.db.whenDurable(); // The peer's socket delivers again after the commit.
      const transport = reachability.transport(peer_id);
      return result({ acted: true, healthy: transport !== "none", transport, would_do, reason });
    };
    if (reachability.isConnected(peer_id)) {
      const peer = this.#mustGet(peer_id);
      return isLive(peer) ? result({ healthy: true }) : await bringBack(peer, "its socket is open");
    }
    const { peer, pane } = await this.#findPaneOf(peer_id);
    if (!pane) throw new Problem("missing_pane", { peer_id });
    this.#mustBeVerified(peer, pane);
    const probes = await transports.probe(peer);
    const ready = probes.some(isReady);
    if (!ready) return result({ ok: false, reason: reasonOf(probes) });
    if (isLive(peer)) return result({ healthy: true });
    return await bringBack(peer, `its process ${peer.agent_pid} runs in ${pane.pane_id}`);
  }

  /**
   * Probes the transports before it registers the agent, so that an unreachable agent leaves no
   * peer behind. The pane and the process are checked again in the transaction.
   */
  async #link(
    pane: PaneFacts,
    requested: Pick<Registration, "backend" | "circle" | "name" | "path">,
    proven_peer_id: string | undefined,
    accepts = (probes: readonly Probe[]) => probes.some(isReady),
  ): Promise<LinkResult> {
    const { peers, processes, transports } = this.#deps;
    const { pane_id, tmux_socket, session, foreground } = pane;
    if (!foreground) return notLinked("no_process");
    const { pid: agent_pid, started: agent_started } = foreground;
    const place = { pane_id, tmux_socket, agent_pid };
    const probes = await transports.probe({
      ...place,
      peer_id: proven_peer_id ?? "",
      backend: requested.backend,
      agent_started,
      runtime_session_id: null,
      turn_state: null,
      metadata: {},
    });
    if (!accepts(probes)) return notLinked(reasonOf(probes));
    const dialog = probes.find(isAtDialog);
    const waits = dialog && { turn_state: "awaiting_input" as const };
    await loadTransliteration(requested.path);
    return this.#ctx.db.transact(() => {
      this.#mustBeUnowned(pane, proven_peer_id);
      if (!processes.isAlive(agent_pid, agent_started)) return notLinked("agent_gone");
      const claimed = proven_peer_id && { peer_id: proven_peer_id };
      const in_session = session !== "" && { tmux_session: session };
      const registration = { ...requested, ...place, ...in_session, ...claimed, ...waits };
      const pane_circle = circleOfPane(pane, this.#deps.circle_boundary);
      const evidence = { isProcess: () => true, proven_peer_id, pane_circle };
      const { peer_id, name } = peers.register(registration, evidence);
      if (dialog?.waits_for) this.#deps.waits.report(peer_id, dialog.waits_for, BY_SCREEN);
      return { linked: true, peer_id, display_name: name };
    });
  }

  async #isReachable(peer: StoredPeer): Promise<boolean> {
    if (!isLive(peer)) return false;
    if (this.#deps.reachability.isConnected(peer.peer_id)) return true;
    return (await this.#deps.transports.probe(peer)).some(isReady);
  }

  /** A peer of this machine, and the pane on its record if that pane exists. */
  async #findPaneOf(peer_id: string): Promise<{ peer: StoredPeer; pane: PaneFacts | undefined }> {
    const peer = this.#mustGet(peer_id);
    const { pane_id, tmux_socket } = peer;
    mustBeOnMachine(peer, this.#deps.machine);
    if (pane_id === null) throw new Problem("missing_pane", { peer_id });
    const observation = await this.#deps.paneObserver.at(tmux_socket, pane_id);
    const isAlive = observation.state === "found" && !observation.pane.dead;
    return { peer, pane: isAlive ? observation.pane : undefined };
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    if (peer.status === "retired") throw new Problem("peer_retired", { peer_id });
    return peer;
  }

  #knownSockets(): string[] {
    return rows.tmuxSockets(this.#ctx.db, this.#deps.machine);
  }

  async #mustFindPane(pane_id: string, tmux_socket: string | undefined): Promise<PaneFacts> {
    const [found, ...more] = await this.#findPanes(pane_id, tmux_socket);
    if (!found || more.length > 0) throw new Problem("unknown_pane", { pane_id });
    return found;
  }

  /** Without a socket, the servers of known peers and the user's own come before other servers. */
  async #findPanes(pane_id: string, tmux_socket: string | undefined): Promise<PaneFacts[]> {
    const { paneObserver } = this.#deps;
    const isFound = (pane: PaneFacts) => pane.pane_id === pane_id && !pane.dead;
    if (tmux_socket !== undefined) {
      const observation = await paneObserver.at(tmux_socket, pane_id);
      return observation.state === "found" ? [observation.pane].filter(isFound) : [];
    }
    const known = (await paneObserver.all(this.#knownSockets())).filter(isFound);
    if (known.length > 0) return known;
    return (await paneObserver.everywhere(this.#knownSockets())).filter(isFound);
  }

  /** The id of the live peer that is registered on a pane, or on the process in that pane. */
  #ownerOf({ pane_id, tmux_socket, foreground }: PaneFacts): string | undefined {
    const { db } = this.#ctx;
    const peersOnPane = rows.byPane(db, pane_id, null).filter((peer) =>
      peer.machine === this.#deps.machine &&
      (peer.tmux_socket === null || peer.tmux_socket === tmux_socket)
    );
    const peersOfProcess = foreground ? rows.byProcess(db, foreground.pid, foreground.started) : [];
    return [...peersOnPane, ...peersOfProcess].find(isLive)?.peer_id;
  }

  #mustBeUnowned(pane: PaneFacts, except_peer_id?: string): void {
    const owner = this.#ownerOf(pane);
    if (owner === undefined || owner === except_peer_id) return;
    throw new Problem("already_linked", { pane_id: pane.pane_id, peer_id: owner });
  }

  /** Refuses a peer whose process is not proved to run in this pane. */
  #mustBeVerified({ peer_id, agent_pid, agent_started }: StoredPeer, pane: PaneFacts): void {
    const refuse = (reason: string) => {
      throw new Problem("pane_unverified", { peer_id, pane_id: pane.pane_id, reason });
    };
    if (agent_pid === null || agent_started === null) return refuse("no_process");
    if (!this.#deps.processes.isAlive(agent_pid, agent_started)) return refuse("agent_gone");
    if (!this.#deps.paneObserver.holds(pane, agent_pid)) return refuse("agent_elsewhere");
    const owner = this.#ownerOf(pane);
    if (owner !== undefined && owner !== peer_id) return refuse(`it belongs to ${owner}`);
  }
}

function toOrphan(pane: PaneFacts): Orphan {
  const { pane_id, tmux_socket, pane_pid: pid, command, cwd, session, window, foreground } = pane;
  const backend_hint = agentOfCommand(command, foreground?.args)?.id ?? null;
  const confidence = backend_hint === null ? "unknown" : "hint";
  const place = { pane_id, tmux_socket, pid, command, cwd, session, window };
  return { ...place, backend_hint, confidence };
}

/** True if a transport can deliver messages. A hook only answers its agent's calls. */
function isReady({ transport, ready }: Probe): boolean {
  return ready && transport !== "hook";
}

/** True if the agent's terminal shows a dialog. A message typed there would answer it. */
export function isAtDialog({ transport, reason }: Probe): boolean {
  return transport === "pane" && reason === "dialog_open";
}

/** The reason of the last transport in the fallback order. */
function reasonOf(probes: readonly Probe[]): string {
  return probes.findLast(({ transport }) => transport !== "hook")?.reason ?? "no_transport";
}

const HINTS: Readonly<Record<string, string>> = {
  dialog_open: "answer the dialog in the pane, then link again",
  draft_present: "send or clear the text typed in the pane, then link again",
  no_process: "start the agent in the pane",
  no_transport: "no adapter here reaches this backend; `generic` is any program in a pane",
  shell_prompt: "a shell would run each message as a command: start the agent in the pane",
  screen_unknown: "the screen is not one of this backend; check that the backend is right",
};

function notLinked(reason: string): LinkResult {
  const hint = HINTS[reason] ?? "nothing was registered; resolve the reason, then link again";
  return { linked: false, reason, hint };
}

/** The peer whose pane a message was typed into, if it may be the same agent as `session`. */
function typedPeer(db: Reader, message_id: string, session: StoredPeer): StoredPeer | undefined {
  const message = ledger.findMessage(db, message_id);
  const peer = message?.transport === "pane" ? rows.get(db, message.to_peer_id) : undefined;
  if (peer?.backend !== session.backend || peer?.runtime_session_id !== null) return undefined;
  const isEarlier = peer.registered_at <= session.registered_at;
  return isLive(peer) && isEarlier ? peer : undefined;
}
