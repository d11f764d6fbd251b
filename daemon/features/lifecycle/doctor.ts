/** The doctor of peers: collects the evidence about a peer, and reports contradictions in it. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Probe } from "../agents/adapter.ts";
import { definitionOf } from "../agents/registry.ts";
import type { PaneObservation } from "../../host/tmux/pane_observer.ts";
import type { Peer } from "protocol/peers/record.ts";
import { PROOF_MS_MAX } from "protocol/messages/contract.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { isLive, isOnMachine } from "../peers/directory.ts";
import { isSubagent } from "../peers/subagents.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Check, Contradiction, Report } from "protocol/lifecycle.ts";
import type { LifecycleDeps } from "./deps.ts";

/** After this time an open ask counts as stale, and a turn counts as stuck. */
const STALE_MS = 30 * 60_000;

/** Maximum unproved messages that are counted; a higher count would say nothing new. */
const UNPROVED_ROWS_MAX = 100;

/** The evidence about a peer. */
interface Evidence {
  readonly stored: StoredPeer;
  readonly record: Peer;
  readonly isLocal: boolean;
  /** True if the registered process runs; null if no process can be checked. */
  readonly running: boolean | null;
  readonly pane: PaneObservation | null;
  /** True if the agent's process is in the pane; null if either of them is unknown. */
  readonly in_pane: boolean | null;
  /** The id of another live peer with the same session. */
  readonly duplicate: string | undefined;
  readonly probes: readonly Probe[];
  readonly unproved: readonly number[];
}

export class Doctor {
  readonly #ctx: Context;
  readonly #deps: LifecycleDeps;
  /** The contradictions last found for each peer, as only new contradictions are published. */
  readonly #reported = new Map<string, ReadonlySet<string>>();

  constructor(ctx: Context, deps: LifecycleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Number of peers with remembered contradictions. */
  get size(): number {
    return this.#reported.size;
  }

  /** Examines a peer without changing it. A new contradiction is published once. */
  async examine(peer_id: string): Promise<Report> {
    const evidence = await this.#collect(peer_id);
    const now = this.#ctx.clock.now();
    const contradictions = [...contradictionsOf(evidence, now)];
    this.#publishNew(peer_id, contradictions);
    return { peer_id, checks: checksOf(evidence, now), contradictions };
  }

  /** The times at which the peer's unproved messages were sent whose time for a proof is over. */
  #unprovedSince(to_peer_id: string): readonly number[] {
    const { db, clock } = this.#ctx;
    const before = clock.now() - PROOF_MS_MAX;
    const filter = { to_peer_id, before, limit: UNPROVED_ROWS_MAX };
    return ledger.unproved(db, filter).flatMap(({ sent_at }) => sent_at ?? []);
  }

  async #collect(peer_id: string): Promise<Evidence> {
    const { db } = this.#ctx;
    const { records, processes, paneObserver, machine, transports } = this.#deps;
    const initial = this.#mustGet(peer_id);
    const isLocal = isOnMachine(initial, machine);
    const pane = isLocal && initial.pane_id !== null && initial.status !== "retired"
      ? await paneObserver.at(initial.tmux_socket, initial.pane_id)
      : null;
    const isProbed = isLocal && initial.status !== "retired" && initial.addressable;
    const probes = isProbed ? await transports.probe(initial) : [];
    // Read again after the waits above, so that all facts are of one moment.
    const stored = this.#mustGet(peer_id);
    const { agent_pid, agent_started, backend, runtime_session_id: session } = stored;
    const duplicate = rows.bySession(db, session ?? "").find((holder) =>
      holder.peer_id !== peer_id && holder.backend === backend && isLive(holder)
    );
    return {
      stored,
      isLocal,
      pane,
      probes,
      record: records.mustGet(peer_id),
      running: agent_pid === null || !isLocal
        ? null
        : agent_started !== null && processes.isAlive(agent_pid, agent_started),
      in_pane: agent_pid !== null && pane?.state === "found"
        ? paneObserver.holds(pane.pane, agent_pid)
        : null,
      duplicate: duplicate?.peer_id,
      unproved: this.#unprovedSince(peer_id),
    };
  }

  #publishNew(peer_id: string, contradictions: readonly Contradiction[]): void {
    const previous = this.#reported.get(peer_id);
    const { db, events } = this.#ctx;
    for (const known of this.#reported.keys()) {
      if (rows.get(db, known)?.closed !== false) this.#reported.delete(known);
    }
    if (contradictions.length === 0) this.#reported.delete(peer_id);
    else this.#reported.set(peer_id, new Set(contradictions.map(({ code }) => code)));
    const added = contradictions.filter(({ code }) => !previous?.has(code));
    if (added.length === 0) return;
    db.transact(() => {
      for (const { code, severity } of added) {
        events.append("peer_contradiction", { peer_id, code, severity });
      }
    });
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer || peer.closed) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }
}

