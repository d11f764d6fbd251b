/** Closes asks: writes the row, appends the event, notifies the asker, resolves waiters. */

import { timeout } from "kit/core/timeout.ts";
import type { Context } from "../../data/context.ts";
import type { Attachments } from "protocol/messages/attachments.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Delivery } from "../messages/delivery.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import { type Address, type AuthorKind, isLocalHuman } from "protocol/peers/record.ts";
import type { Ask, Outcome, TypedAnswer } from "protocol/asks/contract.ts";
import type { MessageProof } from "protocol/proofs/contract.ts";
import { asksForDecision, isDecidedThere } from "./answers.ts";
import { askMachine, CLOSE_RULES, type CloseReason } from "protocol/asks/states.ts";

/** The part of `Inbox` that asks use. */
export interface HumanInbox {
  add(message: StoredMessage): { item_id: string; surfaces: string[] };
  onAskClosed(ask: Ask): void;
}

/** Effects on higher features, in the transaction that opens or closes the ask. */
export interface AskEffects {
  /** An ask waits for an agent that is offline. `is_elsewhere`: it comes from another machine. */
  askWaits(message: StoredMessage, sender: { readonly is_elsewhere: boolean }): void;
  /** An ask is stored whose answer these checks must pass. */
  proofAsked(message: StoredMessage, to: Address, checks: readonly string[]): void;
  /** The recipient answers. True if the answer is held until it is checked: the ask stays open. */
  holdAnswer(ask: Ask, answer: GivenAnswer): boolean;
  /** Throws `answer_in_proof` while an answer is being checked. */
  refuseWhileProving(ask: Ask): void;
  /**
   * The ask would end without an answer. True if it has a held answer, which closes it now or once
   * its checks have run.
   */
  hasHeldAnswer(ask: Ask): boolean;
  /** An ask is closed and its delivery is about to end: another machine may need to know. */
  askClosing(ask: Ask): void;
  /** An ask is closed and its delivery has ended: another machine may need to know. */
  askClosed(ask: Ask): void;
}

export interface AskCloserDeps {
  readonly directory: Directory;
  readonly delivery: Delivery;
  readonly human: HumanInbox;
  readonly effects: AskEffects;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

/** Details of a closed ask: its responder, reply and outcome. */
export interface ClosingDetails extends Partial<Omit<RequestContext, "may_be_caller">> {
  readonly responder: string | null;
  readonly reply?: string | null;
  readonly answer?: TypedAnswer | null;
  /** True if someone other than the recipient closed the ask. */
  readonly elsewhere?: boolean;
  /** The human who cancelled the ask of another; both sides learn the name. */
  readonly cancelled_by?: Address | undefined;
  /** The outcome, if it differs from the usual outcome of the close reason. */
  readonly outcome?: Outcome;
  /** The author kind of a reply from another machine, or of a held one. */
  readonly reply_voice?: AuthorKind;
  readonly attachments?: Attachments;
  /** The outcome of the checks of the answer. */
  readonly proof?: MessageProof;
}

/** An answer of the recipient, as it will close the ask. */
export interface GivenAnswer {
  readonly close_reason: CloseReason;
  readonly details: ClosingDetails;
  readonly claims: readonly string[];
}

type Waiter = (ask: Ask) => void;

export class AskCloser {
  readonly #ctx: Context;
  readonly #deps: AskCloserDeps;
  readonly #waiters = new Map<string, Set<Waiter>>();

