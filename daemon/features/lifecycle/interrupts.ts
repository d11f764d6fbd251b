/** Interrupts the turns of peers, and reports only what is proved. */

import { stopwatch } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import type { Context } from "../../data/context.ts";
import type { Interrupted, InterruptOutcome } from "protocol/interrupts.ts";
import type { Wait } from "protocol/peers/record.ts";
import { Problem, recoverableProblem } from "protocol/problems.ts";
import { type Reason, sentenceOf } from "protocol/reasons.ts";
import type { AgentPeer, InterruptAttempt, TurnEnd } from "../agents/adapter.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { Sockets } from "../messages/websocket/sockets.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import {
  type Directory,
  isLive,
  isOnline,
  mustBeOnMachine,
  mustGetPeer,
} from "../peers/directory.ts";
import type { PeerRecords } from "../peers/records.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { isSubagent } from "../peers/subagents.ts";
import type { PeerTurns } from "../peers/turns.ts";

/** Maximum time for a proof that the turn has ended. */
const PROOF_MS_MAX = 5_000;
const LOOK_EVERY_MS = 250;
/** Time in which an agent's records may still say how a turn ended that is over. */
const RECORDS_MS = 750;

/** The caller who wants a turn interrupted, as far as it is proved. */
export interface InterruptCaller {
  readonly isHuman: boolean;
  /** True if another machine passes the request on. */
  readonly isOnOtherMachine: boolean;
  readonly peer_id: string | undefined;
  /** True for the daemon itself, if the setting `breakers.loops` says so. */
  readonly isBreaker?: true;
}

interface InterruptsDeps {
  readonly agentPeers: Pick<AgentPeers, "getRecord">;
  readonly directory: Pick<Directory, "human">;
  /** The name of this machine. */
  readonly machine: string;
  readonly records: Pick<PeerRecords, "mustGet">;
  readonly shutdownSignal: AbortSignal;
  readonly sockets: Pick<Sockets, "getSession">;
  readonly transports: Pick<AgentTransports, "adapterOf">;
  readonly turns: PeerTurns;
}

/** A finding about a turn since it was to be interrupted. */
type Finding = Pick<Interrupted, "outcome" | "proof">;

export class Interrupts {
  readonly #ctx: Context;
  readonly #deps: InterruptsDeps;
  /** The peers that are being interrupted. */
  readonly #running = new Set<string>();

  constructor(ctx: Context, deps: InterruptsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Interrupts a peer's turn if it is proved to run, and waits for a proof of its end. */
  interrupt(peer_id: string, caller: InterruptCaller): Promise<Interrupted> {
    const peer = this.#mustGet(peer_id);
    return this.#interrupt(peer, this.#mustBeAllowed(peer, caller));
  }

  /** Interrupts a turn that the daemon itself has found to be stuck. */
  interruptStuck(peer_id: string): Promise<Interrupted> {
    return this.#interrupt(this.#mustGet(peer_id), { peer_id: null, name: "@mesh" });
  }

  /** Interrupts the peers that are at work, in the background. A refusal is only logged. */
  interruptWorking(peer_ids: readonly string[], caller: InterruptCaller): void {
    const { background, db } = this.#ctx;
    for (const peer_id of peer_ids) {
      if (rows.get(db, peer_id)?.turn_state !== "working") continue;
      background.run("An agent was not interrupted", this.#tryToInterrupt(peer_id, caller));
    }
  }

  async #tryToInterrupt(peer_id: string, caller: InterruptCaller): Promise<void> {
    try {
      await this.interrupt(peer_id, caller);
    } catch (error) {
      if (!recoverableProblem(error)) throw error;
      this.#ctx.log.info("An agent was not interrupted", { peer_id, error });
    }
  }

  async #interrupt(peer: StoredPeer, by: Author): Promise<Interrupted> {
    const { peer_id } = peer;
    if (this.#running.has(peer_id)) {
      throw new Problem("interrupt_in_progress", { peer: peer.name, peer_id });
    }
    this.#running.add(peer_id);
    this.#deps.turns.setInterrupter(peer_id, by.name);
    try {
      return await this.#run(peer, by);
    } finally {
      this.#deps.turns.setInterrupter(peer_id, undefined);
      this.#running.delete(peer_id);
    }
  }