/** The contradictions that the evidence shows. Contract 3 defines them. */
function* contradictionsOf(evidence: Evidence, now: number): Generator<Contradiction> {
  const { stored, record, running, pane, in_pane, duplicate, probes, unproved } = evidence;
  const { status, agent_pid, pane_id, turn_state, turn_at, role, addressable } = stored;
  const isOnline = isLive(stored);
  const pending_ms = (record.oldest_pending_age_seconds ?? 0) * 1000;
  const working_ms = turn_state === "working" ? now - (turn_at ?? now) : 0;
  if (isOnline && role !== "human" && addressable && record.transport === "none") {
    yield warning("ONLINE_BUT_NO_TRANSPORT", `It is ${status}, and no transport reaches it`);
  }
  if (isOnline && pane !== null && isGone(pane)) {
    yield error("PANE_MISSING", `It is ${status}, and ${record.terminal} has no pane ${pane_id}`);
  }
  if (isOnline && running === false) {
    yield error("AGENT_PID_DEAD", `It is ${status}, and its process ${agent_pid} is not running`);
  }
  if (isOnline && running === true && in_pane === false) {
    yield error("PANE_OWNER_MISMATCH", `Its process ${agent_pid} runs outside its pane ${pane_id}`);
  }
  if (pending_ms > STALE_MS) {
    const duration = toMinutes(pending_ms);
    yield warning("STALE_PENDING_ASK", `An ask has waited for an answer for ${duration}`);
  }
  // A subagent works until it ends, and reports nothing in between.
  if (isOnline && working_ms > STALE_MS && !isSubagent(stored)) {
    const duration = toMinutes(working_ms);
    yield warning("TURN_STUCK", `Its turn has lasted ${duration}, and no hook has reported since`);
  }
  if (status === "retired" && running === true) {
    yield error("RETIRED_BUT_LIVE", `It is retired, and its process ${agent_pid} still runs`);
  }
  if (probes.some(({ reason }) => reason === "session_changed")) {
    yield error("SESSION_MISMATCH", "Its process runs a different session than the registered one");
  } else if (isOnline && duplicate !== undefined) {
    yield error("SESSION_MISMATCH", `${duplicate} is registered with the same session`);
  }
  if (unproved.length > 0 && canProve(stored)) {
    const count = unproved.length;
    yield warning("UNPROVED_DELIVERY", `${count} of its messages are not proved to be read`);
  }
}

/** True if a hook or a receipt can prove a delivery: not for a program known by its pane only. */
function canProve({ backend }: StoredPeer): boolean {
  const agent = definitionOf(backend);
  if (agent === undefined || agent.hooks !== undefined) return true;
  return agent.transports.some((transport) => transport !== "pane");
}

function error(code: Contradiction["code"], detail: string): Contradiction {
  return { code, severity: "error", detail };
}

function warning(code: Contradiction["code"], detail: string): Contradiction {
  return { code, severity: "warning", detail };
}

function checksOf(evidence: Evidence, now: number): Check[] {
  const { stored, record, isLocal, running, pane, in_pane, probes, unproved } = evidence;
  const { status, status_by, offline_reason, turn_state, turn_by, pane_id } = stored;
  const since = (at: number | null) => at === null ? null : Math.max(0, now - at) / 1000;
  const why = offline_reason === null ? "" : `: ${offline_reason}`;
  const machine = isLocal ? "this machine" : `${stored.machine}, which this daemon cannot check`;
  const isPaneThere = pane === null || pane.state === "unknown" ? null : !isGone(pane);
  const shownPane = pane_id === null ? "none registered" : `${pane_id}: ${describePane(pane)}`;
  const process = describeProcess(stored);
  const asks = `${record.pending_ask_count} pending`;
  const proofs = `${unproved.length} messages unproved`;
  const connected = record.ws_connected;
  const checks: CheckRow[] = [
    ["machine", isLocal, "registration", since(stored.registered_at), machine],
    ["status", isLive(stored), status_by, since(stored.status_at), `${status}${why}`],
    ["turn", null, turn_by, since(stored.turn_at), turn_state ?? "unknown"],
    ["last sign", null, "peer", since(record.last_seen), "touch, ask or drain"],
    ["process", running, "process table", 0, process],
    ["pane", isPaneThere, record.terminal ?? "tmux", 0, shownPane],
    ["process in pane", in_pane, "process table", 0, pane_id ?? "none"],
    ["socket", connected || null, "websocket", 0, connected ? "connected" : "none"],
    ...probes.map(({ transport, ready, reason, degraded }): CheckRow => {
      const detail = `${reason ?? "ready"}${degraded === null ? "" : `, degraded: ${degraded}`}`;
      return [`transport ${transport}`, ready && degraded === null, transport, 0, detail];
    }),
    ["asks", null, "ledger", record.oldest_pending_age_seconds, asks],
    ["proofs", unproved.length === 0, "ledger", since(unproved[0] ?? null), proofs],
  ];
  return checks.map(([name, ok, source, age_seconds, detail]) => {
    return { name, ok, source, age_seconds, detail };
  });
}

type CheckRow = [
  Check["name"],
  Check["ok"],
  Check["source"],
  Check["age_seconds"],
  Check["detail"],
];

function describeProcess({ agent_pid, agent_started }: StoredPeer): string {
  if (agent_pid === null) return "none registered";
  return `pid ${agent_pid}, started ${agent_started ?? "at an unknown time"}`;
}

function describePane(pane: PaneObservation | null): string {
  if (pane?.state !== "found") return pane?.state ?? "not checked";
  const { pane_pid: pid, command, dead } = pane.pane;
  return dead ? "dead" : `${command}, pid ${pid}`;
}

function isGone(pane: PaneObservation): boolean {
  return pane.state === "missing" || (pane.state === "found" && pane.pane.dead);
}

function toMinutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min`;
}
