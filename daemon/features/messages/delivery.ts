/** Accepts messages, sends or queues them, and withdraws those that are no longer needed. */

import type { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { RunNumbers } from "../../data/run_numbers.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Reason } from "protocol/reasons.ts";
import type { IdCodec } from "./id_codec.ts";
import type { Attachments } from "protocol/messages/attachments.ts";
import { type Address, type AuthorKind, isLocalHuman } from "protocol/peers/record.ts";
import type { AskFields, StoredMessage } from "protocol/messages/contract.ts";
import type { MessageProof } from "protocol/proofs/contract.ts";
import { beginTrace, continueTrace } from "kit/http/traceparent.ts";
import type { Dispatcher, HoldPorts } from "./dispatcher.ts";
import * as ledger from "./ledger/ledger.ts";
import type { Steps } from "./ledger/steps.ts";
import { TOOL_PERMISSION } from "protocol/messages/question.ts";
import type { OriginProofs, Origins } from "../origins/origins.ts";
import { isOutside } from "protocol/derived/origins.ts";
import type { Chain } from "protocol/origins/record.ts";
import { Verb } from "protocol/origins/policy.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { LimitedMessage, Limits } from "./limits.ts";
import type { RemoteDelivery, RemoteOrigin } from "./remote_delivery.ts";
import type { Session } from "./websocket/session.ts";
import type { Sockets, Ticket } from "./websocket/sockets.ts";

/** Maximum time to settle a drain. Then its messages are queued again (contract 3). */
const LEASE_MS_MAX = 60_000;
const TICK_ROWS_MAX = 500;

/** A message to be sent, as the feature that sends it describes it. */
export interface MessageDraft extends LimitedMessage {
  readonly to: Address;
  readonly voice: AuthorKind;
  /** The person who sends it in the name of a peer. */
  readonly sent_by?: string | undefined;
  /** If absent, the human's messages are urgent and all others are not. */
  readonly urgent?: boolean | undefined;
  readonly text: string;
  readonly circle: string | null;
  readonly attachments?: Attachments;
  /** The ask of an ack or an inbox item. Of an ask: the id that its asker chose, if any. */
  readonly correlation_id?: string | null;
  readonly item_id?: string | null;
  readonly question?: StoredMessage["question"];
  readonly traceparent?: string | undefined;
  readonly closing?: Pick<StoredMessage, "close_reason" | "outcome">;
  readonly opening?: AskFields;
  readonly proof?: MessageProof | undefined;
  /** Maximum wait; by default the queue's. Asks ignore it: they wait as long as they are open. */
  readonly ttl_ms?: number;
  /** Set for a message that comes from another machine. */
  readonly remote_origin?: RemoteOrigin;
}

/** Effects of sending on higher features. */
export interface SendEffects {
  /** A message is stored and about to be sent. */
  sent(message: StoredMessage): void;
}

interface DeliveryDeps {
  readonly effects: SendEffects;
  readonly budgets: Pick<Budgets, "admit" | "join">;
  readonly origins: Pick<
    Origins,
    "askedFromOutside" | "chainOf" | "chainOfArrived" | "hasRules" | "mustAllow"
  >;
  readonly remote: RemoteDelivery;
  readonly dispatcher: Dispatcher;
  readonly idCodec: IdCodec;
  readonly limits: Limits;
  readonly ports: HoldPorts;
  readonly queue_ttl_ms: number;
  readonly sockets: Sockets;
  readonly steps: Steps;
  /** The leases of this run, by row number. */
  readonly leases: Ages;
}

/** Close reasons that an act of the recipient causes, which proves that the ask arrived. */
const ANSWER_REASONS: ReadonlySet<string> = new Set([
  "ack",
  "ack_with_msg",
  "answered",
  "declined",
]);

export class Delivery {
  readonly #ctx: Context;
  readonly #deps: DeliveryDeps;
  /** Row numbers, from which ids are made. No other run of this daemon uses them. */
  readonly #numbers: RunNumbers;

  constructor(ctx: Context, deps: DeliveryDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#numbers = new RunNumbers(ctx, "messages", ledger.lastSeq(ctx.db));
  }

  /** Accepts a message. The turn's commit stores it; it is sent after the commit. */
  send(draft: MessageDraft): Ticket {
    const { db } = this.#ctx;
    const { peer_id, daemon_id } = draft.to;
    // Messages to the human go to the inbox, which sends them to the surfaces.
    const isForInbox = isLocalHuman(draft.to);
    const isSent = !isForInbox && daemon_id === null;
    const session = isSent ? this.#deps.sockets.caughtUpSession(peer_id) : undefined;
    return db.transact((tx) => {
      const { budgets } = this.#deps;
      const budget = budgets.admit(tx, draft);
      const hops = this.#deps.limits.checkAndCount(draft, !session && !isForInbox);
      const message = this.#toMessage(tx, draft, session);
      if (message.chain) this.#mustAllow(draft, message.chain);
      const { kind, correlation_id, opening } = draft;
      if (kind === "ask" && isOutside(message.chain)) this.#deps.origins.askedFromOutside(peer_id);
      ledger.insert(tx, message, opening);
      // Few messages begin with a reason, so the insert leaves it out.
      if (message.reason !== null) ledger.update(tx, message.seq, { reason: message.reason });
      if (message.proof) ledger.setProof(tx, message.seq, message.proof);
      if (kind === "ask" && correlation_id) ledger.insertChosenId(tx, correlation_id, message.seq);
      if (budget || draft.budget !== undefined) {
        const parent_id = opening?.parent_id ?? null;
        budgets.join(tx, draft, { ...message, parent_id }, budget);
      }
      const ticket: Ticket = { message, state: message.state };
      this.#deps.steps.publish(message);
      this.#deps.effects.sent(message);
      if (daemon_id !== null) this.#deps.remote.forward(tx, message, daemon_id, hops);
      else if (session) db.afterCommit(() => this.#deps.sockets.push(session, ticket));
      else if (message.state === "queued") {
        db.afterCommit(() => this.#deps.dispatcher.wake(peer_id));
      }
      return ticket;
    });
  }

  /** Drops the messages queued for a peer, for this reason; returns their number. */
  dropQueue(peer_id: string, reason: Reason): number {
    const { db, events, clock } = this.#ctx;
    const { remote, steps } = this.#deps;
    return db.transact((tx) => {
      const arrived = remote.queuedFromElsewhere(tx, peer_id);
      // The origin of each message is notified.
      for (const message of arrived) steps.dropped(message, reason);
      const count = ledger.dropQueue(tx, peer_id, reason, clock.now()) + arrived.length;
      for (const { seq } of ledger.unfinishedOf(db, peer_id)) {
        ledger.update(tx, seq, { repeatable: 0 });
      }
      if (count > 0) events.append("deliveries_dropped", { peer_id, count, reason });
      return count;
    });
  }

  /**
   * Stops the delivery of an ask that was closed, so that it is neither sent nor repeated. A queued
   * message is dropped. Any other message counts as accepted if the recipient answered the ask.
   * Returns true if the message was no longer queued, so that it may have reached the recipient.
   */
  release(correlation_id: string, reason: string): boolean {
    const { db } = this.#ctx;
    const message = ledger.findMessage(db, correlation_id);
    if (!message) return false;
    if (message.state === "queued") return !this.#takeBack(message, reason);
    if (ANSWER_REASONS.has(reason)) this.#deps.steps.accepted(message);
    else if (message.repeatable) {
      db.transact((tx) => ledger.update(tx, message.seq, { repeatable: 0 }));
    }
    return true;
  }

  findMessage(delivery_id: string): StoredMessage | undefined {
    return ledger.findMessage(this.#ctx.db, delivery_id);
  }

  /**
   * Handles messages that were being sent when the daemon ended. A message is queued again if its
   * receiver drops repeats; otherwise it counts as sent, with an unclear outcome.
   */
  reconcile(): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const message of ledger.unfinished(db)) {
        // A message stored on a bus survives the restart.
        if (message.transport === "bus") continue;
        if (message.repeatable) this.#deps.steps.repeated(message, "daemon_restart");
        else this.#deps.steps.written(message, "daemon_restart");
      }
    });
  }

  /**
   * Called once a second. Expires overdue messages, queues drained messages again that were not
   * settled in time, and starts replays and dispatch passes for peers with queued messages.
   */
  tick(now: number): void {
    const { db } = this.#ctx;
    const overdue = ledger.overdue(db, now, TICK_ROWS_MAX);
    if (overdue.length > 0) db.transact(() => overdue.forEach((message) => this.#expire(message)));
    const unsettled = this.#unsettledMessages(now);
    if (unsettled.length > 0) {
      db.transact(() =>
        unsettled.forEach((message) => this.#deps.steps.repeated(message, "not_settled"))
      );
    }
    this.#deps.limits.tick();
    const waiting = ledger.peersWaiting(db);
    this.#deps.sockets.tick(waiting);
    this.dispatchWaiting(waiting);
  }

  /** Starts a dispatch pass for each peer with queued messages. */
  dispatchWaiting(waiting = ledger.peersWaiting(this.#ctx.db)): void {
    for (const peer_id of waiting) this.#deps.dispatcher.wake(peer_id);
  }

  /** Messages that their reader did not settle in time. */
  #unsettledMessages(now: number): StoredMessage[] {
    const { db } = this.#ctx;
    const { leases } = this.#deps;
    const over = leases.takeOlderThan(LEASE_MS_MAX, TICK_ROWS_MAX);
    const known = over.flatMap((seq) => ledger.findMessageBySeq(db, Number(seq)) ?? [])
      .filter(isLeased);
    const seqs = new Set(known.map(({ seq }) => seq));
    // Leases beyond `AGES_MAX` are not in memory, so the time of day decides.
    const old = ledger.unsettledLeases(db, now - LEASE_MS_MAX, TICK_ROWS_MAX).filter((message) =>
      !seqs.has(message.seq) &&
      leases.of(String(message.seq), message.sent_at ?? now) >= LEASE_MS_MAX
    );
    return [...known, ...old];
  }

  /** A queued message expires. A message that went out stays sent, but is not sent again. */
  #expire(message: StoredMessage): void {
    if (message.state === "queued") this.#takeBack(message, "ttl");
    else this.#ctx.db.transact((tx) => ledger.update(tx, message.seq, { repeatable: 0 }));
  }

  /**
   * Ends a queued message. Returns false for a message that may be on the way to another machine:
   * that machine reports its end.
   */
  #takeBack(message: StoredMessage, reason: string): boolean {
    const { remote, steps } = this.#deps;
    return this.#ctx.db.transact((tx) => {
      const isHere = remote.withdraw(tx, message);
      if (!isHere) steps.handedOver([message], "bus", false);
      else if (reason === "ttl") steps.expired(message, "ttl");
      else steps.dropped(message, reason);
      return isHere;
    });
  }

  /**
   * The chain of a message; null for a notice of the daemon, unless work that began outside has
   * caused it: a job's result is text of that work, and no word of the person who began the job.
   */
  #chainOf(draft: MessageDraft, id: string): Chain | null {
    const { origins } = this.#deps;
    const { caused_by, kind, remote_origin: arrived, from, voice, sent_by, reply_to } = draft;
    if (arrived) {
      const is_person = voice === "human";
      return origins.chainOfArrived({ id, from: from.name, is_person, ...arrived });
    }
    const isReply = kind === "ack";
    if (!isReply && caused_by === undefined && draft.proofs === undefined) return null;
    const { proven_human, unverified, via, surface, calling_peer }: OriginProofs = draft.proofs ??
      {};
    const isPerson = voice === "human" || (proven_human === true && sent_by !== undefined);
    const chain = origins.chainOf({
      from,
      id,
      proofs: {
        caused_by,
        unverified,
        via,
        surface,
        calling_peer,
        proven_human: isPerson,
        sent_by: voice === "peer" && isPerson ? sent_by : undefined,
      },
      answers: isReply ? draft.correlation_id : null,
      follows: reply_to,
    });
    const isNotice = draft.notice === true && draft.proofs === undefined;
    return isNotice && !isOutside(chain) ? null : chain;
  }

  /** Throws `policy_denied`. Replies and notices of the daemon always pass. */
  #mustAllow(draft: MessageDraft, chain: Chain): void {
    const { origins } = this.#deps;
    if (!origins.hasRules || draft.notice) return;
    const verb = Verb.safeParse(draft.kind).data;
    if (verb === undefined) return;
    const { attachments = [], from, question, to } = draft;
    // A person decides about a tool, and is asked whatever may be sent.
    if (question?.["scope"] === TOOL_PERMISSION) return;
    origins.mustAllow(chain, { verb, from, to });
    if (attachments.length > 0) origins.mustAllow(chain, { verb: "attachments", from, to });
  }

  /** The trace of the ask that a message answers or follows up on; otherwise a new one. */
  #traceparentOf({ reply_to, correlation_id }: MessageDraft): string {
    const { db, ids } = this.#ctx;
    const related_id = reply_to ?? correlation_id;
    const before = related_id ? ledger.findLink(db, related_id) : undefined;
    return before ? continueTrace(before.traceparent, ids) : beginTrace(ids);
  }

  /** The reason why a message to this peer waits from the start; null if none is known. */
  #reasonToWait({ daemon_id, peer_id, status }: Address): Reason | null {
    if (daemon_id !== null) return this.#deps.remote.reasonToWait(daemon_id);
    const hold = this.#deps.ports.holdOf(peer_id);
    if (hold) return hold.reason;
    return status === "offline" ? "recipient_offline" : null;
  }

  /** Takes the next row number. If the request is refused afterwards, the number stays unused. */
  #toMessage(tx: Tx, draft: MessageDraft, session: Session | undefined): StoredMessage {
    const now = this.#ctx.clock.now();
    const { kind, from, to, opening } = draft;
    const seq = this.#numbers.next(tx);
    const ident = this.#deps.idCodec.ident(seq);
    const delivery_id = `${kind === "notify" ? "notif" : "qd"}-${ident}`;
    const correlation_id = draft.correlation_id ?? (kind === "ask" ? `ask-${ident}` : null);
    const root = opening?.parent_id ?? (kind === "ask" ? correlation_id : null) ?? delivery_id;
    const isForInbox = isLocalHuman(to); // The inbox receives the message in this transaction.
    // The queue of another machine's peer is on that machine, and the bus has a limit of its own.
    const ttl_ms = draft.ttl_ms ?? (to.daemon_id === null ? this.#deps.queue_ttl_ms : undefined);
    return {
      seq,
      delivery_id,
      kind,
      correlation_id,
      item_id: draft.item_id ?? null,
      from_peer_id: from.peer_id,
      from_peer_name: from.name,
      to_peer_id: to.peer_id,
      to_peer_name: to.name,
      circle: draft.circle,
      text: draft.text,
      attachments: draft.attachments ?? [],
      voice: draft.voice,
      chain: this.#chainOf(draft, root),
      unverified: draft.voice === "unverified",
      sent_by: from.peer_id === null || draft.voice !== "peer" ? null : draft.sent_by ?? null,
      urgent: draft.urgent ?? draft.voice === "human",
      reply_to: draft.reply_to ?? null,
      question: draft.question ?? null,
      traceparent: draft.traceparent ?? this.#traceparentOf(draft),
      state: session ? "attempting" : isForInbox ? "accepted" : "queued",
      transport: session ? "websocket" : null,
      repeatable: session?.receipts(kind) ?? false,
      attempts: session ? 1 : 0,
      created_at: now,
      attempted_at: session ? now : null,
      sent_at: null,
      accepted_at: isForInbox ? now : null,
      seen_at: null,
      settled_at: null,
      expires_at: opening || ttl_ms === undefined ? null : now + ttl_ms,
      reason: isForInbox ? null : this.#reasonToWait(to),
      close_reason: draft.closing?.close_reason ?? null,
      outcome: draft.closing?.outcome ?? null,
      closed_at: null,
      proof: draft.proof ?? null,
    };
  }
}

/** True if a reader has drained the message and not settled it. */
function isLeased({ state, transport, repeatable }: StoredMessage): boolean {
  return state === "sent" && transport === "hook" && Boolean(repeatable);
}
