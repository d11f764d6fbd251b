/** The waits of peers: keeps the reports of all sources, and decides which of them holds. */

import { setLatest } from "kit/core/bounded_map.ts";
import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Context } from "../../data/context.ts";
import type { ReportedWait, Wait, WaitKind } from "protocol/peers/record.ts";
import type { LimitFacts, TurnEnd } from "../agents/adapter.ts";
import { isOnline } from "./directory.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

/** Maximum number of peers whose reports are kept. Those with the oldest reports are forgotten. */
const PEERS_MAX = 20_000;

/** A report, with its source and the beginning of the wait. */
export interface KnownWait extends ReportedWait {
  readonly source: string;
  readonly at: number;
}

/** A report of a limit, with what only some sources tell of it. */
export interface LimitReport extends KnownWait, Partial<LimitFacts> {
  /** The class of the error that ended a turn. */
  readonly error?: string | undefined;
  /** True if the agent's own hook or record tells it, so that it holds for the whole account. */
  readonly is_of_account?: boolean | undefined;
}

/** A source that passes on what it reports of a limit. */
type ReportFacts = Pick<LimitReport, "error" | "is_of_account"> & Partial<LimitFacts>;

/** An open question of a peer to a person, whose answer the peer waits for. */
export interface WaitingQuestion {
  readonly kind: "permission" | "question";
  readonly at: number;
}

interface WaitEvidence {
  readonly now: number;
  readonly peer: Pick<StoredPeer, "status" | "turn_state" | "turn_at" | "turn_by">;
  /** The latest report that no later turn has ended. */
  readonly known: KnownWait | undefined;
  readonly question: WaitingQuestion | undefined;
  /** True if a message waits in the queue because the terminal shows a dialog. */
  readonly isBlocked: boolean;
}

/** The source of dialogs that a terminal shows. */
export const BY_SCREEN = "screen";

/** True for a wait that goes on after the turn that it ended. Any other wait is a dialog. */
function outlastsTurn({ kind, source }: KnownWait): boolean {
  return (kind === "limit" || kind === "login") && source !== BY_SCREEN;
}

/** The wait of a peer, by all evidence; null for none. */
export function waitOf({ now, peer, known, question, isBlocked }: WaitEvidence): Wait | null {
  if (!isOnline(peer)) return null;
  if (question) {
    const sameKind = known?.kind === question.kind ? known : undefined;
    return toWait({ ...sameKind, ...question, source: "inbox" });
  }
  const isOver = known?.resets_at !== undefined && known.resets_at <= now;
  const report = isOver ? undefined : known;
  if (peer.turn_state === "awaiting_input") {
    const { turn_at, turn_by } = peer;
    return toWait(report ?? { kind: "dialog", source: turn_by ?? "unknown", at: turn_at ?? now });
  }
  return report && (isBlocked || outlastsTurn(report)) ? toWait(report) : null;
}

function toWait({ kind, at: since, source, detail, resets_at }: KnownWait): Wait {
  return { kind, since, source, detail: detail ?? null, resets_at: resets_at ?? null };
}

/**
 * Adds a report to the known one. Sources report one wait repeatedly, and some more exactly than
 * others: a report that tells less changes nothing.
 */
export function addReport(known: KnownWait | undefined, report: KnownWait): KnownWait {
  if (!known) return report;
  const { detail = known.detail, resets_at = known.resets_at } = report;
  if (report.kind === known.kind && detail === known.detail) {
    return resets_at === known.resets_at ? known : { ...known, resets_at };
  }
  const tellsLess = report.kind === "dialog" ||
    known.detail !== undefined && report.detail === undefined && !outlastsTurn(report);
  return tellsLess ? known : report;
}

/** The errors that end a turn at a limit, as the agents name them. */
const LIMIT_ERRORS = /^(rate_?limit|usage_?limit|quota|insufficient_quota|billing_error)/i;
const LOGIN_ERRORS = /^(auth|oauth|unauthori[sz]ed|verification_required|cloud_credential)/i;

/** The wait after a turn that an error of this class ended; undefined if a new turn may succeed. */
export function waitAfter(error: string): ReportedWait | undefined {
  if (LIMIT_ERRORS.test(error)) {
    return error === "billing_error" ? { kind: "limit", detail: "billing" } : { kind: "limit" };
  }
  return LOGIN_ERRORS.test(error) ? { kind: "login" } : undefined;
}

interface PeerWaitsDeps {
  readonly effects: {
    /** A peer was reported to be at a limit, perhaps repeatedly. */
    limitReported(peer_id: string, report: LimitReport): void;
    /** The peer's own report of a limit holds no longer: it works again, or went offline. */
    limitWithdrawn(peer_id: string): void;
  };
  readonly reachability: { blockedReason(peer_id: string): string | null };
  readonly ports: {
    waitingQuestions(): ReadonlyMap<string, WaitingQuestion>;
    /** The limit of a peer's account, which another of its peers may have reported. */
    limitOf(peer_id: string): KnownWait | undefined;
  };
}

export class PeerWaits {
  readonly #ctx: Context;
  readonly #deps: PeerWaitsDeps;
  readonly #known = new Map<string, KnownWait>();
  /** The waits that the last events of peers named. A change of the turn ends a dialog. */
  readonly #published: RollbackMap<string, { kind: WaitKind; isDialog: boolean }>;
  /** The beginning of each peer's last turn. An earlier end of a turn is no evidence. */
  readonly #begun = new Map<string, number>();

