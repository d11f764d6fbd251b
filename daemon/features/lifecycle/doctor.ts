/** The doctor of peers: collects the evidence about a peer, and reports contradictions in it. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { AgentPeer, Probe } from "../agents/adapter.ts";
import type { PaneObservation, PaneObserver } from "../../host/tmux/pane_observer.ts";
import type { ProcessLookup } from "../peers/registration.ts";
import type { Peer } from "../peers/schemas.ts";
import { PROOF_MS_MAX } from "../messages/contract.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { isLive } from "../peers/directory.ts";
import { toAgentPeer } from "../peers/agent_peers.ts";
import type { PeerRecords } from "../peers/records.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Check, Contradiction, Report } from "./contract.ts";

/** After this time an open ask counts as stale, and a turn counts as stuck. */
const STALE_MS = 30 * 60_000;

/**
 * The maximum number of unproved messages that are counted. A higher count would say nothing new.
 */
const UNPROVED_ROWS_MAX = 100;

export interface DoctorDeps {
  readonly records: PeerRecords;
  readonly processes: ProcessLookup;
  readonly paneObserver: PaneObserver;
  /** The name of this machine. */
  readonly machine: string;
  /** The state of each transport to this agent. */
  probe(peer: AgentPeer): Promise<readonly Probe[]>;
}

/** The evidence about a peer. */
interface Evidence {
  readonly stored: StoredPeer;
  readonly record: Peer;
  readonly isLocal: boolean;
  /** Whether the registered process runs; null if there is none that can be checked. */
  readonly running: boolean | null;
  readonly pane: PaneObservation | null;
  /** Whether the agent's process is in the pane; null if either of them is unknown. */
  readonly in_pane: boolean | null;
  /** The id of another live peer with the same session. */
  readonly duplicate: string | undefined;
  readonly probes: readonly Probe[];
  readonly unproved: readonly number[];
}

export class Doctor {
  readonly #ctx: Context;
  readonly #deps: DoctorDeps;
  /** The contradictions last found for each peer, as only new contradictions are published. */
  readonly #reported = new Map<string, ReadonlySet<string>>();

  constructor(ctx: Context, deps: DoctorDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** How many peers have remembered contradictions. */
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

  /**
   * When each message was sent to the peer that is still not proved, although the time for a proof
   * is over.
   */
  #unprovedSince(to_peer_id: string): readonly number[] {
    const { db, clock } = this.#ctx;
    const before = clock.now() - PROOF_MS_MAX;
    const filter = { to_peer_id, before, limit: UNPROVED_ROWS_MAX };
    return ledger.unproved(db, filter).flatMap(({ sent_at }) => sent_at ?? []);
  }

