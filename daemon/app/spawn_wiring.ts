/** How the spawn room is opened: what it needs of the house, and which neighbour meets that. */

import { DAY_MS } from "kit/core/duration.ts";
import { Problem, recoverableProblem } from "kit/core/problem.ts";
import type { Caller } from "kit/http/route.ts";
import type { AgentPeer } from "../features/agents/adapter.ts";
import { definitionOf } from "../features/agents/registry.ts";
import type { Daemon } from "./daemon.ts";
import {
  type ExpectedRegistration,
  nameOf,
  refuseReserved,
  type RegistrationEvidence,
} from "../features/peers/registration.ts";
import type { Registration } from "../features/peers/contract.ts";
import { isLive } from "../features/peers/directory.ts";
import type { PeerRoutesDeps } from "../features/peers/routes.ts";
import * as peerRows from "../features/peers/store.ts";
import * as ledger from "../features/messages/ledger/ledger.ts";
import { idsIn } from "../features/messages/dispatch/framing.ts";
import type { SpawnSettings } from "../features/spawn/commands.ts";
import type { Subject } from "../features/spawn/restarts/preflight.ts";
import { SpawnLogRetention } from "../features/spawn/log/retention.ts";
import { Restarts } from "../features/spawn/restarts/restarts.ts";
import type { SpawnRoutesDeps } from "../features/spawn/routes.ts";
import type { SpawnDeps } from "../features/spawn/deps.ts";
import { Spawns } from "../features/spawn/spawns.ts";
import { refuseUntrusted } from "../host/trusted_socket.ts";

function settingsOf({ config }: Daemon): SpawnSettings {
  return {
    commands: config["spawn.commands"],
    profiles: config["spawn.profiles"],
    allowed_paths: config["spawn.allowed_paths"],
    env: config["spawn.env"],
    circle_boundary: config["daemon.circle_boundary"],
  };
}

export function openSpawns(house: Daemon): Spawns {
  const { db } = house.ctx;
  return new Spawns(house.ctx, {
    terminals: house.platform.terminals,
    settings: settingsOf(house),
    peers: {
      sender: (argument) => house.directory.sender(argument),
      get: (peer_id) => {
        const peer = peerRows.get(db, peer_id);
        return peer && withLocalPane(house, peer);
      },
      findByPane: (pane_id, tmux_socket) => peerRows.byPane(db, pane_id, tmux_socket)[0],
      nameOf: (path, backend) => nameOf({ path, backend }),
      refuseReserved: (name) => refuseReserved(db, name),
      reassign: (peer_id, asked) => house.peers.reassign(peer_id, asked),
    },
    canDeliverTo: (backend) => house.agents.hasAdapter(backend),
    shutdownSignal: house.shutdownSignal,
    processes: house.platform.processes,
    registersItself: (backend) => house.platform.hooks[backend] !== undefined,
    linkSilentAgent: (spawned) => linkSilentAgent(house, spawned),
    notify: (note, { proven_human }) => void house.notifications.notify(note, { proven_human }),
  });
}

/** Links the pane of such an agent once a message would reach it; it is looked at again. */
async function linkSilentAgent(
  house: Daemon,
  { spawn_id, backend, tmux_socket, pane_id }: Parameters<SpawnDeps["linkSilentAgent"]>[0],
): Promise<void> {
  if (!definitionOf(backend)?.silent_until_prompt) return;
  try {
    const resumed = house.jobs.resumedPeerOf(spawn_id);
    await house.lifecycle.linking.linkPane(pane_id, { backend, tmux_socket }, resumed);
  } catch (error) {
    const refusal = recoverableProblem(error);
    if (!refusal) throw error;
    house.ctx.log.info("A spawned agent cannot be linked", { pane_id, code: refusal.code });
  }
}

/**
 * Who was linked by its pane, and now says which session it is in: the same peer. Pane and pid
 * stand in the list of peers for all to read, so that the process has to be proved.
 */