  async #run({ peer_id, name }: StoredPeer, from: Author): Promise<Interrupted> {
    await this.#observe(peer_id);
    const started_at = this.#ctx.clock.now();
    const attempt = await this.#ask(peer_id, from);
    if (attempt.state === "refused") {
      const { reason } = attempt;
      this.#record(peer_id, from, { outcome: "refused", by: null, reason });
      const why = sentenceOf(reason);
      throw new Problem("interrupt_refused", { peer: name, peer_id, reason, why });
    }
    const { outcome, proof } = attempt.state === "idle"
      ? { outcome: "not_busy" as const, proof: null }
      : await this.#proofSince(peer_id, started_at);
    const by = attempt.state === "asked" ? attempt.by : null;
    this.#record(peer_id, from, { outcome, by, reason: proof });
    return { peer_id, name, outcome, by, proof, detail: detailOf(name, { outcome, by, proof }) };
  }

  /**
   * Asks the peer to stop its turn. Reports of a turn are late at times, so a peer that shows
   * something else than was reported is looked at once more.
   */
  async #ask(peer_id: string, from: Author): Promise<InterruptAttempt> {
    const attempt = await this.#tryToAsk(peer_id, from);
    if (!isContradiction(attempt)) return attempt;
    await pause(this.#ctx.clock, RECORDS_MS, this.#deps.shutdownSignal);
    await this.#observe(peer_id);
    return await this.#tryToAsk(peer_id, from);
  }

  /** Asks the peer, through its client or by its adapter. */
  async #tryToAsk(peer_id: string, from: Author): Promise<InterruptAttempt> {
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    const refusal = refusalOf(peer, this.#deps.records.mustGet(peer_id).waits_for);
    if (refusal !== undefined) return { state: "refused", reason: refusal };
    const isWorking = peer.turn_state === "working";
    const session = this.#deps.sockets.getSession(peer_id);
    if (session?.open && session.identity.interrupts) {
      if (!isWorking) return { state: "idle" };
      this.#record(peer_id, from, { outcome: "started", by: null, reason: null });
      const isSent = session.send({ type: "interrupt" });
      return isSent
        ? { state: "asked", by: "its own client" }
        : { state: "refused", reason: "socket_full" };
    }
    const adapter = this.#deps.transports.adapterOf(peer.backend);
    const agent = this.#deps.agentPeers.getRecord(peer_id);
    if (!adapter?.interrupt || !agent) {
      return isWorking ? { state: "refused", reason: "no_interrupt" } : { state: "idle" };
    }
    if (isWorking) this.#record(peer_id, from, { outcome: "started", by: null, reason: null });
    const attempt = await adapter.interrupt(agent);
    if (attempt.state === "idle") return isWorking ? CONTRADICTION : attempt;
    const isKnownIdle = !isWorking && attempt.state === "refused" &&
      attempt.reason !== "at_dialog" && !isContradiction(attempt);
    return isKnownIdle ? { state: "idle" } : attempt;
  }

  /** Looks for the end of the turn until it is found or the time for a proof is over. */
  async #proofSince(peer_id: string, since: number): Promise<Finding> {
    const { shutdownSignal } = this.#deps;
    const elapsed = stopwatch(this.#ctx.clock);
    let over: { finding: Finding; after_ms: number } | undefined;
    while (elapsed() < PROOF_MS_MAX && !shutdownSignal.aborted) {
      await pause(this.#ctx.clock, LOOK_EVERY_MS, shutdownSignal);
      await this.#observe(peer_id);
      const found = this.#findingSince(peer_id, since);
      if (found?.outcome === "interrupted") return found;
      if (found && !over) over = { finding: found, after_ms: elapsed() };
      // A turn may be reported as over before the agent's records say that it was interrupted.
      if (over && elapsed() - over.after_ms >= RECORDS_MS) return over.finding;
    }
    return over?.finding ?? { outcome: "asked", proof: null };
  }

  #findingSince(peer_id: string, since: number): Finding | undefined {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer || peer.closed || !isOnline(peer)) return { outcome: "ended", proof: "process" };
    const end = this.#deps.turns.endSince(peer_id, since) ?? this.#recordedEnd(peer, since);
    if (end) {
      const outcome = end.how === "interrupted" ? "interrupted" : "ended";
      return { outcome, proof: end.source };
    }
    const isIdle = peer.turn_state === "idle" && (peer.turn_at ?? 0) >= since;
    return isIdle ? { outcome: "ended", proof: peer.turn_by ?? "unknown" } : undefined;
  }

  /** The end in the agent's own records, which an agent at work on its next prompt has as well. */
  #recordedEnd(peer: StoredPeer, since: number): TurnEnd | undefined {
    const adapter = this.#deps.transports.adapterOf(peer.backend);
    const end = adapter?.lastEnd?.(peer.runtime_session_id);
    if (!end || end.at < since) return undefined;
    const seen: AgentPeer = peer;
    const observed = { alive: true, turn_state: null, source: end.source, end };
    this.#deps.turns.applyObservation(seen, observed);
    return end;
  }

  /** Brings the peer's record up to date by what can be observed now. */
  async #observe(peer_id: string): Promise<void> {
    const agent = this.#deps.agentPeers.getRecord(peer_id);
    const adapter = this.#deps.transports.adapterOf(agent?.backend ?? null);
    const observed = agent && isLive(agent) ? await adapter?.observe(agent) : undefined;
    if (agent && observed) this.#deps.turns.applyObservation(agent, observed);
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    if (peer.closed) throw new Problem("unknown_peer", { peer: peer_id });
    if (peer.status === "retired") throw new Problem("peer_retired", { peer_id });
    mustBeOnMachine(peer, this.#deps.machine);
    return peer;
  }

  /** The author of the interrupt. Only a person and the circle's orchestrator may interrupt. */
  #mustBeAllowed(
    { peer_id, name, circle }: StoredPeer,
    { isHuman, isOnOtherMachine, isBreaker, peer_id: caller_id }: InterruptCaller,
  ): Author {
    const { db } = this.#ctx;
    if (isBreaker) return { peer_id: null, name: "mesh" };
    if (isHuman && isOnOtherMachine) {
      return { peer_id: null, name: "a person on another machine" };
    }
    if (isHuman) {
      const human = this.#deps.directory.human();
      return { peer_id: human?.peer_id ?? null, name: human ? `@${human.name}` : "a person" };
    }
    const caller = caller_id === undefined ? undefined : rows.get(db, caller_id);
    if (caller?.peer_id === peer_id) throw new Problem("to_self", { peer_id });
    const leads = caller?.role === "orchestrator" && caller.circle === circle &&
      !caller.closed && isLive(caller);
    if (!caller || !leads) throw new Problem("interrupt_not_allowed", { peer: name, peer_id });
    return { peer_id: caller.peer_id, name: `@${caller.name}` };
  }

  #record(
    peer_id: string,
    from: Author,
    result: {
      readonly outcome: InterruptOutcome | "started" | "refused";
      readonly by: string | null;
      readonly reason: string | null;
    },
  ): void {
    const { db, events } = this.#ctx;
    db.transact(() => {
      const { name } = mustGetPeer(db, peer_id);
      const who = { from_peer_id: from.peer_id, from: from.name };
      events.append("interrupt", { peer_id, name, ...who, ...result });
    });
  }
}

