/** A peer's doctor: lays all evidence side by side, and names what contradicts what. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { AgentPeer, Probe } from "../agents/adapter.ts";
import type { PaneObservation, PaneObserver } from "../../host/tmux/pane_observer.ts";
import type { ProcessLookup } from "../peers/registration.ts";
import type { Peer } from "../peers/contract.ts";
import { PROOF_MS_MAX } from "../messages/contract.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { isLive, toAgentPeer } from "../peers/directory.ts";
import type { PeerRecords } from "../peers/records.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Check, Contradiction, Report } from "./contract.ts";

/** From then on an ask has waited, and a turn has gone on, for longer than is usual. */
const STALE_MS = 30 * 60_000;

/** Unproved messages that are counted at most: more would say nothing new. */
const UNPROVED_ROWS_MAX = 100;

export interface DoctorDeps {
  readonly records: PeerRecords;
  readonly processes: ProcessLookup;
  readonly paneObserver: PaneObserver;
  /** The name of this machine. */
  readonly machine: string;
  /** What each way to this agent says now. */
  probe(peer: AgentPeer): Promise<readonly Probe[]>;
}

/** All that was found out about a peer. */
interface Evidence {
  readonly stored: StoredPeer;
  readonly record: Peer;
  readonly isLocal: boolean;
  /** Null where there is no process that could be looked at. */
  readonly running: boolean | null;
  readonly pane: PaneObservation | null;
  /** Whether the agent's process is in the pane; null where one of them is not known. */
  readonly in_pane: boolean | null;
  /** Another live peer of the same session. */
  readonly duplicate: string | undefined;
  readonly probes: readonly Probe[];
  readonly unproved: readonly number[];
}

export class Doctor {
  readonly #ctx: Context;
  readonly #deps: DoctorDeps;
  /** What was found last of each peer: only what is new is told. */
  readonly #reported = new Map<string, ReadonlySet<string>>();

  constructor(ctx: Context, deps: DoctorDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Of how many peers findings are remembered. */
  get size(): number {
    return this.#reported.size;
  }

  /** What is known of a peer now. Nothing about it is changed; what is new is told once. */
  async examine(peer_id: string): Promise<Report> {
    const evidence = await this.#collect(peer_id);
    const now = this.#ctx.clock.now();
    const contradictions = contradictionsOf(evidence, now);
    this.#publishNew(peer_id, contradictions);
    return { peer_id, checks: checksOf(evidence, now), contradictions };
  }

  /** When messages were sent to a peer that nothing has proved, though it was time. */
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
    const stored = this.#mustGet(peer_id); // From here on all is of one moment.
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
      if (rows.get(db, known)?.closed !== false) this.#reported.delete(known); // It was removed.
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

/** Each contradiction of contract 3: whether it holds, and the sentence that says so. */
function contradictionsOf(evidence: Evidence, now: number): Contradiction[] {
  const { stored, record, running, pane, in_pane, duplicate, probes, unproved } = evidence;
  const { status, agent_pid, pane_id, turn_state, turn_at, role } = stored;
  const live = isLive(stored);
  const oldest = record.oldest_pending_age_seconds ?? 0;
  const working = turn_state === "working" ? now - (turn_at ?? now) : 0;
  const sessionChanged = probes.some(({ reason }) => reason === "session_changed");
  // deno-fmt-ignore
  const rules: readonly (readonly [boolean, Contradiction["code"], Contradiction["severity"], string])[] = [
    [live && role !== "human" && record.transport === "none", "ONLINE_BUT_NO_TRANSPORT", "warning", `It is ${status}, and nothing carries messages to it`],
    [live && pane !== null && isGone(pane),            "PANE_MISSING",        "error",   `It is ${status}, and tmux has no pane ${pane_id}`],
    [live && running === false,                        "AGENT_PID_DEAD",      "error",   `It is ${status}, and its process ${agent_pid} is not running`],
    [live && running === true && in_pane === false,    "PANE_OWNER_MISMATCH", "error",   `Its process ${agent_pid} runs outside of its pane ${pane_id}`],
    [oldest * 1000 > STALE_MS,                         "STALE_PENDING_ASK",   "warning", `An ask has waited for its answer for ${toMinutes(oldest * 1000)}`],
    [live && working > STALE_MS,                       "TURN_STUCK",          "warning", `Its turn has gone on for ${toMinutes(working)}, and no hook has said more`],
    [status === "retired" && running === true,         "RETIRED_BUT_LIVE",    "error",   `It is retired, and its process ${agent_pid} runs on`],
    [sessionChanged,                                          "SESSION_MISMATCH",    "error",   "Its process runs another session than the registered one"],
    [live && !sessionChanged && duplicate !== undefined,           "SESSION_MISMATCH",    "error",   `${duplicate} is registered with the same session`],
    [unproved.length > 0,                              "UNPROVED_DELIVERY",   "warning", `Nothing has proved that ${unproved.length} of its messages were read`],
  ];
  return rules.flatMap(([applies, code, severity, detail]) =>
    applies ? [{ code, severity, detail }] : []
  );
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
  const machine = isLocal
    ? "this machine"
    : `${stored.machine}, which cannot be looked at from here`;
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
    check("asks", null, "ledger", { age: oldest, detail: `${record.pending_ask_count} wait` }),
    check("proofs", unproved.length === 0, "ledger", {
      age: secondsSince(unproved[0] ?? null),
      detail: `${unproved.length} messages unproved`,
    }),
  ];
}

function describeProcess({ agent_pid, agent_started }: StoredPeer): string {
  if (agent_pid === null) return "none registered";
  return `pid ${agent_pid}, started ${agent_started ?? "before anyone looked"}`;
}

function describePane(pane: PaneObservation | null): string {
  if (pane?.state !== "found") return pane?.state ?? "not looked at";
  const { pane_pid: pid, command, dead } = pane.pane;
  return dead ? "dead" : `${command}, pid ${pid}`;
}

function isGone(pane: PaneObservation): boolean {
  return pane.state === "missing" || (pane.state === "found" && pane.pane.dead);
}

function toMinutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min`;
}
