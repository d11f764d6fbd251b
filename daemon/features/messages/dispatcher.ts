/** Sends queued messages to agents without a socket, one at a time per peer, by its transports. */

import type { Context } from "../../data/context.ts";
import { isProblem } from "protocol/problems.ts";
import type { Hold } from "protocol/messages/holds.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Reason } from "protocol/reasons.ts";
import { nextTurn, pause } from "kit/core/timeout.ts";
import type { AgentPeer, AgentTransport, OutgoingMessage, Receipt } from "../agents/adapter.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import { type Directory, takesHookMessages } from "../peers/directory.ts";
import type { Peers } from "../peers/peers.ts";
import type { Reachability } from "../peers/records.ts";
import { BY_SCREEN, type PeerWaits } from "../peers/waits.ts";
import type { ReportedWait } from "protocol/peers/record.ts";
import * as ledger from "./ledger/ledger.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { isClosedAsk, type Steps } from "./ledger/steps.ts";
import { HOLD_MS_MAX, type UrgentMessages } from "./urgent_messages.ts";
import { toOutgoing } from "./framing.ts";

/** Questions about a peer's queue to higher features. */
export interface HoldPorts {
  /** The reason why no transport may take the peer's next message now; undefined for none. */
  holdOf(peer_id: string): Hold | undefined;
}

interface DispatcherDeps {
  readonly agentPeers: Pick<AgentPeers, "find">;
  readonly directory: Pick<Directory, "canQueueFor" | "address">;
  readonly peers: Pick<Peers, "recordDelivery">;
  readonly ports: HoldPorts;
  readonly reachability: Pick<Reachability, "isConnected">;
  readonly transports: Pick<AgentTransports, "transports">;
  readonly urgentMessages: Pick<UrgentMessages, "awaitsToolCall" | "refresh">;
  readonly waits: Pick<PeerWaits, "report">;
  /** A line of the daemon for a peer whose hooks hand it none, once; null for none. */
  noteFor(peer: AgentPeer): string | null;
}

/** After an attempt: the next message (`continue`), or nothing until a change (`blocked`). */
type Outcome = "continue" | "blocked";

/** The reason why no transport took a message. */
interface BlockedMessage {
  readonly reason: string;
  /** True if it waits for a hook. It then holds up only its own sender's messages. */
  readonly held: boolean;
  /** The dialog that the recipient's terminal shows. */
  readonly dialog?: ReportedWait | undefined;
}

/** Maximum characters of all cached frames. One frame has at most five times 262,144. */
const CACHED_CHARS_MAX = 4 * 1024 * 1024;
const CACHED_MAX = 256;

/** Time until a receipt that could not be stored is recorded again. */
const RECORD_AGAIN_MS = 1000;

export class Dispatcher {
  readonly #ctx: Context;
  readonly #steps: Steps;
  readonly #deps: DispatcherDeps;
  /** The running pass of each peer. `repeat` is set if the peer was woken during the pass. */
  readonly #passes = new Map<string, { repeat: boolean; done: Promise<void> }>();
  readonly #outgoingCache = new OutgoingCache();
  readonly #closing = new AbortController();

