/** Checks conditions: at each tick what lasts, and in the change itself what passes. */

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
  doing,
  FAILED,
  FINISHED,
  isOnline,
  PEER_STATES,
} from "protocol/subscriptions/conditions.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/**
 * For how long a peer that was taken offline because the daemon started again may be on its way
 * back. Until then nothing is known of it.
 */
const RETURN_MS = 60_000;

/** Observed state of a condition's subject. */
interface Observed {
  /** Undefined if it is not known at present. */
  readonly holds: boolean | undefined;
  readonly proof: string;
  /** True if the condition can never hold again. */
  readonly never?: boolean;
}

export interface ConditionChecksDeps {
  readonly asks: Asks;
  /** The condition can never hold any more. */
  fail(one: StoredSubscription, error: string): void;
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

  /**
   * Compares each condition with what is true now. This finds also what happened while the daemon
   * was down.
   */
  tick(): void {
    const { db } = this.#ctx;
    const peers = new Map<string, PeerState | undefined>();
    const peerOf = (peer_id: string) =>
      peers.getOrInsertComputed(peer_id, () => peerRows.get(db, peer_id));
    for (const one of rows.active(db)) {
      if (one.expected === FINISHED) {
        this.#checkTurn(one, peerOf(one.subject_id));
        continue;
      }
      const { holds, proof, never } = one.kind === "peer"
        ? this.#observePeer(one, peerOf(one.subject_id))
        : this.#observeRecord(one);
      if (never && one.pending === 0) this.#deps.fail(one, proof);
      else if (holds && !one.holds) noteOccurrence(this.#ctx, { ...one, holds: true }, proof);
      else if (holds === false && one.holds) this.#noLongerHolds(one);
    }
  }

  /** A peer's status or turn changed, in this transaction. */
  peerChanged(before: PeerState, after: PeerState): void {
    if (!isOnline(before)) return;
    const { peer_id } = after;
    if (!isOnline(after)) {
      if (!isReturning(after)) this.#occurred(peer_id, "offline", offlineProof(after));
      return;
    }
    const ended = isInTurn(before) && doing(after) === "idle";
    if (ended) this.#occurred(peer_id, FINISHED, turnProof(after));
  }

  /** An error ended a peer's turn, in this transaction. */
  turnFailed(peer_id: string, error: string): void {
    const name = toDisplayName(peerRows.get(this.#ctx.db, peer_id)?.name ?? peer_id);
    const at = iso(this.#ctx.clock.now());
    this.#occurred(peer_id, FAILED, `An error (${error}) ended a turn of ${name} at ${at}.`);
  }

  /** A turn goes on that was reported as ended in this same transaction. */
  turnHeld(peer_id: string): void {
    const { db } = this.#ctx;
    for (const one of rows.ofPeer(db, peer_id, FINISHED)) {
      if (one.pending === 0) continue;
      const pending = one.pending - 1;
      const rest = pending === 0 ? { pending_proof: null, due_at: null } : {};
      db.transact((tx) => rows.update(tx, { ...one, ...rest, pending, holds: true }));
    }
  }

  #occurred(peer_id: string, expected: string, proof: string): void {
    for (const one of rows.ofPeer(this.#ctx.db, peer_id, expected)) {
      noteOccurrence(this.#ctx, { ...one, holds: expected === "offline" }, proof);
    }
  }

  /**
   * Of a subscription for the end of a turn, `holds` says whether a turn is in progress. Thus a
   * turn is found that ended while the daemon was down.
   */
  #checkTurn(one: StoredSubscription, peer: PeerState | undefined): void {
    if (!peer || peer.status === "retired") {
      const proof = peer ? offlineProof(peer) : goneProof(one.subject_id);
      return one.pending === 0 ? this.#deps.fail(one, proof) : undefined;
    }
    if (!isOnline(peer) || !isTurnKnown(peer)) return;
    const holds = isInTurn(peer);
    if (one.holds && !holds) noteOccurrence(this.#ctx, { ...one, holds }, turnProof(peer));
    else if (holds && !one.holds) this.#ctx.db.transact((tx) => rows.update(tx, { ...one, holds }));
  }

  /** A state that has passed before it was told is not told; that a peer went offline is. */
  #noLongerHolds(one: StoredSubscription): void {
    const passed = one.expected === "offline"
      ? {}
      : { pending: 0, pending_proof: null, due_at: null };
    this.#ctx.db.transact((tx) => rows.update(tx, { ...one, ...passed, holds: false }));
  }

  #observeRecord({ kind, subject_id }: StoredSubscription): Observed {
    return kind === "job" ? this.#observeJob(subject_id) : this.#observeAsk(subject_id);
  }

  #observePeer(
    { subject_id, expected }: StoredSubscription,
    peer: PeerState | undefined,
  ): Observed {
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

  #observeJob(job_id: string): Observed {
    const job = jobRows.get(this.#ctx.db, job_id);
    if (!job) return { holds: false, proof: goneProof(job_id), never: true };
    const proof = `The job ${job_id} is ${job.state} since ${iso(job.updated_at)}.`;
    return { holds: TERMINAL_STATES.includes(job.state), proof };
  }

  #observeAsk(correlation_id: string): Observed {
    const ask = this.#deps.asks.get(correlation_id);
    if (!ask) return { holds: false, proof: goneProof(correlation_id), never: true };
    const [from, to] = [ask.from_peer_name, ask.to_peer_name].map(toDisplayName);
    const proof = `The ask ${correlation_id} of ${from} to ${to} was closed ` +
      `(${ask.close_reason}) at ${iso(ask.closed_at)}.`;
    return { holds: ask.state === "closed", proof };
  }
}

/** True if a peer is offline only because the daemon started. It may return at any time. */
function isReturning({ status, offline_reason }: PeerState): boolean {
  return status === "offline" && offline_reason === "daemon_restart";
}

/** After a start the daemon knows of an agent that its process runs, and not what it does. */
function isTurnKnown({ turn_state, status_by }: PeerState): boolean {
  return turn_state !== null || status_by !== "process";
}

/** True if a turn is in progress. A dialog in a subagent may be open without a turn. */
function isInTurn(peer: PeerState): boolean {
  return doing(peer) !== "idle" && peer.turn_by !== BY_SUBAGENT;
}

/** The activity of an online peer, its start and its reporter. */
function turnProof({ name, turn_at, turn_by, status_at, status_by, ...peer }: PeerState): string {
  const activity = doing(peer);
  const text = activity === "awaiting_input" ? "waits for its user" : `is ${activity}`;
  const byTurn = peer.turn_state !== null;
  const at = byTurn ? turn_at : status_at;
  const by = byTurn ? turn_by : status_by;
  return `${toDisplayName(name)} ${text}${at === null ? "" : ` since ${iso(at)}`}${reported(by)}.`;
}

function offlineProof({ name, status, status_at, status_by, offline_reason }: PeerState): string {
  const why = offline_reason === null ? "" : ` (${toDisplayName(offline_reason)})`;
  const since = status_at === null ? "" : ` since ${iso(status_at)}`;
  return `${toDisplayName(name)} is ${status}${why}${since}${reported(status_by)}.`;
}

function reported(by: string | null): string {
  return by === null ? "" : `, by its ${toDisplayName(by)}`;
}

function goneProof(id: string): string {
  return `${toDisplayName(id)} does not exist any more.`;
}

function iso(at: number | null): string {
  return at === null ? "an unknown time" : new Date(at).toISOString();
}