interface Author {
  /** Null for a person who is not registered. */
  readonly peer_id: string | null;
  readonly name: string;
}

/** The peer's reports and its screen differ on whether a turn runs. */
const CONTRADICTION = { state: "refused", reason: "turn_unproved" } as const;

function isContradiction(attempt: InterruptAttempt): boolean {
  return attempt.state === "refused" && attempt.reason === CONTRADICTION.reason;
}

/** The reason why a peer is not asked to stop, whatever its agent is. */
function refusalOf(peer: StoredPeer, waits_for: Wait | null): Reason | undefined {
  if (isSubagent(peer)) return "parent_has_turn";
  if (peer.role === "human") return "no_interrupt";
  if (!isOnline(peer)) return "not_online";
  const isAtDialog = waits_for !== null && waits_for.kind !== "limit";
  if (peer.turn_state === "awaiting_input" || isAtDialog) return "at_dialog";
  return peer.turn_state === null ? "turn_unproved" : undefined;
}

function detailOf(
  name: string,
  { outcome, by, proof }: Pick<Interrupted, "outcome" | "by" | "proof">,
): string {
  switch (outcome) {
    case "interrupted":
      return `The turn of ${name} was interrupted, by ${by}: its ${proof} shows it.`;
    case "ended":
      return proof === "process"
        ? `The program of ${name} has ended.`
        : `The turn of ${name} is over. Nothing shows that the interrupt ended it.`;
    case "not_busy":
      return `${name} is in no turn. Nothing was done.`;
    case "asked":
      return `${name} was asked to stop, by ${by}, and nothing shows yet that it has. ` +
        "Look at its terminal, or kill it.";
  }
}
