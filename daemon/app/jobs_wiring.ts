/** How the jobs room is opened: what it needs of the house, and which neighbour meets that. */

import { Problem } from "kit/core/problem.ts";
import type { Daemon } from "./daemon.ts";
import type { Start, Started, Worker } from "../features/jobs/fires/deps.ts";
import { Jobs } from "../features/jobs/jobs.ts";
import { isLive, placeOf } from "../features/peers/directory.ts";
import * as peerRows from "../features/peers/store.ts";
import { allowedFolder } from "../features/spawn/paths.ts";

const DAY_MS = 86_400_000;

export function openJobs(house: Daemon): Jobs {
  const { db } = house.ground;
  const { directory, outside, config } = house;
  return new Jobs(house.ground, {
    directory: {
      sender: (argument) => directory.sender(argument),
      find: (argument, scope) => {
        const found = directory.find(argument, scope);
        const { peer_id } = found;
        if (found.status === "retired") throw new Problem("peer_retired", { peer_id });
        return found;
      },
    },
    peers: {
      get: (peer_id) => workerOf(house, peer_id),
      isDead: (peer_id) => isDead(house, peer_id),
      isLost: (peer_id) => isLost(house, peer_id),
    },
    post: {
      send: ({ proven_human, ...note }) => {
        const { ticket } = house.notes.notify(note, { proven_human });
        return { delivery_id: ticket.message.delivery_id, state: ticket.message.state };
      },
      stateOf: (delivery_id) => house.delivery.held(delivery_id)?.state,
      withdraw: (delivery_id, reason) => void house.delivery.release(delivery_id, reason),
    },
    spawns: {
      start: (asked) => start(house, asked),
      look: (spawn_id) => house.spawns.look(spawn_id),
      sweep: (mark, from_peer) => house.spawns.sweep(mark, from_peer),
      release: (spawn_id, peer_id, how) => release(house, { spawn_id, peer_id }, how),
    },
    notices: {
      orchestrator: (circle) => peerRows.orchestrators(db, circle).find(isLive)?.peer_id,
      notify: (to_peer, text) => house.notes.tell(to_peer, text),
    },
    checks: config["jobs.checks"],
    allows_paths: config["spawn.allowed_paths"].length > 0,
    folder: (path) => {
      const allowed = config["spawn.allowed_paths"];
      return allowedFolder(path, { allowed, home: outside.terminals.home });
    },
    run: (argv, where) => outside.programs.run(argv, { ...where, signal: house.ending }),
    history_ms: config["daemon.history_days"] * DAY_MS,
  });
}

const BARE = /\b(?:notif|attempt)-[0-9a-f]{12}\b/g;

/**
 * What of fires a prompt names: the messages whose `ids` our frames in it hold; a prompt without a
 * frame names their messages and attempts itself.
 */
export function firesIn(prompt: string, ids: readonly string[]): readonly string[] {
  return prompt.includes("[mesh") ? ids : prompt.match(BARE) ?? [];
}

function workerOf({ ground: { db } }: Daemon, peer_id: string): Worker | undefined {
  const peer = peerRows.get(db, peer_id);
  if (!peer || peer.closed) return undefined;
  const { addressable, turn_state, turn_at, path, dropped_at } = peer;
  const status = dropped_at === null ? peer.status : "offline";
  return { peer_id, status, addressable, turn_state, turn_at, path };
}

/** Retired, or its own process is proved to be gone, and no restart puts another in its place. */
function isDead({ ground: { db }, outside, restarts }: Daemon, peer_id: string): boolean {
  const peer = peerRows.get(db, peer_id);
  if (!peer || peer.closed || peer.status === "retired") return true;
  const { status, agent_pid, agent_started, machine } = peer;
  if (status !== "offline" || machine !== outside.machine) return false;
  if (agent_pid === null || agent_started === null) return false;
  return !outside.processes.isAlive(agent_pid, agent_started) && !restarts.isUnderWay(peer_id);
}

/** What could be found by its process, its pane or its session is not given up. */
function isLost({ ground: { db } }: Daemon, peer_id: string): boolean {
  const peer = peerRows.get(db, peer_id);
  if (!peer || isLive(peer)) return false;
  const { agent_pid, pane_id, runtime_session_id } = peer;
  return agent_pid === null && pane_id === null && runtime_session_id === null;
}

/** A session is taken up again where its adapter knows how, and finds it on the disk. */
async function start(house: Daemon, { resumes, mark, ...asked }: Start): Promise<Started> {
  const supplied = resumes === undefined ? undefined : await resumeArgs(house, resumes, asked.path);
  const body = { ...asked, role: "agent" as const };
  const launched = await house.spawns.launch(body, undefined, { supplied, mark });
  return {
    resumed: supplied !== undefined,
    enter: () => house.spawns.enter(launched, { proven_human: false }).spawn_id,
    undo: () => house.spawns.undo(launched),
  };
}

async function resumeArgs({ ground: { db }, outside }: Daemon, peer_id: string, path: string) {
  const { runtime_session_id, backend } = peerRows.get(db, peer_id) ?? {};
  const adapter = outside.adapters().find((one) => one.backend === backend);
  if (!runtime_session_id || !adapter?.resume) return undefined;
  const found = await adapter.resume({ runtime_session_id, path });
  return found.ok ? found.args : undefined;
}

async function release(
  house: Daemon,
  { spawn_id, peer_id }: { spawn_id: string; peer_id: string | null },
  { terminal }: { terminal: boolean },
): Promise<boolean> {
  const { peers, spawns, ending, outside, ground: { db } } = house;
  const peer = peer_id === null ? undefined : peerRows.get(db, peer_id);
  const { agent_pid = null, agent_started = null } = peer ?? {};
  const proved = agent_pid !== null && agent_started !== null;
  try {
    await spawns.release(spawn_id, proved ? { pid: agent_pid, started: agent_started } : undefined);
  } catch (fault) {
    if (ending.aborted) return false;
    throw fault;
  }
  if (peer) {
    const adapter = outside.adapters().find((one) => one.backend === peer.backend);
    await adapter?.breakOff?.(placeOf(peer));
  }
  const now = peer_id === null ? undefined : peerRows.get(db, peer_id);
  // Whoever has taken its place meanwhile is another execution, and not ours to end.
  if (now && !now.closed && now.status !== "retired" && now.agent_started === agent_started) {
    peers.offline(now.peer_id, { reason: "job_over", source: "daemon", terminal });
  }
  return true;
}
