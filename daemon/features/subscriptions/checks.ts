/** Checks conditions: lasting states at each tick, events in the transaction of the change. */

import { formatInstant } from "kit/core/local_time.ts";
import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { toDisplayName } from "kit/core/text.ts";
import type { Asks } from "../asks/asks.ts";
import * as jobRows from "../jobs/store.ts";
import { TERMINAL_STATES } from "protocol/jobs/contract.ts";
import * as peerRows from "../peers/store.ts";
import type { PeerState } from "../peers/changes.ts";
import { BY_SUBAGENT } from "../peers/turns.ts";
import { noteOccurrence } from "./changes.ts";
import {
  activityOf,
  FAILED,
  FINISHED,
  isOnline,
  PEER_STATES,
} from "protocol/subscriptions/conditions.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/** Time after a start in which an offline peer may return. Until then, its state is unknown. */
const RETURN_MS = 60_000;

/** Observed state of a condition's subject. */
interface ConditionState {
  /** Undefined if it is unknown. */
  readonly holds: boolean | undefined;
  readonly proof: string;
  /** True if the condition can never hold again. */
  readonly never?: boolean;
}

interface ConditionChecksDeps {
  readonly asks: Asks;
  /** Called when the condition can never hold again. */
  fail(subscription: StoredSubscription, error: string): void;
}

export class ConditionChecks {
  readonly #ctx: Context;
  readonly #deps: ConditionChecksDeps;
  readonly #ages: Ages;

  constructor(ctx: Context, deps: ConditionChecksDeps) {
    this.#ctx = ctx;
    this.#ages = new Ages(ctx.clock);
    this.#deps = deps;
  }

