/** The delivery desk: takes messages in, sends them on, believes receipts and proofs. */

import type { Ground } from "kit/ground.ts";
import { Problem } from "kit/problem.ts";
import type { Numbers } from "../numbers.ts";
import type { Address } from "../peers/contract.ts";
import type { Delivery as Record, Held, Kind, Opening, Voice } from "./contract.ts";
import type { Courier } from "./ladder/courier.ts";
import { idsIn } from "./ladder/framing.ts";
import * as audit from "./ledger/audit.ts";
import * as ledger from "./ledger/ledger.ts";
import type { Steps } from "./ledger/steps.ts";
import type { DeliveryAck } from "./ws/frames.ts";
import type { Session } from "./ws/session.ts";
import type { Sockets, Ticket } from "./ws/sockets.ts";

/** How long bytes may be out before the lack of a proof is said (architecture 3). */
const PROOF_MS_MAX = 30_000;
/** How long a drain may stay unsettled before its messages wait again (contract 3). */
const DRAIN_MS_MAX = 60_000;
const BEAT_ROWS_MAX = 500;

/** What is to be said, by whom, to whom. */
export interface Draft {
  readonly kind: Kind;
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly to: Address;
  readonly voice: Voice;
  readonly text: string;
  readonly circle: string | null;
  readonly attachments?: readonly string[];
  /** The ask that an ack or an inbox item is about; an ask brings its own. */
  readonly correlation_id?: string | null;
  readonly item_id?: string | null;
  readonly reply_to?: string | null;
  readonly question?: Held["question"];
  readonly traceparent?: string | undefined;
  readonly closing?: Pick<Held, "close_reason" | "outcome">;
  readonly opening?: Opening;
}

export interface DeliveryNeeds {
  readonly numbers: Numbers;
  readonly queue: { readonly ttl_ms: number; readonly max_per_peer: number };
  /** A message of an ask could not be carried at all: its asker is told. */
  undeliverable(message: Held): void;
}

/** Ends of an ask that its recipient brought about. */
const ANSWERS: ReadonlySet<string> = new Set(["ack", "ack_with_msg", "answered", "declined"]);

export class Delivery {
  readonly #ground: Ground;
  readonly #steps: Steps;
  readonly #sockets: Sockets;
  readonly #courier: Courier;
  readonly #needs: DeliveryNeeds;
  #last_seq: number;

  constructor(
    ground: Ground,
    parts: { steps: Steps; sockets: Sockets; courier: Courier },
    needs: DeliveryNeeds,
  ) {
    this.#ground = ground;
    this.#steps = parts.steps;
    this.#sockets = parts.sockets;
    this.#courier = parts.courier;
    this.#needs = needs;
    this.#last_seq = ledger.lastSeq(ground.db);
  }