function findLinkedPeer(
  { platform, ctx: { db } }: Daemon,
  { backend, pane_id, tmux_socket, agent_pid, runtime_session_id }: Registration,
  { isProcess }: RegistrationEvidence,
): { peer_id: string } | undefined {
  if (!pane_id || !tmux_socket || !agent_pid || !runtime_session_id) return undefined;
  if (!isProcess?.(agent_pid)) return undefined;
  const found = peerRows.byPane(db, pane_id, tmux_socket).find((peer) =>
    peer.backend === backend && peer.runtime_session_id === null && peer.agent_pid !== null &&
    isLive(peer) && platform.terminals.isWithin(agent_pid, peer.agent_pid)
  );
  return found && { peer_id: found.peer_id };
}

/**
 * A session of a shared server tells neither pane nor process. What was typed into the pane of one
 * that had told no session, and is read in that session, ties the two: they are one peer.
 */
export function peerOfPrompt(house: Daemon, peer_id: string, prompt: string): string {
  const { ctx: { db }, peers } = house;
  const session = peerRows.get(db, peer_id);
  if (!session || session.pane_id !== null || session.agent_pid !== null) return peer_id;
  const { backend, path, runtime_session_id, registered_at } = session;
  for (const id of idsIn(prompt)) {
    const message = ledger.findMessage(db, id);
    const typedPeer = message?.rung === "pane" ? peerRows.get(db, message.to_peer_id) : undefined;
    if (!typedPeer || typedPeer.backend !== backend || typedPeer.runtime_session_id !== null) {
      continue;
    }
    if (!isLive(typedPeer) || typedPeer.registered_at > registered_at) continue;
    if (!backend || path === null || runtime_session_id === null) continue;
    peers.close(peer_id);
    const registration = { peer_id: typedPeer.peer_id, backend, path, runtime_session_id };
    return peers.register(registration, { proven_peer_id: typedPeer.peer_id }).peer_id;
  }
  return peer_id;
}

export function openRestarts(house: Daemon): Restarts {
  const { db } = house.ctx;
  const { processes, terminals, machine } = house.platform;
  const adapters = new Map(house.platform.adapters().map((one) => [String(one.backend), one]));
  const hookedBackends = new Set(Object.keys(house.platform.hooks));
  return new Restarts(house.ctx, {
    terminals,
    processes,
    machine,
    settings: settingsOf(house),
    shutdownSignal: house.shutdownSignal,
    adapter: (backend) => adapters.get(backend),
    profileOf: (peer_id) => house.spawns.profileOf(peer_id),
    mustBeEnabled: () => house.spawns.mustBeEnabled(),
    find: (argument, circle) => house.directory.find(argument, { circle }),
    sender: (argument) => {
      const { peer_id, name } = house.directory.sender(argument);
      return peer_id ?? name;
    },
    subject: (peer_id) => subjectOf(house, peer_id),
    registersItself: (backend) => hookedBackends.has(backend),
    peers: {
      offline: (peer_id, reason) => {
        house.peers.offline(peer_id, { reason, source: "daemon", terminal: false });
      },
      markSeen: (peer_id) => house.peers.markSeen(peer_id, "process"),
      register: (peer_id, agent_pid) => {
        const { backend, path } = peerRows.get(db, peer_id) ?? {};
        if (!backend || !path) throw new Problem("unknown_peer", { peer: peer_id });
        const entrance = { proven_peer_id: peer_id, isProcess: () => true };
        house.peers.register({ peer_id, backend, path, agent_pid }, entrance);
      },
    },
    recordReplacement: (replacement) => house.superseded.add(replacement),
    notify: (note, { proven_human }) => void house.notifications.notify(note, { proven_human }),
  });
}

/** Of each, spawns and restarts, as many are kept, if they are not older than all history. */
const SPAWN_LOG_ENTRIES_MAX = 10_000;

