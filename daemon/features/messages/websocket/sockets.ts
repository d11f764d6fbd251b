/** Who is connected over `/ws`, and the flow of the queue to them. Owns every open session. */

import type { Context } from "kit/data/context.ts";
import { frame } from "../dispatch/framing.ts";
import * as ledger from "../ledger/ledger.ts";
import type { StoredMessage } from "../contract.ts";
import { isClosedAsk, type Steps } from "../ledger/steps.ts";
import type { DeliveryAck, Outbound } from "./frames.ts";
import { type Session, toFrame } from "./session.ts";

/** How many waiting messages are replayed in one turn. */
const REPLAY_BATCH = 100;
/** Characters that a replay may have under way: a backlog must not pass for a slow reader. */
const REPLAY_LENGTH_MAX = 2 * 1024 * 1024;
/** How long a replay rests when that much is under way. */
const REPLAY_DELAY_MS = 20;

/** A message on its way, as the one who sent it may look at it. */
export interface Ticket {
  readonly message: StoredMessage;
  /** What is known of it now; rises as its frame goes out. */
  state: StoredMessage["state"];
}

export interface SocketsDeps {
  /** An inbox item as a surface is sent it (contract 4). */
  inboxItemFrame(item_id: string, surface: string): { item: unknown; reply_to_ref: string | null };
}

export class Sockets {
  readonly #ctx: Context;
  readonly #steps: Steps;
  readonly #deps: SocketsDeps;
  readonly #sessions = new Map<string, Session>();
  /** Those of the sessions that show the human its items. */
  readonly #surfaces = new Set<Session>();
  /** Those whose replay waits for the network to take what is under way. */
  readonly #replayDelayed = new Set<Session>();
  /** Frames that went out in this turn and are not yet marked as sent. */
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

  /** A session that may be handed a new message at once, or nothing. */
  caughtUpSession(peer_id: string): Session | undefined {
    const session = this.#sessions.get(peer_id);
    return session?.isCaughtUp && session.open ? session : undefined;
  }

  /** Whether messages go by its socket now. */
  isCarrying(peer_id: string): boolean {
    return this.#sessions.get(peer_id)?.isSuspended === false;
  }

  /** Its peer is offline: what comes for it waits, though its socket stands. */
  suspend(peer_id: string): void {
    const session = this.#sessions.get(peer_id);
    if (session) Object.assign(session, { isSuspended: true, isCaughtUp: false });
  }

  /** Its peer is back: what waited flows. */
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

  /**
   * Takes a session in; an older one of the same peer ends. Its queue is replayed, with what
   * `prepare` adds to it.
   */
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

