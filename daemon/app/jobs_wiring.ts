/** How the jobs room is opened: what it needs of the house, and which neighbour meets that. */

import { DAY_MS } from "kit/core/duration.ts";
import { Problem } from "kit/core/problem.ts";
import type { Daemon } from "./daemon.ts";
import type { ExecutorPeer, StartedExecutor, StartRequest } from "../features/jobs/fires/deps.ts";
import { Jobs } from "../features/jobs/jobs.ts";
import { isLive, toAgentPeer } from "../features/peers/directory.ts";
import * as peerRows from "../features/peers/store.ts";
import { allowedFolder } from "../features/spawn/paths.ts";

export function openJobs(house: Daemon): Jobs {
  const { db } = house.ctx;
  const { directory, platform, config } = house;
  return new Jobs(house.ctx, {
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
      get: (peer_id) => executorPeerOf(house, peer_id),
      isDead: (peer_id) => isDead(house, peer_id),
      isUntraceable: (peer_id) => isUntraceable(house, peer_id),
    },
    delivery: {
      send: ({ proven_human, ...note }) => {
        const { ticket } = house.notifications.notify(note, { proven_human });
        return { delivery_id: ticket.message.delivery_id, state: ticket.message.state };
      },
      stateOf: (delivery_id) => house.delivery.findMessage(delivery_id)?.state,
      withdraw: (delivery_id, reason) => void house.delivery.release(delivery_id, reason),
    },
    spawns: {
      startExecutor: (request) => startExecutor(house, request),
      status: (spawn_id) => house.spawns.status(spawn_id),
      cleanUp: (mark, from_peer) => house.spawns.cleanUp(mark, from_peer),
      release: (spawn_id, peer_id, how) => release(house, { spawn_id, peer_id }, how),
    },
    notices: {
      orchestrator: (circle) => peerRows.orchestrators(db, circle).find(isLive)?.peer_id,
      notify: (to_peer, text) => house.notifications.notifyFromDaemon(to_peer, text),
    },
    checks: config["jobs.checks"],
    allows_paths: config["spawn.allowed_paths"].length > 0,
    folder: (path) => {
      const allowed = config["spawn.allowed_paths"];
      return allowedFolder(path, { allowed, home: platform.terminals.home });
    },
    run: (argv, options) =>
      platform.programs.run(argv, { ...options, signal: house.shutdownSignal }),
    history_ms: config["daemon.history_days"] * DAY_MS,
  });
}

const BARE_ID = /\b(?:notif|attempt)-[0-9a-f]{12}\b/g;

/**
 * What of fires a prompt names: the messages whose `ids` our frames in it hold; a prompt without a
 * frame names their messages and attempts itself.
 */
export function attemptIdsIn(prompt: string, ids: readonly string[]): readonly string[] {
  return prompt.includes("[mesh") ? ids : prompt.match(BARE_ID) ?? [];
}

function executorPeerOf({ ctx: { db } }: Daemon, peer_id: string): ExecutorPeer | undefined {
  const peer = peerRows.get(db, peer_id);
  if (!peer || peer.closed) return undefined;
  const { addressable, turn_state, turn_at, path, dropped_at } = peer;
  const status = dropped_at === null ? peer.status : "offline";
  return { peer_id, status, addressable, turn_state, turn_at, path };
}

/** Retired, or its own process is proved to be gone, and no restart puts another in its place. */
function isDead({ ctx: { db }, platform, restarts }: Daemon, peer_id: string): boolean {
  const peer = peerRows.get(db, peer_id);
  if (!peer || peer.closed || peer.status === "retired") return true;
  const { status, agent_pid, agent_started, machine } = peer;
  if (status !== "offline" || machine !== platform.machine) return false;
  if (agent_pid === null || agent_started === null) return false;
  return !platform.processes.isAlive(agent_pid, agent_started) && !restarts.isUnderWay(peer_id);
}

/** What could be found by its process, its pane or its session is not given up. */
function isUntraceable({ ctx: { db } }: Daemon, peer_id: string): boolean {
  const peer = peerRows.get(db, peer_id);
  if (!peer || isLive(peer)) return false;
  const { agent_pid, pane_id, runtime_session_id } = peer;
  return agent_pid === null && pane_id === null && runtime_session_id === null;
}

/** A session is taken up again where its adapter knows how, and finds it on the disk. */
async function startExecutor(
  house: Daemon,
  { resumes, mark, ...request }: StartRequest,
): Promise<StartedExecutor> {
  const extraArgs = resumes === undefined
    ? undefined
    : await resumeArgs(house, resumes, request.path);
  const body = { ...request, role: "agent" as const };
  const launched = await house.spawns.launch(body, undefined, { extraArgs, mark });
  return {
    resumed: extraArgs !== undefined,
    record: () => house.spawns.record(launched, { proven_human: false }).spawn_id,
    undo: () => house.spawns.undo(launched),
  };
}

async function resumeArgs({ ctx: { db }, platform }: Daemon, peer_id: string, path: string) {
  const { runtime_session_id, backend } = peerRows.get(db, peer_id) ?? {};
  const adapter = platform.adapters().find((one) => one.backend === backend);
  if (!runtime_session_id || !adapter?.resume) return undefined;
  const found = await adapter.resume({ runtime_session_id, path });
  return found.ok ? found.args : undefined;
}

async function release(
  house: Daemon,
  { spawn_id, peer_id }: { spawn_id: string; peer_id: string | null },
  { terminal }: { terminal: boolean },
): Promise<boolean> {
  const { peers, spawns, shutdownSignal, platform, ctx: { db } } = house;
  const peer = peer_id === null ? undefined : peerRows.get(db, peer_id);
  const { agent_pid = null, agent_started = null } = peer ?? {};
  const isProved = agent_pid !== null && agent_started !== null;
  try {
    await spawns.release(
      spawn_id,
      isProved ? { pid: agent_pid, started: agent_started } : undefined,
    );
  } catch (error) {
    if (shutdownSignal.aborted) return false;
    throw error;
  }
  if (peer) {
    const adapter = platform.adapters().find((one) => one.backend === peer.backend);
    await adapter?.interruptTurn?.(toAgentPeer(peer));
  }
  const now = peer_id === null ? undefined : peerRows.get(db, peer_id);
  // Whoever has taken its place meanwhile is another execution, and not ours to end.
  if (now && !now.closed && now.status !== "retired" && now.agent_started === agent_started) {
    peers.offline(now.peer_id, { reason: "job_over", source: "daemon", terminal });
  }
  return true;
}
