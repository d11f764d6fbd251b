/**
 * Identifies the peer that sends a hook's report, calls, registers or has a pane. Evidence has an
 * order: a process that the kernel proves, a certificate that was issued to a peer, and then hints.
 * A session, a pane and a name are hints: they never outweigh a proved, running process. No I/O.
 */

import type { ProcessId } from "../../../host/processes.ts";

/**
 * The process on a peer's record: `proved` by the kernel to be the peer's, `claimed` without a
 * proof, `ended`, or `none`. A process on another machine is `claimed`.
 */
export type ProcessState = "proved" | "claimed" | "ended" | "none";

/** The facts of a record by which a sender is matched with its peer. */
export interface KnownPeer {
  readonly peer_id: string;
  readonly process: ProcessId | null;
  readonly state: ProcessState;
  readonly is_live: boolean;
}

/** Proofs of a hook or a call, besides the session that it names. */
export interface SessionEvidence {
  /** The agent's process, if the kernel proves that it or its hook sends this. */
  readonly agent?: ProcessId | undefined;
  /** Without the agent's process: the sending process and its ancestors, if proved. */
  readonly lineage?: Iterable<number>;
  /** True for a server that terminals share: it runs their sessions, their processes do not. */
  readonly by_server?: boolean | undefined;
}

/**
 * The peer of a session, among the peers with this session on record, in the order of preference.
 * The session joins a sender to a peer only if the process agrees, or if neither has one.
 */
export function peerOfSession<P extends KnownPeer>(
  holders: readonly P[],
  { agent, lineage = [], by_server = false }: SessionEvidence,
): P | undefined {
  if (agent) return holders.find(({ process }) => isSameProcess(process, agent));
  // An ended process is no ancestor. The pid of a running process is not reused.
  const running = holders.filter(({ process, state }) => process && state !== "ended");
  const pids = new Set(running.length > 0 ? lineage : []);
  const agreeing = running.find(({ process }) => process && pids.has(process.pid));
  if (agreeing) return agreeing;
  return liveFirst(by_server ? holders : holders.filter(hasNoProcess))[0];
}

/**
 * True if a hook whose session joins it to no peer may register that session. Without its agent's
 * process it is no evidence beside a holder that is proved to run: such a hook may be an orphan of
 * that holder. A late hook is no evidence of a new agent.
 */
export function mayRegisterSession(
  holders: readonly KnownPeer[],
  { agent, is_late }: { readonly agent: ProcessId | undefined; readonly is_late: boolean },
): boolean {
  if (agent) return true;
  return !is_late && !holders.some(({ state }) => state === "proved");
}

/** Proofs of a registration, besides the session that it names. */
export interface JoinEvidence {
  /** The process that it names, if that is proved. */
  readonly process: ProcessId | undefined;
  /** True if it names a process, proved or not. */
  readonly names_process: boolean;
  readonly by_hook: boolean;
  /** True if the process on the peer's record, or a descendant, is proved to send it. */
  readonly is_from_peer: boolean;
}

/**
 * True if a registration that names a peer's session may continue that peer: another process may
 * once the peer's own has ended. A session alone never replaces a live peer.
 */
export function mayJoinSession(
  peer: KnownPeer,
  { process, names_process, by_hook, is_from_peer }: JoinEvidence,
): boolean {
  if (process && isSameProcess(peer.process, process)) return true;
  if (is_from_peer && !names_process) return true;
  if (peer.state === "ended") return true;
  return peer.state === "none" && (!peer.is_live || (by_hook && !process));
}

/** A peer whose process claims to run in a pane. */
export interface PaneClaim extends KnownPeer {
  /** True if it has the pane at present. */
  readonly has_pane: boolean;
  /** True if its process is known to run in another terminal than the pane's. */
  readonly is_elsewhere?: boolean;
}

/**
 * The occupant of a pane: the oldest live process in its terminal that is proved to be a peer's. A
 * process that an agent starts is younger than the agent, so it never takes the agent's pane. If no
 * process is proved, the peer that registered last has the pane. `newcomer` registers now.
 */
export function occupantOf<P extends PaneClaim>(
  claims: readonly P[],
  newcomer?: P,
): P | undefined {
  const proved = claims.filter(({ state, is_live }) => state === "proved" && is_live);
  const there = proved.filter(({ is_elsewhere = false }) => !is_elsewhere);
  // A program such as script(1) gives an agent, and all that it starts, a terminal of their own.
  const [oldest] = (there.length > 0 ? there : proved)
    .toSorted((a, b) => byAge(a.process, b.process) || byRank(a, b, newcomer));
  return oldest ?? newcomer ?? claims.find(({ has_pane, is_live }) => has_pane && is_live);
}

/** Of several peers of one process, the one that registered last has the pane. */
function byRank(a: PaneClaim, b: PaneClaim, newcomer: PaneClaim | undefined): number {
  const is_same = b.process !== null && isSameProcess(a.process, b.process);
  const rankOf = ({ peer_id, has_pane }: PaneClaim) =>
    is_same && peer_id === newcomer?.peer_id ? 2 : Number(has_pane);
  return rankOf(b) - rankOf(a);
}

/** The order of two processes by their start; 0 if it is unknown, as on macOS. */
function byAge(a: ProcessId | null, b: ProcessId | null): number {
  return Number(a?.started) - Number(b?.started) || 0;
}

/** The peer of a process, live ones first. Peers of one program cannot be distinguished by it. */
export function peerOfProcess<P extends KnownPeer>(
  [first, second]: readonly P[],
): P | undefined {
  return !second || (first?.is_live && !second.is_live) ? first : undefined;
}

/** The peer that a pane alone identifies: the first on it, if it is live and has no process. */
export function peerOfPane<P extends KnownPeer>([occupant]: readonly P[]): P | undefined {
  return occupant?.is_live && occupant.state === "none" ? occupant : undefined;
}

/** True if two facts name one process. The system reuses pids, but not with the same start time. */
export function isSameProcess(a: ProcessId | null, b: ProcessId): boolean {
  return a !== null && a.pid === b.pid && a.started === b.started;
}

function hasNoProcess({ state }: KnownPeer): boolean {
  return state === "none" || state === "ended";
}

function liveFirst<P extends KnownPeer>(peers: readonly P[]): P[] {
  return peers.toSorted((a, b) => Number(b.is_live) - Number(a.is_live));
}
