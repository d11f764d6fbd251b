/** Opens, answers, cancels, waits for and lists asks. Each change is one transaction. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Attachments } from "../messages/attachments/contract.ts";
import type { Address, AuthorKind } from "../peers/schemas.ts";
import type { Scope, Sender } from "../peers/directory.ts";
import { alreadyClosed, chooseOption, toResolution } from "./answers.ts";
import {
  type AckAsk,
  type Ask,
  type DeclineAsk,
  type OpenAsk,
  PENDING,
  type Resolution,
  type Thread,
} from "./contract.ts";
import {
  AskCloser,
  type ClosingDetails,
  type HumanInbox,
  type MessageSender,
} from "./ask_closer.ts";
import { askMachine, type CloseReason } from "./machine.ts";
import { publishOpened } from "./ask_events.ts";
import type { Routing } from "./routing/contract.ts";

/** How many asks one tick evicts, so that a tick stays short. */
const EVICT_ROWS_MAX = 200;

/** The part of the peers' directory that asks use. */
interface Directory {
  sender(argument: string, scope?: Scope): Sender;
  target(argument: string, scope: Scope): Address;
  human(): Address | undefined;
  /** Who counts as the author of a message (contract 2). */
  authorKindOf(from: Pick<Sender, "role" | "name">, proven_human?: boolean): AuthorKind;
}

/**
 * The maximum number of threads per history request. The next request starts at the last
 * `closed_at`.
 */
const THREADS_MAX = 1000;

/** Which asks to list, newest first. Only asks with row numbers below `before` are listed. */
export interface Page {
  readonly state: string | null;
  readonly peer_id: string | null;
  readonly before: number;
  readonly limit: number;
}

/** SQL of asks. */
export interface AskLedger {
  ask(correlation_id: string): Ask | undefined;
  openTo(peer_id: string): Ask[];
  openFrom(sender: { peer_id: string | null; name: string }): Ask[];
  page(filter: Page): (Ask & { seq: number })[];
  stale(before: number, human_id: string | null, limit: number): Ask[];
  threads(of: { peer_id: string; since: number; limit: number }): Thread[];
  close(closed: Ask, at: number): void;
  pull(correlation_id: string): void;
}

export interface AsksDeps {
  readonly directory: Directory;
  readonly ledger: AskLedger;
  readonly delivery: MessageSender;
  readonly human: HumanInbox;
  /**
   * The records of the attachments with these ids. Throws `unknown_attachment` if an id is unknown.
   */
  attach(ids?: readonly string[]): Attachments;
  /**
   * A peer's address by its exact id, whatever the peer's status; undefined if the id is unknown.
   */
  address(peer_id: string): Address | undefined;
  readonly ask_ttl_ms: number;
}

/** The request context of an ask. */
export interface AskContext {
  /** Whether the request has a proven human origin (contract 2). */
  readonly proven_human: boolean;
  readonly traceparent?: string | undefined;
  /** The id of the ask to many that this ask is part of. */
  readonly parent_id?: string | undefined;
  /** How routing chose the recipient, if the ask named no recipient. */
  readonly routing?: Routing;
}

export class Asks {
  readonly #ctx: Context;
  readonly #deps: AsksDeps;
  readonly #closer: AskCloser;

  constructor(ctx: Context, deps: AsksDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#closer = new AskCloser(ctx, deps);
  }

  /** Opens an ask. All checks come before the first write. */
  open(body: OpenAsk, requestContext: AskContext) {
    const { db, events } = this.#ctx;
    const { directory, delivery, human } = this.#deps;
    return db.transact(() => {
      const { circle, bypass_circle, reply_to = null } = body;
      const from = directory.sender(body.from_peer, { circle });
      const to = directory.target(body.to_peer, { circle, bypass_circle, caller: from });
      const before = reply_to === null ? undefined : this.mustGet(reply_to);
      const attachments = this.#deps.attach(body.attachments);
      if (body.dry_run) return { ticket: undefined, to, inbox: undefined };
      if (before && before.state === "open" && before.to_peer_id === from.peer_id) {
        this.#closer.close(before, "reply_to", { responder: from.name });
      }
      const ticket = delivery.send({
        kind: "ask",
        from,
        to,
        voice: directory.authorKindOf(from, requestContext.proven_human),
        text: body.text,
        attachments,
        circle: from.circle ?? to.circle,
        reply_to,
        question: body.question ?? null,
        traceparent: requestContext.traceparent,
        opening: {
          reply_delivery: body.reply_delivery,
          origin: body.origin ?? null,
          parent_id: requestContext.parent_id ?? null,
          routing: requestContext.routing ?? null,
        },
      });
      publishOpened(events, ticket.message, body.reply_delivery, body.question);
      return { ticket, to, inbox: to.role === "human" ? human.add(ticket.message) : undefined };
    });
  }

