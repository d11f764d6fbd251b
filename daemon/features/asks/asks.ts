/** Opens, answers, cancels, waits for and lists asks. Each change is one transaction. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Attachments } from "../messages/attachments/attachments.ts";
import type { AskFields } from "protocol/messages/contract.ts";
import type { MessageDraft } from "../messages/delivery.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { expiryField, type Question } from "protocol/messages/question.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import { nameAndMachine } from "../peers/remote/remote_directory.ts";
import { type Address, isLocalHuman } from "protocol/peers/record.ts";
import { alreadyClosed, toAckClosing, toResolution } from "./answers.ts";
import {
  type AckAsk,
  type Ask,
  type DeclineAsk,
  type OpenAsk,
  PENDING,
  type Resolution,
  type Thread,
} from "protocol/asks/contract.ts";
import { AskCloser, type AskCloserDeps } from "./ask_closer.ts";
import { askMachine, type CloseReason } from "protocol/asks/states.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { MessageProof } from "protocol/proofs/contract.ts";
import type { Routing } from "protocol/asks/routing.ts";
import * as rows from "./store.ts";
import { readRanges } from "../messages/ledger/ranges.ts";

/** Maximum asks evicted per tick, so that a tick stays short. */
const EVICT_ROWS_MAX = 200;

/** Maximum threads per history request. The next request starts at the last `closed_at`. */
const THREADS_MAX = 1000;
/** Closed asks that a history reads before other requests run. It takes 3 to 5 ms. */
const HISTORY_STEP_ASKS = 1500;

/** A question of asks to the proofs. */
export interface ProofPorts {
  /** The note of an ask on its checks. Throws if the answer cannot be checked. */
  proofFor(checks: readonly string[], to: Address): MessageProof;
}

export interface AsksDeps extends AskCloserDeps {
  readonly ports: ProofPorts;
  readonly attachments: Attachments;
  readonly ask_ttl_ms: number;
}

/** The request context of an ask. */
export interface AskContext extends RequestContext {
  /** The id of the ask to many that this ask is part of. */
  readonly parent_id?: string | undefined;
  /** The routing's choice of the recipient, if the ask named no recipient. */
  readonly routing?: Routing;
}

/** An ask whose parties are known. */
type AskDraft = Omit<MessageDraft, "kind" | "question"> & {
  readonly question: Question | null;
  readonly opening: AskFields;
  /** True if it comes through a relay. */
  readonly is_elsewhere?: boolean | undefined;
};

/** A code of `protocol/reasons.ts`, perhaps of another version. */
const CODE = /^[a-z]+(?:_[a-z]+)*$/;

export class Asks {
  readonly #ctx: Context;
  readonly #deps: AsksDeps;
  /** The closer of asks, which structured questions use, too. */
  readonly closer: AskCloser;

  constructor(ctx: Context, deps: AsksDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.closer = new AskCloser(ctx, deps);
  }