  /** Lets a session go; false when a newer one stands in its place. */
  detach(session: Session): boolean {
    if (this.#sessions.get(session.peer_id) !== session) return false;
    this.#sessions.delete(session.peer_id);
    this.#surfaces.delete(session);
    this.#requeueUnconfirmed(session.peer_id);
    return true;
  }

  /**
   * Sends what waits, oldest first, a batch a turn and no faster than it is taken; then new
   * messages flow straight through.
   */
  replay(session: Session): void {
    const { db } = this.#ctx;
    if (!session.open || session.isSuspended) return;
    if (this.#sessions.get(session.peer_id) !== session) return;
    db.transact(() => {
      const waiting = ledger.queue(db, session.peer_id, REPLAY_BATCH);
      session.isCaughtUp = waiting.length === 0;
      const batch = fittingBatch(waiting, session.buffered);
      for (const message of batch) {
        const receipts = session.receipts(message.kind);
        const attempted = this.#steps.attempted(message, "websocket", receipts);
        db.afterCommit(() => this.push(session, { message: attempted, state: attempted.state }));
      }
      if (batch.length > 0) db.afterCommit(() => this.replay(session));
      else if (waiting.length > 0) db.afterCommit(() => void this.#replayLater(session));
    });
  }

  /** Writes the frame of a message that is on the disk as attempting. */
  push(session: Session, ticket: Ticket): void {
    if (!session.send(this.#toFrame(session, ticket.message))) {
      return this.#requeue(session, ticket);
    }
    ticket.state = "sent";
    if (this.#written.length === 0) queueMicrotask(() => this.#markWritten());
    this.#written.push(ticket.message);
  }

  /** Writes a message as a plain frame, on no queue; whether there was a line to write it to. */
  write(peer_id: string, message: StoredMessage): boolean {
    return this.#sessions.get(peer_id)?.send(toFrame(message)) ?? false;
  }

  /** A client's word on a delivery. One on another's message, or an unknown one, is nothing. */
  receipt(session: Session, ack: DeliveryAck): StoredMessage | undefined {
    const { db } = this.#ctx;
    const found = ledger.findMessage(db, ack.delivery_id);
    if (!found || found.to_peer_id !== session.peer_id) return undefined;
    if (found.kind === "inbox_item") return found; // What it stands for is the inbox's to know.
    if (ack.status === "seen") this.#steps.seen(found);
    else if (ack.status === "accepted" || ack.status === "pushed") this.#steps.accepted(found);
    return found;
  }

  /** Pings who is due, replays to those for whom something waits; once a second. */
  tick(now: number, waiting: readonly string[]): void {
    for (const session of this.#sessions.values()) session.tick(now);
    for (const peer_id of waiting) {
      const session = this.#sessions.get(peer_id);
      if (session?.isCaughtUp) this.replay(session);
      else if (session) this.#startReplay(session);
    }
  }

  closeAll(): void {
    for (const session of this.#sessions.values()) session.close("going_away");
  }

  async #replayLater(session: Session): Promise<void> {
    if (this.#replayDelayed.has(session)) return;
    this.#replayDelayed.add(session);
    await this.#ctx.clock.sleep(REPLAY_DELAY_MS);
    this.#replayDelayed.delete(session);
    this.replay(session);
  }

  #toFrame({ identity: { surface, framed } }: Session, message: StoredMessage): Outbound {
    const { item_id, delivery_id } = message;
    if (item_id === null || surface === null || surface.bridge) {
      return toFrame(message, framed ? frame(message) : undefined);
    }
    return { type: "inbox_item", delivery_id, ...this.#deps.inboxItemFrame(item_id, surface.name) };
  }

  /** Replays the queue, unless another transport tries an earlier message: a later tick does. */
  #startReplay(session: Session): void {
    const under_way = ledger.unfinishedOf(this.#ctx.db, session.peer_id);
    const isElsewhereInFlight = under_way.some(({ state, transport }) =>
      state === "attempting" && transport !== "websocket"
    );
    if (!isElsewhereInFlight) this.replay(session);
  }

  /** One savepoint for all frames of a turn; receipts that were faster stand. */
  #markWritten(): void {
    const { db, clock } = this.#ctx;
    const written = this.#written;
    this.#written = [];
    const at = clock.now();
    db.transactLazily((tx) => {
      for (const message of written) {
        if (ledger.markWrittenOnce(tx, message.seq, at) > 0) {
          this.#steps.publish({ ...message, state: "sent" });
        }
      }
    });
  }

  /** The line was gone, or full, before a byte went out: a definite no. */
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

  /** What went out without a receipt waits again, where the client drops repeats. */
  #requeueUnconfirmed(peer_id: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const message of ledger.unfinishedOf(db, peer_id)) {
        if (!message.repeatable || message.transport !== "websocket") continue;
        this.#steps.repeated(message, "socket_closed");
      }
    });
  }
}

/** The first of those that wait, as many as may be under way at once; one at least. */
function fittingBatch(waiting: readonly StoredMessage[], buffered: number): StoredMessage[] {
  let length = buffered;
  return waiting.filter(({ text }, index) => {
    length += text.length;
    return length <= REPLAY_LENGTH_MAX || (index === 0 && buffered === 0);
  });
}