  async #collect(peer_id: string): Promise<Evidence> {
    const { db } = this.#ctx;
    const { records, processes, paneObserver, machine } = this.#deps;
    const initial = this.#mustGet(peer_id);
    const isLocal = initial.machine === null || initial.machine === machine;
    const pane = isLocal && initial.pane_id !== null && initial.status !== "retired"
      ? await paneObserver.at(initial.tmux_socket, initial.pane_id)
      : null;
    const probes = initial.status === "retired" || !isLocal
      ? []
      : await this.#deps.probe(toAgentPeer(initial));
    // Read again after the waits above, so that the rest is of one moment.
    const stored = this.#mustGet(peer_id);
    const { agent_pid, agent_started, backend, runtime_session_id: session } = stored;
    const duplicate = rows.bySession(db, session ?? "").find((other) =>
      other.peer_id !== peer_id && other.backend === backend && isLive(other)
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
      const isRemoved = rows.get(db, known)?.closed !== false;
      if (isRemoved) this.#reported.delete(known);
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
  const { status, agent_pid, pane_id, turn_state, turn_at, role } = stored;
  const isOnline = isLive(stored);
  const pending_ms = (record.oldest_pending_age_seconds ?? 0) * 1000;
  const working_ms = turn_state === "working" ? now - (turn_at ?? now) : 0;
  const sessionChanged = probes.some(({ reason }) => reason === "session_changed");
  if (isOnline && role !== "human" && record.transport === "none") {
    yield warning("ONLINE_BUT_NO_TRANSPORT", `It is ${status}, and no transport reaches it`);
  }
  if (isOnline && pane !== null && isGone(pane)) {
    yield error("PANE_MISSING", `It is ${status}, and tmux has no pane ${pane_id}`);
  }
  if (isOnline && running === false) {
    yield error("AGENT_PID_DEAD", `It is ${status}, and its process ${agent_pid} is not running`);
  }
  if (isOnline && running === true && in_pane === false) {
    yield error("PANE_OWNER_MISMATCH", `Its process ${agent_pid} runs outside its pane ${pane_id}`);
  }
  if (pending_ms > STALE_MS) {
    yield warning(
      "STALE_PENDING_ASK",
      `An ask has waited for an answer for ${toMinutes(pending_ms)}`,
    );
  }
  if (isOnline && working_ms > STALE_MS) {
    const duration = toMinutes(working_ms);
    yield warning("TURN_STUCK", `Its turn has lasted ${duration}, and no hook has reported since`);
  }
  if (status === "retired" && running === true) {
    yield error("RETIRED_BUT_LIVE", `It is retired, and its process ${agent_pid} still runs`);
  }
  if (sessionChanged) {
    const detail = "Its process runs a different session than the registered one";
    yield error("SESSION_MISMATCH", detail);
  } else if (isOnline && duplicate !== undefined) {
    yield error("SESSION_MISMATCH", `${duplicate} is registered with the same session`);
  }
  if (unproved.length > 0) {
    const detail = `${unproved.length} of its messages are not proved to be read`;
    yield warning("UNPROVED_DELIVERY", detail);
  }
}

function error(code: Contradiction["code"], detail: string): Contradiction {
  return { code, severity: "error", detail };
}

function warning(code: Contradiction["code"], detail: string): Contradiction {
  return { code, severity: "warning", detail };
}

function checksOf(evidence: Evidence, now: number): Check[] {
  const { stored, record, isLocal, running, pane, in_pane, probes, unproved } = evidence;
  const { status, status_by, status_at, offline_reason, turn_state, turn_by, turn_at } = stored;
  const secondsSince = (at: number | null) => at === null ? null : Math.max(0, now - at) / 1000;
  const check = (name: string, ok: boolean | null, source: string | null, details: {
    age: number | null;
    detail: string;
  }): Check => ({ name, ok, source, age_seconds: details.age, detail: details.detail });
  const why = offline_reason === null ? "" : `: ${offline_reason}`;
  const machine = isLocal ? "this machine" : `${stored.machine}, which this daemon cannot check`;
  const oldest = record.oldest_pending_age_seconds;
  return [
    check("machine", isLocal, "registration", {
      age: secondsSince(stored.registered_at),
      detail: machine,
    }),
    check("status", isLive(stored), status_by, {
      age: secondsSince(status_at),
      detail: `${status}${why}`,
    }),
    check("turn", null, turn_by, { age: secondsSince(turn_at), detail: turn_state ?? "unknown" }),
    check("last sign", null, "peer", {
      age: secondsSince(record.last_seen),
      detail: "touch, ask or drain",
    }),
    check("process", running, "process table", { age: 0, detail: describeProcess(stored) }),
    check("pane", pane === null || pane.state === "unknown" ? null : !isGone(pane), "tmux", {
      age: 0,
      detail: stored.pane_id === null
        ? "none registered"
        : `${stored.pane_id}: ${describePane(pane)}`,
    }),
    check("process in pane", in_pane, "process table", {
      age: 0,
      detail: stored.pane_id ?? "none",
    }),
    check("socket", record.ws_connected || null, "websocket", {
      age: 0,
      detail: record.ws_connected ? "connected" : "none",
    }),
    ...probes.map(({ transport, ready, reason, degraded }) =>
      check(`transport ${transport}`, ready && degraded === null, transport, {
        age: 0,
        detail: [reason ?? "ready", ...(degraded === null ? [] : [`degraded: ${degraded}`])].join(
          ", ",
        ),
      })
    ),
    check("asks", null, "ledger", { age: oldest, detail: `${record.pending_ask_count} pending` }),
    check("proofs", unproved.length === 0, "ledger", {
      age: secondsSince(unproved[0] ?? null),
      detail: `${unproved.length} messages unproved`,
    }),
  ];
}

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
