/** A peer's doctor: lays all evidence side by side, and names what contradicts what. */

import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Addressee, Probe } from "../agents/adapter.ts";
import type { PaneSight, PaneSights } from "../../host/tmux/observations.ts";
import type { Processes } from "../peers/registration.ts";
import type { Peer } from "../peers/contract.ts";
import { type Directory, isLive, placeOf } from "../peers/directory.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Check, Contradiction, Report } from "./contract.ts";

/** From then on an ask has waited, and a turn has gone on, for longer than is usual. */
const STALE_MS = 30 * 60_000;

export interface DoctorNeeds {
  readonly directory: Directory;
  readonly processes: Processes;
  readonly sights: PaneSights;
  /** The name of this machine. */
  readonly machine: string;
  /** What each way to this agent says now. */
  probe(peer: Addressee): Promise<readonly Probe[]>;
  /** When messages were sent to it that nothing has proved, though it was time. */
  unproved(peer_id: string): readonly number[];
}

/** All that was found out about a peer. */
interface Evidence {
  readonly stored: StoredPeer;
  readonly record: Peer;
  readonly here: boolean;
  /** Null where there is no process that could be looked at. */
  readonly running: boolean | null;
  readonly pane: PaneSight | null;
  /** Whether the agent's process is in the pane; null where one of them is not known. */
  readonly in_pane: boolean | null;
  /** Another live peer of the same session. */
  readonly twin: string | undefined;
  readonly probes: readonly Probe[];
  readonly unproved: readonly number[];
}

export class Doctor {
  readonly #ground: Ground;
  readonly #needs: DoctorNeeds;
  /** What was found last of each peer: only what is new is told. */
  readonly #known = new Map<string, ReadonlySet<string>>();

  constructor(ground: Ground, needs: DoctorNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** Of how many peers findings are remembered. */
  get size(): number {
    return this.#known.size;
  }

  /** What is known of a peer now. Nothing about it is changed; what is new is told once. */
  async examine(peer_id: string): Promise<Report> {
    const evidence = await this.#gather(peer_id);
    const now = this.#ground.clock.now();
    const contradictions = contradictionsOf(evidence, now);
    this.#tell(peer_id, contradictions);
    return { peer_id, checks: checksOf(evidence, now), contradictions };
  }

  async #gather(peer_id: string): Promise<Evidence> {
    const { db } = this.#ground;
    const { directory, processes, sights, machine } = this.#needs;
    const asked = this.#mustGet(peer_id);
    const here = asked.machine === null || asked.machine === machine;
    const pane = here && asked.pane_id !== null && asked.status !== "retired"
      ? await sights.at(asked.tmux_socket, asked.pane_id)
      : null;
    const probes = asked.status === "retired" || !here
      ? []
      : await this.#needs.probe(placeOf(asked));
    const stored = this.#mustGet(peer_id); // From here on all is of one moment.
    const { agent_pid, agent_started, backend, runtime_session_id: session } = stored;
    const twin = rows.bySession(db, session ?? "").find((other) =>
      other.peer_id !== peer_id && other.backend === backend && isLive(other)
    );
    return {
      stored,
      here,
      pane,
      probes,
      record: directory.record(peer_id),
      running: agent_pid === null || !here
        ? null
        : agent_started !== null && processes.isAlive(agent_pid, agent_started),
      in_pane: agent_pid !== null && pane?.state === "found"
        ? sights.holds(pane.pane, agent_pid)
        : null,
      twin: twin?.peer_id,
      unproved: this.#needs.unproved(peer_id),
    };
  }

  #tell(peer_id: string, contradictions: readonly Contradiction[]): void {
    const before = this.#known.get(peer_id);
    const { db, events } = this.#ground;
    for (const known of this.#known.keys()) {
      if (rows.get(db, known)?.closed !== false) this.#known.delete(known); // It was removed.
    }
    if (contradictions.length === 0) this.#known.delete(peer_id);
    else this.#known.set(peer_id, new Set(contradictions.map(({ code }) => code)));
    const news = contradictions.filter(({ code }) => !before?.has(code));
    if (news.length === 0) return;
    db.transact(() => {
      for (const { code, severity } of news) {
        events.append("peer_contradiction", { peer_id, code, severity });
      }
    });
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = rows.get(this.#ground.db, peer_id);
    if (!peer || peer.closed) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }
}

