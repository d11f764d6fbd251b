/**
 * During a restart, decides whether a report or a registration comes from the replaced or the new
 * execution of the peer (specification 3).
 */

import type { Reader } from "kit/data/sqlite.ts";
import type { Registration } from "protocol/peers/record.ts";
import type { RegistrationEvidence } from "../../peers/registration.ts";
import * as peerRows from "../../peers/store.ts";
import type { StoredPeer } from "../../peers/store.ts";
import * as rows from "./store.ts";

/** The peer that a restart is for; undefined if it is unknown or closed. */
export function readSubject(db: Reader, peer_id: string): StoredPeer | undefined {
  const peer = peerRows.get(db, peer_id);
  return peer?.closed ? undefined : peer;
}

/** True while a restart of this peer is in progress. */
export function isRestarting(db: Reader, peer_id: string): boolean {
  return rows.openOf(db, peer_id) !== undefined;
}

/**
 * True if a report for a peer comes from the execution that a restart replaces. While that
 * execution is being stopped, every report does; after that, only the reports of its process do.
 */
export function isSuperseded(db: Reader, peer_id: string, agent_pid: number | null): boolean {
  const open = rows.openOf(db, peer_id);
  if (!open || open.old_pid === null) return false;
  const launched = open.state === "launch" || open.state === "register";
  return open.state === "stop" || (launched && agent_pid === open.old_pid);
}

/**
 * Completes a registration in the pane of a restart that has launched its agent, because the
 * registration is that of the restarted peer.
 */
export function expectedRestart(
  db: Reader,
  { peer_id, pane_id, tmux_socket, backend, agent_pid }: Registration,
  { by_hook, isProcess }: RegistrationEvidence,
): Partial<Registration> | undefined {
  if (pane_id === undefined) return undefined;
  const found = rows.open(db).find((open) =>
    open.pane_id === pane_id && (open.state === "launch" || open.state === "register") &&
    (tmux_socket === undefined || tmux_socket === open.tmux_socket) &&
    agent_pid !== open.old_pid && (peer_id === undefined || peer_id === open.peer_id)
  );
  const subject = found && readSubject(db, found.peer_id);
  if (!found || !subject || subject.backend !== backend) return undefined;
  // Any caller may name the pane, so only a hook or a process that was started in the pane replaces
  // the peer's agent.
  const isFromPane = found.new_pid !== null && isProcess?.(found.new_pid);
  if (!by_hook && !isFromPane) return undefined;
  if (subject.status === "retired") return undefined;
  const pid = agent_pid ?? found.new_pid;
  const { name, circle } = subject;
  return { peer_id: found.peer_id, name, circle, ...(pid && { agent_pid: pid }) };
}
