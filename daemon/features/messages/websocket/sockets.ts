/** Holds the open `/ws` sessions by peer, and sends queued and new messages to them. */

import type { Context } from "../../../data/context.ts";
import { nextTurn } from "kit/net/frames.ts";
import type { BudgetNotes } from "../../budgets/notes.ts";
import { frame, withNote } from "../framing.ts";
import * as ledger from "../ledger/ledger.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { HoldPorts } from "../dispatcher.ts";
import { isClosedAsk, type Steps } from "../ledger/steps.ts";
import type { Outbound } from "./frames.ts";
import { type Session, toFrame } from "./session.ts";

/** Maximum queued messages replayed in one turn. */
const REPLAY_BATCH = 100;
/** Maximum characters that a replay buffers: a long backlog must not look like a slow reader. */
const REPLAY_LENGTH_MAX = 2 * 1024 * 1024;
/** The pause of a replay while its limit of characters is buffered. */
const REPLAY_DELAY_MS = 20;

/** An accepted message, with the state that its sender may observe. */
export interface Ticket {
  readonly message: StoredMessage;
  /** The current state of the message. It changes when the frame goes out. */
  state: StoredMessage["state"];
}

/** Questions of sockets to higher features. */
export interface SocketPorts extends HoldPorts {
  /** The content of an inbox item's frame for a surface (contract 4). */
  inboxItemFrame(item_id: string, surface: string): { item: unknown; reply_to_ref: string | null };
}

interface SocketsDeps {
  readonly ports: SocketPorts;
  readonly budgetNotes: Pick<BudgetNotes, "noteFor">;
}

export class Sockets {
  readonly #ctx: Context;
  readonly #steps: Steps;
  readonly #deps: SocketsDeps;
  readonly #sessions = new Map<string, Session>();
  /** The sessions of surfaces and bridges. */
  readonly #surfaces = new Set<Session>();
  /** Sessions whose replay waits for the network to take the buffer. */
  readonly #replayDelayed = new Set<Session>();
  /** Messages whose frames went out and are not yet marked as sent. */
  #written: StoredMessage[] = [];

  constructor(ctx: Context, steps: Steps, deps: SocketsDeps) {
    this.#ctx = ctx;
    this.#steps = steps;
    this.#deps = deps;
  }

  get size(): number {
    return this.#sessions.size;
  }

  getSession(peer_id: string): Session | undefined {
    return this.#sessions.get(peer_id);
  }