  constructor(ctx: Context, steps: Steps, deps: DispatcherDeps) {
    this.#ctx = ctx;
    this.#steps = steps;
    this.#deps = deps;
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Starts a pass for a peer, when a message was queued for the peer or its state changed. */
  wake(peer_id: string): void {
    if (this.#isClosing) return;
    const running = this.#passes.get(peer_id);
    if (running) return void (running.repeat = true);
    if (this.#deps.reachability.isConnected(peer_id) || !this.#deps.agentPeers.find(peer_id)) {
      return this.#outgoingCache.forget(peer_id);
    }
    const pass = { repeat: false, done: Promise.resolve() };
    this.#passes.set(peer_id, pass);
    pass.done = this.#runPass(peer_id, pass).catch((error) => {
      this.#ctx.log.error("A dispatch pass failed", { peer_id, error });
    }).finally(() => this.#passes.delete(peer_id));
  }

  /** Starts no new attempts. Resolves when the running ones have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#passes.values()].map(({ done }) => done));
  }

  async #runPass(peer_id: string, pass: { repeat: boolean }): Promise<void> {
    do {
      pass.repeat = false;
      await this.#ctx.db.whenDurable();
      await nextTurn();
      while (!this.#isClosing && await this.#dispatchNext(peer_id) === "continue");
    } while (pass.repeat && !this.#isClosing);
    this.#deps.urgentMessages.refresh();
  }

  async #dispatchNext(peer_id: string): Promise<Outcome> {
    const { db } = this.#ctx;
    const message = this.#deps.reachability.isConnected(peer_id)
      ? undefined
      : ledger.firstQueued(db, peer_id);
    if (!message) {
      this.#outgoingCache.forget(peer_id);
      return "blocked";
    }
    const hold = this.#deps.ports.holdOf(peer_id);
    if (hold) {
      this.#recordBlocked(message, { reason: hold.reason, held: false });
      return "blocked";
    }
    let result = await this.#dispatch(message);
    if (result !== "continue" && result?.held) {
      const now = this.#ctx.clock.now();
      const next = ledger.firstNotHeld(db, peer_id, { after: now - HOLD_MS_MAX, until: now });
      if (next) result = await this.#dispatch(next);
    }
    if (result === "continue") return "continue";
    if (result) this.#recordBlocked(message, result);
    return "blocked";
  }

  /** Tries a message by each transport. Returns undefined if it is gone. */
  async #dispatch(message: ledger.QueuedMessage): Promise<"continue" | BlockedMessage | undefined> {
    const { db } = this.#ctx;
    const { seq, to_peer_id: peer_id } = message;
    const addressee = this.#deps.agentPeers.find(peer_id);
    if (!addressee) return undefined;
    // The agent's plugin may have received the message already. The plugin drops repeats, but any
    // other transport would deliver the message twice.
    if (message.repeatable && message.transport === "websocket") {
      return { reason: "socket_awaited" satisfies Reason, held: false };
    }
    const load = () => {
      const message = ledger.findMessageBySeq(db, seq);
      return message && toOutgoing(message, this.#deps.noteFor(addressee));
    };
    const outgoing = this.#outgoingCache.getOrLoad(peer_id, seq, load);
    if (!outgoing) return undefined;
    const reasons: string[] = [];
    let dialog: ReportedWait | undefined;
    const takesHooks = takesHookMessages(this.#deps.directory, peer_id);
    const awaitsToolCall = this.#deps.urgentMessages.awaitsToolCall(addressee, message);
    for (const transport of this.#deps.transports.transports(addressee, outgoing)) {
      if (transport.name === "hook" && !takesHooks) {
        reasons.push(`${transport.name}: ${"hook_messages_off" satisfies Reason}`);
        continue;
      }
      if (awaitsToolCall && transport.waits_for_turn_end) {
        reasons.push(`${transport.name}: ${"tool_call_awaited" satisfies Reason}`);
        continue;
      }
      const readiness = await transport.check(addressee, outgoing);
      if (!readiness.ready) {
        reasons.push(`${transport.name}: ${readiness.reason}`);
        if (readiness.reason === "dialog_open") dialog = readiness.waits_for ?? { kind: "dialog" };
        continue;
      }
      const receipt = await this.#attempt(message, { addressee, outgoing, transport });
      if (receipt?.state !== "refused") return "continue";
      reasons.push(`${transport.name}: ${receipt.reason}`);
    }
    return { reason: reasons.join("; ") || "no_transport", held: awaitsToolCall, dialog };
  }

  /** Makes one attempt by one transport, once the message is stored as attempting. */
  async #attempt(
    message: ledger.QueuedMessage,
    { addressee, outgoing, transport }: {
      addressee: AgentPeer;
      outgoing: OutgoingMessage;
      transport: AgentTransport;
    },
  ): Promise<Receipt | undefined> {
    const { db } = this.#ctx;
    const current = ledger.findMessageBySeq(db, message.seq);
    // The message was fetched, dropped or expired in the meantime.
    if (current?.state !== "queued") return undefined;
    // The probe of an account may have gone to another of its peers while this one was checked.
    const hold = this.#deps.ports.holdOf(addressee.peer_id);
    if (hold) return { state: "refused", reason: hold.reason };
    const attempted = this.#steps.attempted(current, transport.name, false);
    await db.whenDurable();
    const receipt = await this.#deliver(transport, addressee, outgoing);
    await this.#storeRecord(attempted, receipt);
    if (receipt.state !== "refused") this.#deps.peers.recordDelivery(addressee.peer_id);
    return receipt;
  }

  /** Delivers a message. After an error, bytes may have gone out, so the receipt is unclear. */
  async #deliver(
    transport: AgentTransport,
    peer: AgentPeer,
    outgoing: OutgoingMessage,
  ): Promise<Receipt> {
    try {
      return await transport.deliver(peer, outgoing);
    } catch (error) {
      this.#ctx.log.error("A transport threw an error", {
        transport: transport.name,
        peer_id: peer.peer_id,
        error,
      });
      return { state: "unclear", reason: "transport_failed" };
    }
  }

  /**
   * Records a receipt, and tries again while the database cannot store it: the peer gets no other
   * message until then. A receipt that is lost with the daemon is unclear at the next start.
   */
  async #storeRecord(attempted: StoredMessage, receipt: Receipt): Promise<void> {
    const { db, clock } = this.#ctx;
    for (;;) {
      try {
        db.transact((tx) => this.#record(tx, attempted, receipt));
        return await db.whenDurable();
      } catch (error) {
        if (!isProblem(error, "storage_failed") || this.#isClosing) throw error;
        await pause(clock, RECORD_AGAIN_MS, this.#closing.signal);
      }
    }
  }

  /** Records a receipt. If a proof came first and has advanced the state, that state is kept. */
  #record(tx: Tx, attempted: StoredMessage, receipt: Receipt): void {
    const { db, clock } = this.#ctx;
    const current = ledger.findMessageBySeq(db, attempted.seq);
    if (current?.state !== "attempting") {
      if (receipt.state !== "refused") ledger.markAllWritten(tx, [attempted.seq], clock.now());
    } else if (receipt.state === "refused") this.#requeue(current, receipt.reason);
    else if (receipt.state === "accepted") this.#steps.accepted(this.#steps.written(current));
    else if (receipt.state === "sent") this.#steps.written(current);
    else {
      this.#steps.written(current, receipt.reason);
      this.#steps.noteUnclear(current, receipt.reason);
    }
  }

  /** Queues a refused message again; drops it if its ask has closed or its peer takes none. */
  #requeue(message: StoredMessage, reason: Reason): void {
    const queued = this.#steps.refused(message, reason);
    if (isClosedAsk(message)) this.#steps.dropped(queued, message.close_reason ?? reason);
    else if (!this.#deps.directory.canQueueFor(message.to_peer_id)) {
      this.#steps.dropped(queued, "peer_not_addressable");
    }
  }

  /** Stores the reason on every queued message of the peer, because all of them wait. */
  #recordBlocked(
    { to_peer_id, reason: knownReason }: ledger.QueuedMessage,
    { reason, dialog }: BlockedMessage,
  ): void {
    const { db } = this.#ctx;
    if (knownReason !== reason || ledger.lastReason(db, to_peer_id) !== reason) {
      db.transact((tx) => ledger.setBlockedReason(tx, to_peer_id, reason));
    }
    if (dialog) this.#deps.waits.report(to_peer_id, dialog, BY_SCREEN);
  }
}

/** The first queued message of each peer, which is read every second and framed only once. */
class OutgoingCache {
  readonly #cached = new Map<string, { seq: number; outgoing: OutgoingMessage }>();
  #chars = 0;

  /** Calls `load` only if the message is not cached. */
  getOrLoad(
    peer_id: string,
    seq: number,
    load: () => OutgoingMessage | undefined,
  ): OutgoingMessage | undefined {
    const cached = this.#cached.get(peer_id);
    if (cached?.seq === seq) return cached.outgoing;
    this.forget(peer_id);
    const outgoing = load();
    if (!outgoing) return undefined;
    this.#cached.set(peer_id, { seq, outgoing });
    this.#chars += outgoing.framed.length;
    for (const [oldest] of this.#cached) {
      const fits = this.#chars <= CACHED_CHARS_MAX && this.#cached.size <= CACHED_MAX;
      if (fits || oldest === peer_id) break;
      this.forget(oldest);
    }
    return outgoing;
  }

  /** Removes the cached message of a peer. */
  forget(peer_id: string): void {
    this.#chars -= this.#cached.get(peer_id)?.outgoing.framed.length ?? 0;
    this.#cached.delete(peer_id);
  }
}