export function openSpawnLog({ ctx, config }: Daemon): SpawnLogRetention {
  const history_ms = config["daemon.history_days"] * DAY_MS;
  const limits = { history_ms, entries_max: SPAWN_LOG_ENTRIES_MAX };
  return new SpawnLogRetention(ctx, limits, (peer_id) => {
    const { status = "retired" } = peerRows.get(ctx.db, peer_id) ?? {};
    return status !== "retired"; // Also one that sleeps may come back, and be restarted.
  });
}

/** Who registers in a pane of ours is what was spawned there, or the very peer that restarts. */
export function expectedRegistrationOf(house: Daemon): ExpectedRegistration {
  return (given, evidence) => {
    const expected: Partial<Registration> | undefined =
      house.restarts.expectedRegistration(given, evidence) ??
        house.spawns.expectedRegistration(given) ?? findLinkedPeer(house, given, evidence);
    const proven_peer_id = expected?.peer_id ?? evidence.proven_peer_id;
    return { registration: { ...given, ...expected }, evidence: { ...evidence, proven_peer_id } };
  };
}

/** Refuses a registration on this machine whose tmux server must not be connected to. */
export function refuseUntrustedPlace(
  { platform }: Daemon,
  { machine = platform.machine, tmux_socket }: Registration,
): void {
  if (machine === platform.machine) refuseUntrusted(tmux_socket);
}

/** A peer as it is on this machine: what it says of its pane on another one means nothing here. */
function withLocalPane<P extends peerRows.StoredPeer>({ platform }: Daemon, peer: P): P {
  const isLocal = peer.machine === null || peer.machine === platform.machine;
  return isLocal ? peer : { ...peer, tmux_socket: null, pane_id: null };
}

/**
 * The circle that a registration's window is, where windows are circles (contract 1). A session
 * that bounds a circle is the registration's own to name.
 */
export async function windowCircleOf(
  { platform, spawns }: Daemon,
  { machine, circle, pane_id, tmux_socket }: Registration,
): Promise<string | undefined> {
  const isLocal = machine === undefined || machine === platform.machine;
  if (!isLocal || circle !== undefined || !pane_id || !tmux_socket) return undefined;
  return await spawns.circleOf(tmux_socket, pane_id);
}

function subjectOf(house: Daemon, peer_id: string): Subject | undefined {
  const peer = peerRows.get(house.ctx.db, peer_id);
  if (!peer || peer.closed) return undefined;
  const { backend, tmux_socket, pane_id, agent_pid, agent_started, runtime_session_id } = peer;
  const { turn_state, metadata, name, role, status, circle, path, machine } = peer;
  const addressee: AgentPeer = {
    peer_id,
    backend,
    tmux_socket,
    pane_id,
    agent_pid,
    agent_started,
    runtime_session_id,
    turn_state,
    metadata,
  };
  return { ...addressee, name, role, status, circle, path, machine };
}

export function peerRoutesDeps(daemon: Daemon): PeerRoutesDeps {
  return {
    restartStatusOf: (peer_id) => daemon.restarts.block(peer_id),
    windowCircleOf: (given) => windowCircleOf(daemon, given),
    isProcess: (pid, caller) => daemon.callers.isProcess(pid, caller),
    mustBeTrustedSocket: (given) => refuseUntrustedPlace(daemon, given),
  };
}

export function spawnRoutesDeps(
  daemon: Daemon,
  isProvenHuman: (caller: Caller, headers: Headers) => boolean,
): SpawnRoutesDeps {
  const { directory, ctx: { db } } = daemon;
  return {
    isProvenHuman,
    senderOf: ({ from_peer }) => {
      const { peer_id, name } = directory.sender(from_peer);
      return peer_id ?? name;
    },
    findForkSource: (argument, circle) => {
      const { peer_id } = directory.find(argument, { circle });
      const found = peerRows.get(db, peer_id);
      if (!found) throw new Problem("unknown_peer", { peer: argument });
      return withLocalPane(daemon, found);
    },
  };
}