  constructor(ctx: Context, deps: PeerWaitsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#published = new RollbackMap(ctx.db);
  }

  /** `questions`: those of all peers, if the caller has read them. */
  of(
    peer: Pick<StoredPeer, "peer_id" | "status" | "turn_state" | "turn_at" | "turn_by">,
    questions = this.#deps.ports.waitingQuestions(),
  ): Wait | null {
    const { peer_id, turn_state } = peer;
    const known = this.#deps.ports.limitOf(peer_id) ?? this.#known.get(peer_id);
    const question = questions.get(peer_id);
    if (!known && !question && turn_state !== "awaiting_input") return null;
    const isBlocked = known !== undefined && this.#isBlocked(peer_id);
    return waitOf({ now: this.#ctx.clock.now(), peer, known, question, isBlocked });
  }

  #isBlocked(peer_id: string): boolean {
    return /\bdialog_open\b/.test(this.#deps.reachability.blockedReason(peer_id) ?? "");
  }

  /** Records a report of a source. */
  report(
    peer_id: string,
    { kind, detail, resets_at }: ReportedWait,
    source: string,
    at = this.#ctx.clock.now(),
    facts: ReportFacts = {},
  ): void {
    const report = { kind, detail, resets_at, source, at };
    if (kind === "limit") this.#deps.effects.limitReported(peer_id, { ...facts, ...report });
    const known = this.#known.get(peer_id);
    const next = addReport(known, report);
    if (next === known) return;
    setLatest(this.#known, peer_id, next, PEERS_MAX);
    this.review(peer_id);
  }

  /** Forgets the reports that a reported turn proves to be over. */
  turnReported(
    peer_id: string,
    { turn_state, prompt, last_message }: {
      readonly turn_state?: StoredPeer["turn_state"] | undefined;
      readonly prompt?: string | undefined;
      readonly last_message?: string | undefined;
    },
  ): void {
    const hasBegun = turn_state === "working" || prompt !== undefined;
    if (hasBegun) setLatest(this.#begun, peer_id, this.#ctx.clock.now(), PEERS_MAX);
    const known = this.#known.get(peer_id);
    const isDialogOver = turn_state === "idle" || turn_state === "pending_first_turn";
    const isOver = hasBegun || last_message !== undefined ||
      isDialogOver && known && !outlastsTurn(known);
    if (known && isOver) {
      this.#forget(peer_id);
      this.review(peer_id);
    }
  }

  #forget(peer_id: string): void {
    const isLimit = this.#known.get(peer_id)?.kind === "limit";
    this.#known.delete(peer_id);
    if (isLimit) this.#deps.effects.limitWithdrawn(peer_id);
  }

  /** The end of a peer's last turn, as the agent's own records show it, perhaps repeatedly. */
  endSeen(peer_id: string, end: TurnEnd): void {
    const { how, text: error = "", at, resets_at, prompts_since = [], source, limit } = end;
    const wait = how === "failed" ? waitAfter(error) : undefined;
    if (!wait || prompts_since.length > 0 || at < (this.#begun.get(peer_id) ?? 0)) return;
    const facts = { ...limit, error, is_of_account: true };
    this.report(peer_id, { ...wait, resets_at }, source, at, facts);
  }

  /** Forgets the limit that was reported of a peer, because it is over or is tried again. */
  limitOver(peer_id: string): void {
    if (this.#known.get(peer_id)?.kind === "limit") this.#known.delete(peer_id);
    this.review(peer_id);
  }

  /** Publishes a changed status or turn of a peer with what it waits for, after the commit. */
  publishTurn(peer: StoredPeer): void {
    this.#ctx.db.afterCommit(() => this.#publish(peer));
  }

  /** Publishes the state of a peer if what it waits for has changed, after the commit. */
  review(peer_id: string): void {
    const { db } = this.#ctx;
    db.transact(() =>
      db.afterCommit(() => {
        const peer = this.#changed(peer_id);
        if (peer) this.#publish(peer);
      })
    );
  }

  /** The peer, if it waits for another thing than the last event said. */
  #changed(peer_id: string): StoredPeer | undefined {
    const peer = rows.get(this.#ctx.db, peer_id);
    return peer && this.of(peer)?.kind !== this.#published.get(peer_id)?.kind ? peer : undefined;
  }

  #publish(peer: StoredPeer): void {
    const { peer_id, status, turn_state } = peer;
    if (!isOnline(peer)) this.#forget(peer_id);
    const waits_for = this.of(peer)?.kind ?? null;
    if (waits_for === null) this.#published.delete(peer_id);
    else {
      const isDialog = turn_state === "awaiting_input";
      setLatest(this.#published, peer_id, { kind: waits_for, isDialog }, PEERS_MAX);
    }
    this.#ctx.events.turn({ peer_id, status, turn_state, waits_for });
  }

  /** Called once a second. Publishes waits that have ended without a report. */
  tick(): void {
    for (const [peer_id, { isDialog }] of [...this.#published]) {
      if (!isDialog && this.#changed(peer_id)) this.review(peer_id);
    }
  }
}