  constructor(ctx: Context, deps: AskCloserDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Closes an ask, within the caller's transaction. */
  close(
    ask: Ask,
    close_reason: CloseReason,
    { responder, reply = null, answer = null, attachments = [], ...known }: ClosingDetails,
  ): CloseReason {
    const { db, events, clock } = this.#ctx;
    const { delivery, human, effects } = this.#deps;
    const [event, defaultOutcome] = CLOSE_RULES[close_reason];
    const outcome = known.outcome ?? answer?.outcome ?? defaultOutcome;
    const at = clock.now();
    const state = askMachine.step(ask.state, event);
    const isCancelled = close_reason === "cancelled";
    const side = isCancelled ? "recipient" : "asker";
    const voice = this.#authorKindOf({ ...ask, responder }, side, known);
    const closedAsk: Ask = {
      ...ask,
      state,
      close_reason,
      outcome,
      reply,
      answer,
      responder,
      reply_voice: responder === null || isDecidedThere(outcome) ? null : voice,
      reply_attachments: attachments,
      status: "resolved",
      closed_at: at,
    };
    db.transact((tx) => ledger.closeAsk(tx, closedAsk, at));
    effects.askClosing(closedAsk);
    // An answer from the recipient proves the delivery; an answer from another author does not.
    const releaseReason = known.elsewhere ? `${close_reason}_elsewhere` : close_reason;
    const wasDelivered = delivery.release(ask.correlation_id, releaseReason);
    human.onAskClosed(closedAsk);
    effects.askClosed(closedAsk);
    events.append("ack", {
      correlation_id: ask.correlation_id,
      close_reason,
      outcome,
      from_peer_id: ask.to_peer_id,
      from: ask.to_peer_name,
      to_peer_id: ask.from_peer_id,
      to: ask.from_peer_name,
    });
    if (answer) {
      const { correlation_id, question } = ask;
      events.append("answer", { correlation_id, scope: question?.scope ?? null, outcome });
    }
    if (!isCancelled || known.cancelled_by) this.#sendAck(closedAsk, "asker", known);
    const tellRecipient = isCancelled && wasDelivered && responder !== null;
    if (tellRecipient) this.#sendAck(closedAsk, "recipient", known);
    db.afterCommit(() => this.#resolveWaiters(closedAsk));
    return close_reason;
  }

  /** Notifies one side that the ask is closed, but not an asker that fetches the reply (pull). */
  #sendAck(
    ask: Ask,
    side: "asker" | "recipient",
    known: Omit<ClosingDetails, "responder">,
  ): void {
    if (side === "asker" && (ask.reply_delivery === "pull" || ask.from_peer_id === null)) return;
    const to_id = side === "asker" ? ask.from_peer_id : ask.to_peer_id;
    const to = to_id ? this.#deps.directory.address(to_id) : undefined;
    const { cancelled_by, traceparent } = known;
    // The item of a question shows how it ended, so that the human needs no other message.
    const isShown = side === "recipient" && to?.role === "human" && asksForDecision(ask.question);
    if (isShown || !to || to.status === "retired" || to.peer_id === cancelled_by?.peer_id) return;
    if (!to.addressable) {
      const dropped = { peer_id: to.peer_id, count: 1, reason: "peer_not_addressable" };
      return this.#ctx.events.append("deliveries_dropped", dropped);
    }
    const asker = { peer_id: ask.from_peer_id, name: ask.from_peer_name };
    const recipient = { peer_id: ask.to_peer_id, name: ask.to_peer_name };
    const ticket = this.#deps.delivery.send({
      kind: "ack",
      from: cancelled_by ?? (side === "asker" ? recipient : asker),
      to,
      voice: this.#authorKindOf(ask, side, known),
      sent_by: known.sent_by,
      text: toAckText(ask.reply ?? "", to, known.proof),
      attachments: ask.reply_attachments,
      circle: ask.circle,
      correlation_id: ask.correlation_id,
      traceparent,
      closing: { close_reason: ask.close_reason, outcome: ask.outcome },
      proof: known.proof,
    });
    if (isLocalHuman(to)) this.#deps.human.add(ticket.message);
  }

  /** The author kind of the ack for `side`. */
  #authorKindOf(
    ask: Ask,
    side: "asker" | "recipient",
    { cancelled_by, reply_voice, ...proofs }: Omit<ClosingDetails, "responder">,
  ): AuthorKind {
    const { directory } = this.#deps;
    if (reply_voice && side === "asker") return reply_voice;
    if (cancelled_by) return directory.authorKindOf(cancelled_by, proofs);
    if (ask.responder === null) return "peer"; // The daemon closed the ask.
    const [peer_id, name] = side === "asker"
      ? [ask.to_peer_id, ask.to_peer_name]
      : [ask.from_peer_id, ask.from_peer_name];
    const role = peer_id === null ? null : directory.address(peer_id)?.role ?? null;
    return directory.authorKindOf({ role, name }, proofs);
  }

  /** Ends an open ask without an answer, unless it has a held one. */
  end(ask: Ask, close_reason: CloseReason, details: ClosingDetails): void {
    if (!this.#deps.effects.hasHeldAnswer(ask)) this.close(ask, close_reason, details);
  }

  /** Waits until the ask is closed; undefined on timeout, shutdown, or when the caller is gone. */
  async waitForClose(
    correlation_id: string,
    ms_max: number,
    signal: AbortSignal,
  ): Promise<Ask | undefined> {
    const closing = Promise.withResolvers<Ask>();
    const waiters = this.#waiters.getOrInsertComputed(correlation_id, () => new Set());
    waiters.add(closing.resolve);
    try {
      const abortSignal = AbortSignal.any([signal, this.#deps.shutdownSignal]);
      return await timeout(this.#ctx.clock, ms_max, closing.promise, abortSignal);
    } finally {
      waiters.delete(closing.resolve);
      if (waiters.size === 0) this.#waiters.delete(correlation_id);
    }
  }

  #resolveWaiters(closedAsk: Ask): void {
    this.#waiters.get(closedAsk.correlation_id)?.forEach((resolve) => resolve(closedAsk));
  }
}

/** An inbox item has no frame, so the daemon's line on the proof is the first of its text. */
function toAckText(reply: string, to: Address, proof: MessageProof | undefined): string {
  return proof && isLocalHuman(to) ? `${proof.note}\n\n${reply}` : reply;
}