/** Each contradiction of contract 3: whether it holds, and the sentence that says so. */
function contradictionsOf(evidence: Evidence, now: number): Contradiction[] {
  const { stored, record, running, pane, in_pane, twin, probes, unproved } = evidence;
  const { status, agent_pid, pane_id, turn_state, turn_at, role } = stored;
  const live = isLive(stored);
  const oldest = record.oldest_pending_age_seconds ?? 0;
  const working = turn_state === "working" ? now - (turn_at ?? now) : 0;
  const changed = probes.some(({ reason }) => reason === "session_changed");
  // deno-fmt-ignore
  const table: readonly (readonly [boolean, Contradiction["code"], Contradiction["severity"], string])[] = [
    [live && role !== "human" && record.transport === "none", "ONLINE_BUT_NO_TRANSPORT", "warning", `It is ${status}, and nothing carries messages to it`],
    [live && pane !== null && isGone(pane),            "PANE_MISSING",        "error",   `It is ${status}, and tmux has no pane ${pane_id}`],
    [live && running === false,                        "AGENT_PID_DEAD",      "error",   `It is ${status}, and its process ${agent_pid} is not running`],
    [live && running === true && in_pane === false,    "PANE_OWNER_MISMATCH", "error",   `Its process ${agent_pid} runs outside of its pane ${pane_id}`],
    [oldest * 1000 > STALE_MS,                         "STALE_PENDING_ASK",   "warning", `An ask has waited for its answer for ${minutes(oldest * 1000)}`],
    [live && working > STALE_MS,                       "TURN_STUCK",          "warning", `Its turn has gone on for ${minutes(working)}, and no hook has said more`],
    [status === "retired" && running === true,         "RETIRED_BUT_LIVE",    "error",   `It is retired, and its process ${agent_pid} runs on`],
    [changed,                                          "SESSION_MISMATCH",    "error",   "Its process runs another session than the registered one"],
    [live && !changed && twin !== undefined,           "SESSION_MISMATCH",    "error",   `${twin} is registered with the same session`],
    [unproved.length > 0,                              "UNPROVED_DELIVERY",   "warning", `Nothing has proved that ${unproved.length} of its messages were read`],
  ];
  return table.flatMap(([holds, code, severity, detail]) =>
    holds ? [{ code, severity, detail }] : []
  );
}

function checksOf(evidence: Evidence, now: number): Check[] {
  const { stored, record, here, running, pane, in_pane, probes, unproved } = evidence;
  const { status, status_by, status_at, offline_reason, turn_state, turn_by, turn_at } = stored;
  const ago = (at: number | null) => at === null ? null : Math.max(0, now - at) / 1000;
  const check = (name: string, ok: boolean | null, source: string | null, more: {
    age: number | null;
    detail: string;
  }): Check => ({ name, ok, source, age_seconds: more.age, detail: more.detail });
  const why = offline_reason === null ? "" : `: ${offline_reason}`;
  const machine = here ? "this machine" : `${stored.machine}, which cannot be looked at from here`;
  const oldest = record.oldest_pending_age_seconds;
  return [
    check("machine", here, "registration", { age: ago(stored.registered_at), detail: machine }),
    check("status", isLive(stored), status_by, { age: ago(status_at), detail: `${status}${why}` }),
    check("turn", null, turn_by, { age: ago(turn_at), detail: turn_state ?? "unknown" }),
    check("last sign", null, "peer", { age: ago(record.last_seen), detail: "touch, ask or drain" }),
    check("process", running, "process table", { age: 0, detail: processOf(stored) }),
    check("pane", pane === null || pane.state === "unknown" ? null : !isGone(pane), "tmux", {
      age: 0,
      detail: stored.pane_id === null ? "none registered" : `${stored.pane_id}: ${sightOf(pane)}`,
    }),
    check("process in pane", in_pane, "process table", {
      age: 0,
      detail: stored.pane_id ?? "none",
    }),
    check("socket", record.ws_connected || null, "websocket", {
      age: 0,
      detail: record.ws_connected ? "connected" : "none",
    }),
    ...probes.map(({ rung, ready, reason, degraded }) =>
      check(`rung ${rung}`, ready && degraded === null, rung, {
        age: 0,
        detail: [reason ?? "ready", ...(degraded === null ? [] : [`degraded: ${degraded}`])].join(
          ", ",
        ),
      })
    ),
    check("asks", null, "ledger", { age: oldest, detail: `${record.pending_ask_count} wait` }),
    check("proofs", unproved.length === 0, "ledger", {
      age: ago(unproved[0] ?? null),
      detail: `${unproved.length} messages unproved`,
    }),
  ];
}

function processOf({ agent_pid, agent_started }: StoredPeer): string {
  if (agent_pid === null) return "none registered";
  return `pid ${agent_pid}, started ${agent_started ?? "before anyone looked"}`;
}

function sightOf(pane: PaneSight | null): string {
  if (pane?.state !== "found") return pane?.state ?? "not looked at";
  const { pane_pid: pid, command, dead } = pane.pane;
  return dead ? "dead" : `${command}, pid ${pid}`;
}

function isGone(pane: PaneSight): boolean {
  return pane.state === "missing" || (pane.state === "found" && pane.pane.dead);
}

function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min`;
}