  /** The peer's session, if new messages may be sent to it at once. */
  caughtUpSession(peer_id: string): Session | undefined {
    const session = this.#sessions.get(peer_id);
    if (!session?.isCaughtUp || !session.open) return undefined;
    if (!this.#deps.ports.holdOf(peer_id)) return session;
    session.isCaughtUp = false;
    return undefined;
  }

  /** True if a socket carries the peer's messages now. */
  isCarrying(peer_id: string): boolean {
    return this.#sessions.get(peer_id)?.isSuspended === false;
  }

  /** The peer went offline: its messages are queued from now on, although its socket is open. */
  suspend(peer_id: string): void {
    const session = this.#sessions.get(peer_id);
    if (session) Object.assign(session, { isSuspended: true, isCaughtUp: false });
  }

  /** Called when the peer is back. Its queue is replayed. */
  resume(peer_id: string): void {
    const session = this.#sessions.get(peer_id);
    if (!session?.isSuspended) return;
    session.isSuspended = false;
    this.#startReplay(session);
  }

  /** Surfaces and bridges that are connected now. */
  surfaces(): Session[] {
    return [...this.#surfaces].filter(({ open }) => open);
  }

  /** Replaces the peer's session, calls `prepare`, which may queue messages, replays the queue. */
  attach(session: Session, prepare: () => void): void {
    const previous = this.#sessions.get(session.peer_id);
    this.#sessions.set(session.peer_id, session);
    if (previous) this.#surfaces.delete(previous);
    if (session.identity.surface) this.#surfaces.add(session);
    this.#requeueUnconfirmed(session.peer_id);
    if (previous && previous !== session) previous.close("superseded");
    prepare();
    this.#startReplay(session);
  }

  /** Removes a session; false if a newer one has replaced it. */
  detach(session: Session): boolean {
    if (this.#sessions.get(session.peer_id) !== session) return false;
    this.#sessions.delete(session.peer_id);
    this.#surfaces.delete(session);
    this.#requeueUnconfirmed(session.peer_id);
    return true;
  }

  /** Sends the queue, oldest first, a batch per turn; after it, new messages are sent at once. */
  replay(session: Session): void {
    const { db } = this.#ctx;
    if (!session.open || session.isSuspended) return;
    if (this.#sessions.get(session.peer_id) !== session) return;
    db.transact((tx) => {
      const waiting = ledger.queue(db, session.peer_id, REPLAY_BATCH);
      session.isCaughtUp = waiting.length === 0;
      const batch = fittingBatch(waiting, session.buffered);
      for (const message of batch) {
        // An attempt may begin a hold, such as that of the messages behind a probe.
        const hold = this.#deps.ports.holdOf(session.peer_id);
        if (hold) {
          const isNews = message.reason !== hold.reason;
          return isNews && ledger.setBlockedReason(tx, session.peer_id, hold.reason);
        }
        const receipts = session.receipts(message.kind);
        const attempted = this.#steps.attempted(message, "websocket", receipts);
        db.afterCommit(() => this.push(session, { message: attempted, state: attempted.state }));
      }
      if (batch.length > 0) db.afterCommit(() => this.replay(session));
      else if (waiting.length > 0) db.afterCommit(() => void this.#replayLater(session));
    });
  }

  /** Sends the frame of a message that is stored as attempting. */
  push(session: Session, ticket: Ticket): void {
    if (!session.send(this.#toFrame(session, ticket.message))) {
      return this.#requeue(session, ticket);
    }
    ticket.state = "sent";
    // The runtime writes the frames at the end of this turn, and should not wait for the marks.
    if (this.#written.length === 0) nextTurn(() => this.#markWritten());
    this.#written.push(ticket.message);
  }

  /** Sends a message as a plain frame that has no delivery. Returns false if it cannot be sent. */
  write(peer_id: string, message: StoredMessage): boolean {
    return this.#sessions.get(peer_id)?.send(toFrame(message)) ?? false;
  }

  /** Called once a second. Pings the sessions, and replays the queues of the peers in `waiting`. */
  tick(waiting: readonly string[]): void {
    const now = this.#ctx.clock.monotonic();
    for (const session of this.#sessions.values()) session.tick(now);
    for (const peer_id of waiting) {
      const session = this.#sessions.get(peer_id);
      if (session?.isCaughtUp) this.replay(session);
      else if (session) this.#startReplay(session);
    }
  }

  closeAll(): void {
    this.#markWritten();
    for (const session of this.#sessions.values()) session.close("going_away");
  }

  async #replayLater(session: Session): Promise<void> {
    if (this.#replayDelayed.has(session)) return;
    this.#replayDelayed.add(session);
    await this.#ctx.clock.sleep(REPLAY_DELAY_MS);
    this.#replayDelayed.delete(session);
    if (session.open) this.replay(session); // A shutdown has closed it, and the database with it.
  }

  #toFrame({ identity: { surface, framed } }: Session, message: StoredMessage): Outbound {
    const { item_id, delivery_id } = message;
    if (item_id === null || surface === null || surface.bridge) {
      return toFrame(message, framed ? this.#framed(message) : undefined);
    }
    return {
      type: "inbox_item",
      delivery_id,
      ...this.#deps.ports.inboxItemFrame(item_id, surface.name),
    };
  }

  #framed(message: StoredMessage): string {
    return withNote(frame(message), this.#deps.budgetNotes.noteFor(message.to_peer_id));
  }

  /** Replays the queue, unless another transport attempts a message: then a later tick does. */
  #startReplay(session: Session): void {
    const under_way = ledger.unfinishedOf(this.#ctx.db, session.peer_id);
    const isElsewhereInFlight = under_way.some(({ state, transport }) =>
      state === "attempting" && transport !== "websocket"
    );
    if (!isElsewhereInFlight) this.replay(session);
  }

  /** Marks all frames of a turn as sent, in one transaction. The state of a receipt is kept. */
  #markWritten(): void {
    const { db, clock } = this.#ctx;
    const written = this.#written;
    if (written.length === 0) return;
    this.#written = [];
    const at = clock.now();
    db.failures.repeatUntilStored((tx) => {
      const marked = new Set(ledger.markAllWritten(tx, written.map(({ seq }) => seq), at));
      for (const message of written) {
        if (marked.delete(message.seq)) this.#steps.publish(message, "sent");
      }
    });
  }

  /** Queues a message again because the connection was closed or full before any byte went out. */
  #requeue(session: Session, ticket: Ticket): void {
    const { db } = this.#ctx;
    session.isCaughtUp = false;
    const reason = session.open ? "socket_full" : "socket_closed";
    db.transact(() => {
      const now = ledger.findMessage(db, ticket.message.delivery_id);
      if (now?.state !== "attempting") return;
      const queued = this.#steps.refused(now, reason);
      ticket.state = queued.state;
      if (isClosedAsk(now)) this.#steps.dropped(queued, now.close_reason ?? reason);
    });
    if (session.open) void this.#replayLater(session);
  }

  /** Queues messages again that were sent without a receipt, if their client drops repeats. */
  #requeueUnconfirmed(peer_id: string): void {
    const { db } = this.#ctx;
    this.#markWritten();
    db.transact(() => {
      for (const message of ledger.unfinishedOf(db, peer_id)) {
        if (!message.repeatable || message.transport !== "websocket") continue;
        this.#steps.repeated(message, "socket_closed");
      }
    });
  }
}

/** The first messages that fit into the buffer; at least one if the buffer is empty. */
function fittingBatch(waiting: readonly StoredMessage[], buffered: number): StoredMessage[] {
  let length = buffered;
  return waiting.filter(({ text }, index) => {
    length += text.length;
    return length <= REPLAY_LENGTH_MAX || (index === 0 && buffered === 0);
  });
}
