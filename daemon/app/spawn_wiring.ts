/** How the spawn room is opened: what it needs of the house, and which neighbour meets that. */

import { Problem, refusalOf } from "kit/core/problem.ts";
import type { Caller } from "kit/http/route.ts";
import type { Addressee } from "../features/agents/adapter.ts";
import { definitionOf } from "../features/agents/registry.ts";
import type { Daemon } from "./daemon.ts";
import {
  type Awaited,
  type Entrance,
  nameOf,
  refuseReserved,
} from "../features/peers/registration.ts";
import type { Registration } from "../features/peers/contract.ts";
import { isLive } from "../features/peers/directory.ts";
import type { PeerDoors } from "../features/peers/routes.ts";
import * as peerRows from "../features/peers/store.ts";
import * as ledger from "../features/messages/ledger/ledger.ts";
import { idsIn } from "../features/messages/dispatch/framing.ts";
import type { SpawnSettings } from "../features/spawn/commands.ts";
import type { Subject } from "../features/spawn/restarts/preflight.ts";
import { JournalRetention } from "../features/spawn/log/retention.ts";
import { Restarts } from "../features/spawn/restarts/restarts.ts";
import type { SpawnDoors } from "../features/spawn/routes.ts";
import type { SpawnNeeds } from "../features/spawn/deps.ts";
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
  const { db } = house.ground;
  return new Spawns(house.ground, {
    terminals: house.outside.terminals,
    settings: settingsOf(house),
    peers: {
      sender: (argument) => house.directory.sender(argument),
      get: (peer_id) => {
        const peer = peerRows.get(db, peer_id);
        return peer && seenFromHere(house, peer);
      },
      onPane: (pane_id, tmux_socket) => peerRows.byPane(db, pane_id, tmux_socket)[0],
      nameOf: (path, backend) => nameOf({ path, backend }),
      refuseReserved: (name) => refuseReserved(db, name),
      place: (peer_id, asked) => house.peers.place(peer_id, asked),
    },
    reaches: (backend) => house.agents.knows(backend),
    ending: house.ending,
    processes: house.outside.processes,
    registersItself: (backend) => house.outside.hooks[backend] !== undefined,
    meet: (spawned) => meet(house, spawned),
    notify: (note, { proven_human }) => void house.notes.notify(note, { proven_human }),
  });
}

/** Links the pane of such an agent once a message would reach it; it is looked at again. */
async function meet(
  house: Daemon,
  { spawn_id, backend, tmux_socket, pane_id }: Parameters<SpawnNeeds["meet"]>[0],
): Promise<void> {
  if (!definitionOf(backend)?.silent_until_prompt) return;
  try {
    const resumed = house.jobs.resumedIn(spawn_id);
    await house.lives.linking.linkPane(pane_id, { backend, tmux_socket }, resumed);
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    house.ground.log.info("A spawned agent cannot be linked", { pane_id, code: refusal.code });
  }
}

/**
 * Who was linked by its pane, and now says which session it is in: the same peer. Pane and pid
 * stand in the list of peers for all to read, so that the process has to be proved.
 */
function linked(
  { outside, ground: { db } }: Daemon,
  { backend, pane_id, tmux_socket, agent_pid, runtime_session_id }: Registration,
  { isProcess }: Entrance,
): { peer_id: string } | undefined {
  if (!pane_id || !tmux_socket || !agent_pid || !runtime_session_id) return undefined;
  if (!isProcess?.(agent_pid)) return undefined;
  const found = peerRows.byPane(db, pane_id, tmux_socket).find((peer) =>
    peer.backend === backend && peer.runtime_session_id === null && peer.agent_pid !== null &&
    isLive(peer) && outside.terminals.isWithin(agent_pid, peer.agent_pid)
  );
  return found && { peer_id: found.peer_id };
}

/**
 * A session of a shared server tells neither pane nor process. What was typed into the pane of one
 * that had told no session, and is read in that session, ties the two: they are one peer.
 */
export function typedInto(house: Daemon, peer_id: string, prompt: string): string {
  const { ground: { db }, peers } = house;
  const session = peerRows.get(db, peer_id);
  if (!session || session.pane_id !== null || session.agent_pid !== null) return peer_id;
  const { backend, path, runtime_session_id, registered_at } = session;
  for (const id of idsIn(prompt)) {
    const message = ledger.held(db, id);
    const typed = message?.rung === "pane" ? peerRows.get(db, message.to_peer_id) : undefined;
    if (!typed || typed.backend !== backend || typed.runtime_session_id !== null) continue;
    if (!isLive(typed) || typed.registered_at > registered_at) continue;
    if (!backend || path === null || runtime_session_id === null) continue;
    peers.close(peer_id);
    const registration = { peer_id: typed.peer_id, backend, path, runtime_session_id };
    return peers.register(registration, { proven_peer_id: typed.peer_id }).peer_id;
  }
  return peer_id;
}