  /** Acknowledges an ask, or answers it with a message (contract 3). */
  ack(
    { correlation_id, message = "", attachments: ids = [], from_peer }: AckAsk,
    requestContext: AskContext,
  ): CloseReason {
    const { db } = this.#ctx;
    return db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const responder = this.#responder(ask, from_peer);
      if (ask.state === "closed") {
        if (message === "" && ids.length === 0) return ask.close_reason ?? "ack";
        throw alreadyClosed(ask);
      }
      const attachments = this.#deps.attach(ids);
      const { close_reason, ...reply } = toAckClosing(ask, message, ids.length > 0);
      const details = { responder, ...requestContext, attachments, ...reply };
      return this.#closer.close(ask, close_reason, details);
    });
  }

  /** Declines an ask; the reason is sent to the asker. */
  decline(
    { correlation_id, reason, from_peer }: DeclineAsk,
    requestContext: AskContext,
  ): CloseReason {
    const { db } = this.#ctx;
    return db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const responder = this.#responder(ask, from_peer);
      if (ask.state === "closed") throw alreadyClosed(ask);
      return this.#closer.close(ask, "declined", { responder, ...requestContext, reply: reason });
    });
  }

  /** Cancels an ask. Only its asker may do so. */
  cancel(
    correlation_id: string,
    { asker, reason }: { asker: string; reason: string | undefined },
    requestContext: AskContext,
  ): CloseReason {
    const { db } = this.#ctx;
    return db.transact(() => {
      const ask = this.mustGet(correlation_id);
      this.mustBeAsker(ask, asker);
      if (ask.state === "closed") throw alreadyClosed(ask);
      return this.#closer.close(ask, "cancelled", {
        responder: ask.from_peer_name,
        ...requestContext,
        reply: reason ?? null,
      });
    });
  }

  /** Closes an ask that could not be delivered. */
  sendFailed(correlation_id: string, reason: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const ask = this.mustGet(correlation_id);
      if (ask.state === "open") {
        this.#closer.close(ask, "send_failed", { responder: null, reply: reason });
      }
    });
  }

  /** Closes all open asks to a peer that can no longer answer; returns their number. */
  closeAllTo(peer_id: string, why: "peer_retired" | "peer_not_addressable"): number {
    const { db } = this.#ctx;
    return db.transact(() => {
      const asks = this.#deps.ledger.openTo(peer_id);
      for (const ask of asks) this.#closer.close(ask, why, { responder: null });
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
    const { db } = this.#ctx;
    const ask = db.transactLazily(() => {
      const found = this.mustGet(correlation_id);
      this.mustBeAsker(found, asker);
      if (found.state === "open" && found.reply_delivery === "push") {
        askMachine.step(found.state, "pulled");
        this.#deps.ledger.pull(correlation_id);
      }
      return found;
    });
    if (ask.state === "closed") return toResolution(ask);
    const found = await this.#closer.waitForClose(correlation_id, ms_max, signal);
    return found ? toResolution(found) : PENDING;
  }

  /** Answers all waiting callers with `pending` at the daemon's shutdown. The asks stay open. */
  releaseWaiters(): void {
    this.#closer.releaseWaiters();
  }

  /** The closer of asks, which structured questions use, too. */
  get closer(): AskCloser {
    return this.#closer;
  }

  get(correlation_id: string): Ask | undefined {
    return this.#deps.ledger.ask(correlation_id);
  }

  mustGet(correlation_id: string): Ask {
    const ask = this.get(correlation_id);
    if (!ask) throw new Problem("unknown_ask", { correlation_id });
    return ask;
  }

  page(page: Page): { asks: Ask[]; next: string | null } {
    const found = this.#deps.ledger.page(page);
    const last = found.length === page.limit ? found.at(-1) : undefined;
    return { asks: found, next: last ? String(last.seq) : null };
  }

  /** Open asks to or from a peer, or from an unregistered sender by its name. */
  pending(
    peer: { peer_id: string | null; name: string },
    direction: "inbound" | "outbound" | "both",
  ): Ask[] {
    const { ledger } = this.#deps;
    const inbound = direction !== "outbound" && peer.peer_id ? ledger.openTo(peer.peer_id) : [];
    const outbound = direction !== "inbound" ? ledger.openFrom(peer) : [];
    return [...inbound, ...outbound].sort((a, b) => a.created_at - b.created_at);
  }

  /** Closed asks to and from a peer, oldest first. */
  history(peer_id: string, since: number): Thread[] {
    return this.#deps.ledger.threads({ peer_id, since, limit: THREADS_MAX });
  }

  /** Evicts asks that nobody answered in time. Asks to the human are never evicted. */
  tick(now: number): void {
    const { db } = this.#ctx;
    const { ledger, ask_ttl_ms, directory } = this.#deps;
    const human_id = directory.human()?.peer_id ?? null;
    const stale = ledger.stale(now - ask_ttl_ms, human_id, EVICT_ROWS_MAX);
    if (stale.length === 0) return;
    db.transact(() =>
      stale.forEach((ask) => this.#closer.close(ask, "evicted", { responder: null }))
    );
  }

  #responder(ask: Ask, from_peer: string | undefined): string {
    if (from_peer === undefined) return ask.to_peer_name;
    const sender = this.#deps.directory.sender(from_peer);
    if (sender.peer_id === ask.to_peer_id) return sender.name;
    throw new Problem("not_the_recipient", { correlation_id: ask.correlation_id });
  }

  /** Throws `not_the_asker`. The asker's own peer id is accepted even when that peer is gone. */
  mustBeAsker(ask: Ask, asker: string): void {
    if (asker === ask.from_peer_id) return;
    const sender = this.#deps.directory.sender(asker);
    const same = ask.from_peer_id === null
      ? sender.name === ask.from_peer_name || asker === ask.from_peer_name
      : sender.peer_id === ask.from_peer_id;
    if (!same) throw new Problem("not_the_asker", { correlation_id: ask.correlation_id });
  }
}

/** How an ack closes an ask. If the ask is a choice, a message must name one of its options. */
function toAckClosing(
  { question }: Ask,
  message: string,
  hasAttachments: boolean,
): Pick<ClosingDetails, "reply" | "answer"> & { close_reason: CloseReason } {
  if (message === "") return { close_reason: hasAttachments ? "ack_with_msg" : "ack" };
  if (question?.kind !== "choice") return { close_reason: "ack_with_msg", reply: message };
  const answer = chooseOption(question, message);
  return { close_reason: "answered", reply: answer.text, answer };
}