  /**
   * Opens an ask. All checks but the limits come before the first write: `delivery.send` checks the
   * limits, after the ask that `reply_to` supersedes was closed.
   */
  open(body: OpenAsk, requestContext: AskContext) {
    const { attachments: files, directory } = this.#deps;
    return this.#ctx.db.transact(() => {
      const { circle, bypass_circle, reply_to = null } = body;
      const from = directory.sender(body.from_peer, { circle });
      const { may_be_caller } = requestContext;
      const scope = { circle, bypass_circle, caller: from, may_be_caller };
      const to = directory.target(body.to_peer, scope);
      const before = reply_to === null ? undefined : this.mustGet(reply_to);
      const proof = body.prove && this.#deps.ports.proofFor(body.prove, to);
      if (proof && body.question) throw new Problem("prove_question", {});
      const attachments = files.attach(body.attachments);
      if (body.dry_run) return { ticket: undefined, to, inbox: undefined };
      if (before && before.state === "open" && before.to_peer_id === from.peer_id) {
        this.closer.close(before, "reply_to", { responder: from.name });
      }
      return this.send({
        from,
        to,
        voice: directory.authorKindOf(from, requestContext),
        sent_by: requestContext.sent_by,
        urgent: body.urgent,
        text: body.text,
        attachments,
        circle: from.circle ?? to.circle,
        reply_to,
        question: body.question ?? null,
        traceparent: requestContext.traceparent,
        is_elsewhere: requestContext.is_elsewhere,
        budget: body.budget,
        caused_by: requestContext.caused_by,
        proofs: requestContext,
        proof,
        opening: {
          reply_delivery: body.reply_delivery,
          origin: body.origin ?? null,
          parent_id: requestContext.parent_id ?? null,
          routing: requestContext.routing ?? null,
        },
      });
    });
  }

  /** Sends an ask to a peer, within the caller's transaction. Its events carry no text. */
  send({ is_elsewhere, ...draft }: AskDraft) {
    const { to, question, remote_origin, opening: { reply_delivery } } = draft;
    const { events } = this.#ctx;
    const ticket = this.#deps.delivery.send({ ...draft, kind: "ask" });
    const { message } = ticket;
    if (draft.proof) this.#deps.effects.proofAsked(message, to, draft.proof.checks);
    const parties = {
      correlation_id: message.correlation_id ?? "",
      from_peer_id: message.from_peer_id,
      from: message.from_peer_name,
      to_peer_id: message.to_peer_id,
      to: message.to_peer_name,
      ...expiryField(message),
    };
    events.append("ask", { ...parties, reply_delivery });
    if (question) {
      events.append("question", { ...parties, scope: question.scope, kind: question.kind });
    }
    if (message.state === "queued" && to.status === "offline" && to.daemon_id === null) {
      const from_elsewhere = is_elsewhere === true || remote_origin !== undefined;
      this.#deps.effects.askWaits(message, { is_elsewhere: from_elsewhere });
    }
    return { ticket, to, inbox: isLocalHuman(to) ? this.#deps.human.add(message) : undefined };
  }

  /**
   * Acknowledges an ask, or answers it with a message (contract 3). Null if the answer is held
   * until it is checked.
   */
  ack(
    { correlation_id, option_id, claims = [], from_peer, ...body }: AckAsk,
    requestContext: AskContext,
  ): CloseReason | null {
    const { message = "", attachments: ids = [] } = body;
    return this.#ctx.db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const responder = this.#responder(ask, from_peer);
      if (ask.state === "closed") {
        const isBare = !message && !option_id && ids.length === 0;
        if (isBare) return ask.close_reason ?? "ack";
        throw alreadyClosed(ask);
      }
      const attachments = this.#deps.attachments.attach(ids);
      const { close_reason, ...reply } = toAckClosing(ask, { message, option_id }, ids.length > 0);
      const details = { responder, ...requestContext, attachments, ...reply };
      const answer = { close_reason, details, claims };
      if (this.#deps.effects.holdAnswer(ask, answer)) return null;
      return this.closer.close(ask, close_reason, details);
    });
  }

  /** Declines an ask; the reason is sent to the asker. */
  decline(
    { correlation_id, reason, from_peer }: DeclineAsk,
    requestContext: AskContext,
  ): CloseReason {
    return this.#ctx.db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const responder = this.#responder(ask, from_peer);
      if (ask.state === "closed") throw alreadyClosed(ask);
      this.#deps.effects.refuseWhileProving(ask);
      return this.closer.close(ask, "declined", { responder, ...requestContext, reply: reason });
    });
  }

  /** Cancels an ask. Only its asker may do so, and the human if proved, in the human's own name. */
  cancel(
    correlation_id: string,
    { asker, reason }: { asker: string; reason: string | undefined },
    requestContext: AskContext,
  ): CloseReason {
    return this.#ctx.db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const { directory } = this.#deps;
      const human = requestContext.proven_human && humanInPlaceOf(ask, asker, directory);
      if (!human) mustBeAsker(directory, ask, asker);
      if (ask.state === "closed") throw alreadyClosed(ask);
      return this.closer.close(ask, "cancelled", {
        responder: human ? human.name : ask.from_peer_name,
        cancelled_by: human || undefined,
        ...requestContext,
        reply: reason ?? null,
      });
    });
  }

  /** Closes an ask that could not be delivered. `reason` is a code, or the receiver's own words. */
  sendFailed(correlation_id: string, reason: string): void {
    this.#ctx.db.transact(() => {
      const ask = this.mustGet(correlation_id);
      if (ask.state === "open") {
        const reply = CODE.test(reason) ? `Not delivered: ${sentenceOf(reason)}` : reason;
        this.closer.end(ask, "send_failed", { responder: null, reply });
      }
    });
  }

  /** Closes all open asks to a peer that can no longer answer; returns their number. */
  closeAllTo(peer_id: string, why: "peer_retired" | "peer_not_addressable"): number {
    const { db } = this.#ctx;
    return db.transact(() => {
      const asks = rows.openTo(db, peer_id);
      for (const ask of asks) this.closer.end(ask, why, { responder: null });
      return asks.length;
    });
  }

  /**
   * Waits for the resolution; `pending` on timeout. The first wait changes the reply delivery from
   * push to pull; a timeout is not recorded (specification 3).
   */
  async wait(
    { correlation_id, asker, ms_max, signal }: {
      correlation_id: string;
      asker: string;
      ms_max: number;
      signal: AbortSignal;
    },
  ): Promise<Resolution | typeof PENDING> {
    const ask = this.#ctx.db.transactLazily((tx) => {
      const found = this.mustGet(correlation_id);
      mustBeAsker(this.#deps.directory, found, asker);
      if (found.state === "open" && found.reply_delivery === "push") {
        askMachine.step(found.state, "pulled");
        ledger.setPull(tx, correlation_id);
      }
      return found;
    });
    if (ask.state === "closed") return toResolution(ask);
    const found = await this.closer.waitForClose(correlation_id, ms_max, signal);
    return found ? toResolution(found) : PENDING;
  }

  get(correlation_id: string): Ask | undefined {
    return rows.ask(this.#ctx.db, correlation_id);
  }

  mustGet(correlation_id: string): Ask {
    const ask = this.get(correlation_id);
    if (!ask) throw unknownAsk(correlation_id, this.#deps.directory);
    return ask;
  }

  /** A page of asks, newest first. */
  async page(page: rows.PageFilter): Promise<{ asks: Ask[]; next: string | null }> {
    const { db } = this.#ctx;
    // The asks of one peer may be few among a million, so they are read in steps.
    const found = page.state === "open"
      ? rows.page(db, page)
      : await readRanges(this.#ctx, page, (part) => rows.page(db, { ...page, ...part }));
    const last = found.length === page.limit ? found.at(-1) : undefined;
    return { asks: found, next: last ? String(last.seq) : null };
  }

  /** Open asks to or from a peer, or from an unregistered sender by its name. */
  pending(
    peer: { peer_id: string | null; name: string },
    direction: "inbound" | "outbound" | "both",
  ): Ask[] {
    const { db } = this.#ctx;
    const inbound = direction !== "outbound" && peer.peer_id ? rows.openTo(db, peer.peer_id) : [];
    const outbound = direction !== "inbound" ? rows.openFrom(db, peer) : [];
    return [...inbound, ...outbound].sort((a, b) => a.created_at - b.created_at);
  }

  /** A peer's asks closed after `since`, oldest first, with all that closed at the last instant. */
  async history(peer_id: string, since: number): Promise<Thread[]> {
    const { db, clock } = this.#ctx;
    const found: Thread[] = [];
    for (let from = since;;) {
      const until = rows.closedAfter(db, from, HISTORY_STEP_ASKS);
      const range = { since: from, until: until ?? Number.MAX_SAFE_INTEGER };
      found.push(...rows.threads(db, { peer_id, ...range }));
      if (until === undefined || found.length >= THREADS_MAX) break;
      from = until;
      await clock.sleep(0);
    }
    const last = found[THREADS_MAX - 1]?.closed_at ?? Number.MAX_SAFE_INTEGER;
    return found.filter(({ closed_at }) => closed_at <= last);
  }

  /** Evicts asks that nobody answered in time. Asks to the human are never evicted. */
  tick(now: number): void {
    const { db } = this.#ctx;
    const { ask_ttl_ms, directory } = this.#deps;
    const human_id = directory.human()?.peer_id ?? null;
    const home_human_id = directory.homeHuman()?.peer_id ?? null;
    const before = now - ask_ttl_ms;
    const stale = rows.stale(db, { before, human_id, home_human_id, limit: EVICT_ROWS_MAX });
    if (stale.length === 0) return;
    const closing = { responder: null };
    db.transact(() => stale.forEach((ask) => this.closer.end(ask, "evicted", closing)));
  }

  #responder(ask: Ask, from_peer: string | undefined): string {
    if (from_peer === undefined) return ask.to_peer_name;
    const sender = this.#deps.directory.sender(from_peer);
    if (sender.peer_id === ask.to_peer_id) return sender.name;
    throw new Problem("not_the_recipient", { correlation_id: ask.correlation_id });
  }
}

/** Names the human's home: the inbox there shows ids that are unknown here. */
function unknownAsk(correlation_id: string, directory: Directory): Problem {
  const home = directory.homeHuman();
  const machine = home && nameAndMachine(home.name).machine;
  return machine === undefined
    ? new Problem("unknown_ask", { correlation_id })
    : new Problem("ask_not_here", { correlation_id, machine });
}

/** Throws `not_the_asker`. The asker's own peer id is accepted even when that peer is gone. */
export function mustBeAsker(directory: Directory, ask: Ask, asker: string): void {
  if (asker === ask.from_peer_id) return;
  const sender = directory.findSender(asker);
  const same = ask.from_peer_id === null
    ? sender?.name === ask.from_peer_name || asker === ask.from_peer_name
    : sender?.peer_id === ask.from_peer_id;
  if (!same) throw new Problem("not_the_asker", { correlation_id: ask.correlation_id });
}

/** The human, if the argument names the human, and another peer asked. */
function humanInPlaceOf(ask: Ask, argument: string, directory: Directory): Address | undefined {
  const human = directory.human();
  const isAsker = argument === ask.from_peer_id || human?.peer_id === ask.from_peer_id;
  if (!human || isAsker) return undefined;
  return directory.findSender(argument)?.peer_id === human.peer_id ? human : undefined;
}