  /**
   * Accepts a message: on the disk with the turn's commit, and on its way after it. Refuses with
   * `queue_full` when the recipient's queue is at its limit.
   */
  send(draft: Draft): Ticket {
    const { db } = this.#ground;
    const { peer_id, role } = draft.to;
    const session = this.#sockets.flowing(peer_id);
    if (!session && role !== "human") this.#refuseWhenFull(draft);
    const message = this.#write(draft, session);
    const ticket: Ticket = { message, state: message.state };
    db.transact(() => {
      this.#steps.say(message);
      if (session) db.afterCommit(() => this.#sockets.push(session, ticket));
      else if (message.state === "queued") db.afterCommit(() => this.#courier.wake(peer_id));
    });
    return ticket;
  }

  /** Drops what is queued for a peer, with the reason; how much it was. */
  dropQueue(peer_id: string, reason: string): number {
    const { db, events, clock } = this.#ground;
    return db.transact(() => {
      const dropped = ledger.dropQueue(db, peer_id, reason, clock.now());
      for (const { seq } of ledger.unfinishedOf(db, peer_id)) ledger.stopRepeating(db, seq);
      const count = dropped.length;
      if (count > 0) events.append("deliveries_dropped", { peer_id, count, reason });
      return count;
    });
  }

  /**
   * The ask is closed: it is not sent any more, nor again. Whether it may have reached its
   * recipient; that one's own word on the ask is its word on the delivery, too.
   */
  release(correlation_id: string, reason: string): boolean {
    const { db } = this.#ground;
    const message = ledger.held(db, correlation_id);
    if (!message) return false;
    if (message.state === "queued") this.#steps.dropped(message, reason);
    else if (ANSWERS.has(reason)) this.#steps.accepted(message);
    else if (message.repeatable) ledger.stopRepeating(db, message.seq);
    return message.state !== "queued";
  }

  /** A client's word on what it was sent. */
  receipt(session: Session, ack: DeliveryAck): void {
    const { db } = this.#ground;
    db.transact(() => {
      const message = this.#sockets.receipt(session, ack);
      if (!message) return;
      if (ack.status === "failed" || ack.status === "rejected") {
        this.#fail(message, ack.detail ?? ack.error_class ?? ack.status);
      }
    });
  }

  /** A prompt that a hook reported: the messages whose ids it holds are seen. */
  prove(peer_id: string, prompt: string): number {
    const { db } = this.#ground;
    return db.transact(() => {
      const proved = idsIn(prompt).filter((id) => {
        const message = ledger.held(db, id);
        if (message?.to_peer_id !== peer_id || message.state === "queued") return false;
        return this.#steps.seen(message);
      });
      return proved.length;
    });
  }

  /** Takes what waits for a peer into a reader's hands; it must be settled within 60 s. */
  drain(peer_id: string, limit: number): Held[] {
    const { db } = this.#ground;
    return db.transact(() => this.#free(peer_id, limit).map((message) => this.#taken(message)));
  }

  /** Gives a hook what waits, for its agent's next prompt; not to be sent again by itself. */
  handOver(peer_id: string, limits: { messages: number; bytes: number }): Held[] {
    const { db } = this.#ground;
    return db.transact(() => {
      let bytes = 0;
      const waiting = this.#free(peer_id, limits.messages);
      const fitting = waiting.filter(({ text }) => (bytes += text.length) <= limits.bytes);
      return fitting.map((message) =>
        this.#steps.written(this.#steps.attempted(message, "hook", false))
      );
    });
  }

  /** A reader's word on what it drained. */
  settle(delivery_ids: readonly string[], status: "accepted" | "seen" | "failed" | "rejected") {
    const { db } = this.#ground;
    db.transact(() => {
      for (const delivery_id of delivery_ids) {
        const message = ledger.held(db, delivery_id);
        if (!message) throw new Problem("unknown_message", { id: delivery_id });
        if (status === "seen") this.#steps.seen(message);
        else if (status === "accepted") this.#steps.accepted(message);
        else this.#fail(message, status);
      }
    });
  }

  /** What went out to a peer and was never proved; each is named once, by id (architecture 3). */
  nameUnproved(peer_id: string, limit: number): Held[] {
    const { db, clock } = this.#ground;
    return db.transact(() => {
      const messages = ledger.unproved(db, peer_id, limit);
      for (const { seq } of messages) ledger.named(db, seq, clock.now());
      return messages;
    });
  }

  waiting(peer_id: string, limit: number): Held[] {
    return ledger.queue(this.#ground.db, peer_id, limit);
  }

  held(delivery_id: string): Held | undefined {
    return ledger.held(this.#ground.db, delivery_id);
  }

  list(filter: { peer_id: string | null; state: string | null; limit: number }): Record[] {
    return audit.deliveries(this.#ground.db, filter);
  }

  counts(): { [state: string]: number } {
    const counted = audit.counts(this.#ground.db).map(({ state, count }) => [state, count]);
    return Object.fromEntries(counted);
  }

  /** After a start: what was under way is queued again where that is safe, else it is unclear. */
  reconcile(): void {
    const { db } = this.#ground;
    db.transact(() => {
      for (const message of ledger.unfinished(db)) {
        if (message.repeatable) this.#steps.repeated(message, "daemon_restart");
        else this.#steps.written(message, "daemon_restart");
      }
    });
  }

  /** Once a second: what is past its time, unproved, or drained and never settled. */
  beat(now: number): void {
    const { db } = this.#ground;
    db.transact(() => {
      for (const message of ledger.overdue(db, now, BEAT_ROWS_MAX)) this.#expire(message);
      for (const message of ledger.markUnproved(db, now - PROOF_MS_MAX, now)) {
        this.#steps.say(message);
      }
      for (const message of ledger.unsettled(db, now - DRAIN_MS_MAX, BEAT_ROWS_MAX)) {
        this.#steps.repeated(message, "not_settled");
      }
    });
    const waiting = ledger.peersWaiting(db);
    this.#sockets.beat(now, waiting);
    for (const peer_id of waiting) this.#courier.wake(peer_id);
  }

  /** What waits for a peer, save what a sender said after something that a rung is trying now. */
  #free(peer_id: string, limit: number): Held[] {
    const { db } = this.#ground;
    const tried = ledger.unfinishedOf(db, peer_id).filter(({ state }) => state === "attempting");
    const senders = new Set(tried.map(({ from_peer_name }) => from_peer_name));
    return ledger.queue(db, peer_id, limit)
      .filter(({ from_peer_name }) => !senders.has(from_peer_name));
  }

  /** Into a reader's hands: attempted and written at once, and safe to be handed over again. */
  #taken(message: Held): Held {
    const now = this.#ground.clock.now();
    const sent = this.#steps.written(this.#steps.attempted(message, "hook", true));
    return {
      ...sent,
      attempts: message.attempts + 1,
      attempted_at: now,
      sent_at: now,
      reason: null,
    };
  }

  /** A definite no of the receiver: another rung, or the end of it. */
  #fail(message: Held, reason: string): void {
    if (message.state !== "attempting" && message.state !== "sent") return;
    this.#steps.rejected(message, reason);
    if (message.kind === "ask") this.#needs.undeliverable(message);
  }

  /** What is queued expires. What went out cannot: it stays sent, and is not sent again. */
  #expire(message: Held): void {
    if (message.state === "queued") this.#steps.expired(message, "ttl");
    else ledger.stopRepeating(this.#ground.db, message.seq);
  }

  #refuseWhenFull({ kind, to }: Draft): void {
    if (kind !== "ask" && kind !== "notify" && kind !== "broadcast") return;
    const { max_per_peer } = this.#needs.queue;
    const waiting = ledger.waitingCount(this.#ground.db, to.peer_id, max_per_peer);
    if (waiting < max_per_peer) return;
    throw new Problem("queue_full", { peer_id: to.peer_id, waiting });
  }

  #write(draft: Draft, session: Session | undefined): Held {
    const message = this.#compose(draft, session);
    ledger.insert(this.#ground.db, message, draft.opening);
    return message;
  }

  /** A number that a refused verb has drawn is not given again. */
  #compose(draft: Draft, session: Session | undefined): Held {
    const { ids, clock } = this.#ground;
    const now = clock.now();
    const { kind, from, to, opening } = draft;
    const seq = ++this.#last_seq;
    const ident = this.#needs.numbers.ident(seq);
    const taken = to.role === "human"; // The inbox is the receiver, and it has it.
    return {
      seq,
      delivery_id: `${kind === "notify" ? "notif" : "qd"}-${ident}`,
      kind,
      correlation_id: kind === "ask" ? `ask-${ident}` : draft.correlation_id ?? null,
      item_id: draft.item_id ?? null,
      from_peer_id: from.peer_id,
      from_peer_name: from.name,
      to_peer_id: to.peer_id,
      to_peer_name: to.name,
      circle: draft.circle,
      text: draft.text,
      attachments: [...draft.attachments ?? []],
      voice: draft.voice,
      reply_to: draft.reply_to ?? null,
      question: draft.question ?? null,
      traceparent: draft.traceparent ?? `00-${ids.hex(16)}-${ids.hex(8)}-01`,
      state: session ? "attempting" : taken ? "accepted" : "queued",
      rung: session ? "websocket" : null,
      repeatable: session?.identity.receipts ?? false,
      attempts: session ? 1 : 0,
      created_at: now,
      attempted_at: session ? now : null,
      sent_at: null,
      accepted_at: taken && !session ? now : null,
      seen_at: null,
      unproved_at: null,
      settled_at: null,
      expires_at: opening ? null : now + this.#needs.queue.ttl_ms,
      reason: null,
      close_reason: draft.closing?.close_reason ?? null,
      outcome: draft.closing?.outcome ?? null,
      closed_at: null,
    };
  }
}