  /** Compares conditions with the present state, which also finds changes during a downtime. */
  tick(): void {
    const { db } = this.#ctx;
    const peers = new Map<string, PeerState | undefined>();
    const peerOf = (peer_id: string) =>
      peers.getOrInsertComputed(peer_id, () => peerRows.get(db, peer_id));
    for (const subscription of rows.active(db)) {
      if (subscription.expected === FINISHED) {
        this.#checkTurn(subscription, peerOf(subscription.subject_id));
        continue;
      }
      const { holds, proof, never } = subscription.kind === "peer"
        ? this.#observePeer(subscription, peerOf(subscription.subject_id))
        : this.#observeRecord(subscription);
      if (never && subscription.pending === 0) this.#deps.fail(subscription, proof);
      else if (holds && !subscription.holds) {
        noteOccurrence(this.#ctx, { ...subscription, holds: true }, proof);
      } else if (holds === false && subscription.holds) this.#clearOccurrences(subscription);
    }
  }

  /** A peer's status or turn changed, in this transaction. */
  peerChanged(before: PeerState, after: PeerState): void {
    if (!isOnline(before)) return;
    const { peer_id } = after;
    if (!isOnline(after)) {
      if (!isReturning(after)) this.#noteOccurrences(peer_id, "offline", offlineProof(after));
      return;
    }
    const ended = isInTurn(before) && activityOf(after) === "idle";
    if (ended) this.#noteOccurrences(peer_id, FINISHED, turnProof(after));
  }

  /** An error ended a peer's turn, in this transaction. */
  turnFailed(peer_id: string, error: string): void {
    const name = toDisplayName(peerRows.get(this.#ctx.db, peer_id)?.name ?? peer_id);
    const at = formatInstant(this.#ctx.clock.now());
    this.#noteOccurrences(peer_id, FAILED, `An error (${error}) ended a turn of ${name} at ${at}.`);
  }

  /** A turn that was reported as ended in this transaction continues. */
  turnHeld(peer_id: string): void {
    const { db } = this.#ctx;
    for (const subscription of rows.ofPeer(db, peer_id, FINISHED)) {
      if (subscription.pending === 0) continue;
      const pending = subscription.pending - 1;
      const rest = pending === 0 ? { pending_proof: null, due_at: null } : {};
      db.transact((tx) => rows.update(tx, { ...subscription, ...rest, pending, holds: true }));
    }
  }

  #noteOccurrences(peer_id: string, expected: string, proof: string): void {
    for (const subscription of rows.ofPeer(this.#ctx.db, peer_id, expected)) {
      noteOccurrence(this.#ctx, { ...subscription, holds: expected === "offline" }, proof);
    }
  }

  /** For the end of a turn, `holds` is true during one, which also finds ends in a downtime. */
  #checkTurn(subscription: StoredSubscription, peer: PeerState | undefined): void {
    if (!peer || peer.status === "retired") {
      const proof = peer ? offlineProof(peer) : goneProof(subscription.subject_id);
      return subscription.pending === 0 ? this.#deps.fail(subscription, proof) : undefined;
    }
    if (!isOnline(peer) || !isTurnKnown(peer)) return;
    const holds = isInTurn(peer);
    if (subscription.holds && !holds) {
      noteOccurrence(this.#ctx, { ...subscription, holds }, turnProof(peer));
    } else if (holds && !subscription.holds) {
      this.#ctx.db.transact((tx) => rows.update(tx, { ...subscription, holds }));
    }
  }

  /** Drops unreported occurrences of a state that ended, except absences, which are reported. */
  #clearOccurrences(subscription: StoredSubscription): void {
    const passed = subscription.expected === "offline"
      ? {}
      : { pending: 0, pending_proof: null, due_at: null };
    this.#ctx.db.transact((tx) => rows.update(tx, { ...subscription, ...passed, holds: false }));
  }

  #observeRecord({ kind, subject_id }: StoredSubscription): ConditionState {
    return kind === "job" ? this.#observeJob(subject_id) : this.#observeAsk(subject_id);
  }

  #observePeer(
    { subject_id, expected }: StoredSubscription,
    peer: PeerState | undefined,
  ): ConditionState {
    if (!peer) return { holds: false, proof: goneProof(subject_id), never: true };
    const proof = isOnline(peer) ? turnProof(peer) : offlineProof(peer);
    if (isReturning(peer) && this.#ages.of(subject_id, peer.status_at ?? 0) < RETURN_MS) {
      return { holds: undefined, proof };
    }
    if (expected === FAILED) return { holds: false, proof, never: peer.status === "retired" };
    const isOfTurn = expected !== "online" && expected !== "offline";
    if (isOfTurn && isOnline(peer) && !isTurnKnown(peer)) return { holds: undefined, proof };
    const holds = PEER_STATES[expected]?.(peer) ?? false;
    return { holds, proof, never: peer.status === "retired" && !holds };
  }

  #observeJob(job_id: string): ConditionState {
    const job = jobRows.get(this.#ctx.db, job_id);
    if (!job) return { holds: false, proof: goneProof(job_id), never: true };
    const proof = `The job ${job_id} is ${job.state} since ${formatInstant(job.updated_at)}.`;
    return { holds: TERMINAL_STATES.includes(job.state), proof };
  }

  #observeAsk(correlation_id: string): ConditionState {
    const ask = this.#deps.asks.get(correlation_id);
    if (!ask) return { holds: false, proof: goneProof(correlation_id), never: true };
    const [from, to] = [ask.from_peer_name, ask.to_peer_name].map(toDisplayName);
    const proof = `The ask ${correlation_id} of ${from} to ${to} was closed ` +
      `(${ask.close_reason}) at ${formatInstant(ask.closed_at ?? ask.created_at)}.`;
    return { holds: ask.state === "closed", proof };
  }
}

/** True if a peer is offline only because the daemon started. It may return at any time. */
function isReturning({ status, offline_reason }: PeerState): boolean {
  return status === "offline" && offline_reason === "daemon_restart";
}

/** False after a start, when the daemon knows that the process runs, but not its activity. */
function isTurnKnown({ turn_state, status_by }: PeerState): boolean {
  return turn_state !== null || status_by !== "process";
}

/** True if a turn is in progress. A dialog in a subagent may be open without a turn. */
function isInTurn(peer: PeerState): boolean {
  return activityOf(peer) !== "idle" && peer.turn_by !== BY_SUBAGENT;
}

/** The activity of an online peer, its start and its reporter. */
function turnProof({ name, turn_at, turn_by, status_at, status_by, ...peer }: PeerState): string {
  const activity = activityOf(peer);
  const text = activity === "awaiting_input" ? "waits for its user" : `is ${activity}`;
  const byTurn = peer.turn_state !== null;
  const at = byTurn ? turn_at : status_at;
  const by = byTurn ? turn_by : status_by;
  const since = at === null ? "" : ` since ${formatInstant(at)}`;
  return `${toDisplayName(name)} ${text}${since}${reporterText(by)}.`;
}

function offlineProof({ name, status, status_at, status_by, offline_reason }: PeerState): string {
  const why = offline_reason === null ? "" : ` (${toDisplayName(offline_reason)})`;
  const since = status_at === null ? "" : ` since ${formatInstant(status_at)}`;
  return `${toDisplayName(name)} is ${status}${why}${since}${reporterText(status_by)}.`;
}

function reporterText(by: string | null): string {
  return by === null ? "" : `, by its ${toDisplayName(by)}`;
}

function goneProof(id: string): string {
  return `${toDisplayName(id)} does not exist any more.`;
}