export function openRestarts(house: Daemon): Restarts {
  const { db } = house.ground;
  const { processes, terminals, machine } = house.outside;
  const adapters = new Map(house.outside.adapters().map((one) => [String(one.backend), one]));
  const hooked = new Set(Object.keys(house.outside.hooks));
  return new Restarts(house.ground, {
    terminals,
    processes,
    machine,
    settings: settingsOf(house),
    ending: house.ending,
    adapter: (backend) => adapters.get(backend),
    profileOf: (peer_id) => house.spawns.profileOf(peer_id),
    mustBeEnabled: () => house.spawns.mustBeEnabled(),
    find: (argument, circle) => house.directory.find(argument, { circle }),
    sender: (argument) => {
      const { peer_id, name } = house.directory.sender(argument);
      return peer_id ?? name;
    },
    subject: (peer_id) => subjectOf(house, peer_id),
    registersItself: (backend) => hooked.has(backend),
    peers: {
      offline: (peer_id, reason) => {
        house.peers.offline(peer_id, { reason, source: "daemon", terminal: false });
      },
      sighted: (peer_id) => house.peers.sighted(peer_id, "process"),
      register: (peer_id, agent_pid) => {
        const { backend, path } = peerRows.get(db, peer_id) ?? {};
        if (!backend || !path) throw new Problem("unknown_peer", { peer: peer_id });
        const entrance = { proven_peer_id: peer_id, isProcess: () => true };
        house.peers.register({ peer_id, backend, path, agent_pid }, entrance);
      },
    },
    replaced: (replacement) => house.replaced.note(replacement),
    notify: (note, { proven_human }) => void house.notes.notify(note, { proven_human }),
  });
}

/** Of each, spawns and restarts, as many are kept, if they are not older than all history. */
const JOURNAL_ENTRIES_MAX = 10_000;
const DAY_MS = 86_400_000;

export function openJournal({ ground, config }: Daemon): JournalRetention {
  const history_ms = config["daemon.history_days"] * DAY_MS;
  const limits = { history_ms, entries_max: JOURNAL_ENTRIES_MAX };
  return new JournalRetention(ground, limits, (peer_id) => {
    const { status = "retired" } = peerRows.get(ground.db, peer_id) ?? {};
    return status !== "retired"; // Also one that sleeps may come back, and be restarted.
  });
}

/** Who registers in a pane of ours is what was spawned there, or the very peer that restarts. */
export function awaitedBy(house: Daemon): Awaited {
  return (given, came) => {
    const awaited: Partial<Registration> | undefined = house.restarts.awaited(given, came) ??
      house.spawns.awaited(given) ?? linked(house, given, came);
    const proven_peer_id = awaited?.peer_id ?? came.proven_peer_id;
    return { registration: { ...given, ...awaited }, entrance: { ...came, proven_peer_id } };
  };
}

/** Refuses a registration on this machine whose tmux server must not be connected to. */
export function refuseUntrustedPlace(
  { outside }: Daemon,
  { machine = outside.machine, tmux_socket }: Registration,
): void {
  if (machine === outside.machine) refuseUntrusted(tmux_socket);
}

/** A peer as it is on this machine: what it says of its pane on another one means nothing here. */
function seenFromHere<P extends peerRows.StoredPeer>({ outside }: Daemon, peer: P): P {
  const here = peer.machine === null || peer.machine === outside.machine;
  return here ? peer : { ...peer, tmux_socket: null, pane_id: null };
}

/**
 * The circle that a registration's window is, where windows are circles (contract 1). A session
 * that bounds a circle is the registration's own to name.
 */
export async function windowOf(
  { outside, spawns }: Daemon,
  { machine, circle, pane_id, tmux_socket }: Registration,
): Promise<string | undefined> {
  const here = machine === undefined || machine === outside.machine;
  if (!here || circle !== undefined || !pane_id || !tmux_socket) return undefined;
  return await spawns.circleOf(tmux_socket, pane_id);
}

function subjectOf(house: Daemon, peer_id: string): Subject | undefined {
  const peer = peerRows.get(house.ground.db, peer_id);
  if (!peer || peer.closed) return undefined;
  const { backend, tmux_socket, pane_id, agent_pid, agent_started, runtime_session_id } = peer;
  const { turn_state, metadata, name, role, status, circle, path, machine } = peer;
  const addressee: Addressee = {
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

export function peerDoors(daemon: Daemon): PeerDoors {
  return {
    restartOf: (peer_id) => daemon.restarts.block(peer_id),
    windowOf: (given) => windowOf(daemon, given),
    isProcess: (pid, caller) => daemon.callers.isProcess(pid, caller),
    refuseUntrustedPlace: (given) => refuseUntrustedPlace(daemon, given),
  };
}

export function spawnDoors(
  daemon: Daemon,
  provenHuman: (caller: Caller, headers: Headers) => boolean,
): SpawnDoors {
  const { directory, ground: { db } } = daemon;
  return {
    provenHuman,
    senderOf: ({ from_peer }) => {
      const { peer_id, name } = directory.sender(from_peer);
      return peer_id ?? name;
    },
    source: (argument, circle) => {
      const { peer_id } = directory.find(argument, { circle });
      const found = peerRows.get(db, peer_id);
      if (!found) throw new Problem("unknown_peer", { peer: argument });
      return seenFromHere(daemon, found);
    },
  };
}
