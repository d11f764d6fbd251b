/** The steps of deliveries: checks each transition, writes it and publishes it. */

import type { Context } from "../../../data/context.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { TransportName } from "protocol/agents/contract.ts";
import * as ledger from "./ledger.ts";
import type { SteppedMessage } from "./rows.ts";
import { insertStage } from "./stages.ts";
import {
  type DeliveryEvent,
  deliveryMachine,
  type DeliveryState,
} from "protocol/messages/states.ts";
import type { Reason } from "protocol/reasons.ts";

/** Counts deliveries for `/metrics` and `/figures`. */
interface Meter {
  /** `age_ms` is the time since the message was created. */
  stepped(
    kind: StoredMessage["kind"],
    state: DeliveryState,
    age_ms: number,
    transport: TransportName | null,
  ): void;
}

/** A message, with its chain if its whole record was read. */
type ChainedMessage = SteppedMessage & { readonly chain?: StoredMessage["chain"] | undefined };

/** Called for each step, within the transaction that writes it. */
export interface StepListener {
  stepped(
    message: Pick<ChainedMessage, "delivery_id" | "to_peer_id" | "transport" | "chain">,
    state: DeliveryState,
  ): void;
}

/** True for a closed ask, which need not be delivered. */
export function isClosedAsk(
  { kind, closed_at }: Pick<StoredMessage, "kind" | "closed_at">,
): boolean {
  return kind === "ask" && closed_at !== null;
}

export class Steps {
  readonly #ctx: Context;
  readonly #meter: Meter;
  readonly #listener: StepListener;

  constructor(ctx: Context, meter: Meter, listener: StepListener) {
    this.#ctx = ctx;
    this.#meter = meter;
    this.#listener = listener;
  }

  /** Records an attempt. Must be durable before the transport writes its first byte. */
  attempted<M extends SteppedMessage>(
    message: M,
    transport: TransportName,
    repeatable: boolean,
  ): M {
    return this.#step({ ...message, transport }, "attempted", {
      rung: transport,
      repeatable: repeatable ? 1 : 0,
      attempts: message.attempts + 1,
      attempted_at: this.#now(),
      reason: null,
    });
  }

  /** Records queued messages that go out with the commit, such as in the answer of a hook. */
  handedOver<M extends SteppedMessage>(
    messages: readonly M[],
    transport: TransportName,
    repeatable: boolean,
  ): (M & { readonly sent_at: number })[] {
    if (messages.length === 0) return [];
    const sent_at = this.#now();
    const stepped = messages.map((message) => {
      const attempting = deliveryMachine.step(message.state, "attempted");
      const state = deliveryMachine.step(attempting, "written");
      return { ...message, transport, state, sent_at };
    });
    this.#ctx.db.transact((tx) => {
      const seqs = stepped.map(({ seq }) => seq);
      ledger.handOver(tx, seqs, { rung: transport, repeatable: repeatable ? 1 : 0, at: sent_at });
      for (const message of stepped) {
        this.publish(message, "attempting");
        this.publish(message);
      }
    });
    return stepped;
  }

  /** Queues a message again that the transport refused before any byte went out. */
  refused<M extends SteppedMessage>(message: M, reason: Reason): M {
    return this.#step(message, "refused", { reason });
  }

  /** The message went out, or may have. If the outcome is unclear, `reason` explains it. */
  written<M extends SteppedMessage>(
    message: M,
    reason: Reason | null = null,
  ): M & { readonly sent_at: number } {
    const sent_at = this.#now();
    return { ...this.#step(message, "written", { sent_at, reason }), sent_at };
  }

  /** Queues a message again with the same id. Allowed only if the receiver drops repeats. */
  repeated<M extends SteppedMessage>(message: M, reason: Reason | null): M {
    return this.#step(message, "repeated", { reason });
  }

  /** Queues a failed inbox item again, which a surface may retry. The trace keeps the failure. */
  offered(message: StoredMessage): StoredMessage {
    const { delivery_id, settled_at, reason: detail } = message;
    const ts = settled_at ?? this.#now();
    return this.#ctx.db.transact((tx) => {
      insertStage(tx, { delivery_id, stage: "failed", ts, detail });
      return this.#step(message, "offered", { reason: null, settled_at: null });
    });
  }

  /** The receiver confirmed the message, perhaps late. False if its state accepts no receipt. */
  accepted(message: SteppedMessage): boolean {
    const isNew = deliveryMachine.accepts(message.state, "accepted");
    if (isNew) this.#step(message, "accepted", { accepted_at: this.#now() });
    return isNew;
  }

  /** The agent has read them, by its prompt or client. A state that accepts no proof is kept. */
  seen(...messages: readonly SteppedMessage[]): void {
    const unseen = messages.filter(({ state }) => deliveryMachine.accepts(state, "seen"));
    if (unseen.length === 0) return;
    const at = this.#now();
    this.#ctx.db.transact((tx) => {
      const seqs = unseen.map(({ seq }) => seq);
      ledger.updateAll(tx, seqs, { seen_at: at, named_at: at, state: "seen" });
      for (const message of unseen) this.publish(message, "seen");
    });
  }

  /** The receiver refused the message; `reason` is the receiver's text. */
  rejected<M extends SteppedMessage>(message: M, reason: string): M {
    return this.#step(message, "rejected", { reason, settled_at: this.#now() });
  }

  expired<M extends SteppedMessage>(message: M, reason: Reason): M {
    return this.#step(message, "expired", { reason, settled_at: this.#now() });
  }

  /** The message is no longer wanted. `reason`: a `Reason`, or why its job or ask ended. */
  dropped<M extends SteppedMessage>(message: M, reason: string): M {
    return this.#step(message, "dropped", { reason, settled_at: this.#now() });
  }

  /** The other machine reported the end of the message. False if it had ended here before. */
  endedThere(
    message: SteppedMessage,
    state: "failed" | "expired" | "dropped",
    reason: string,
  ): boolean {
    const event = `${state}_there` as const;
    const isNew = deliveryMachine.accepts(message.state, event);
    if (isNew) this.#step(message, event, { reason, settled_at: this.#now() });
    return isNew;
  }

  /** Adds an unclear attempt to the trace, for which `messages` has no column. */
  noteUnclear({ delivery_id }: SteppedMessage, detail: string): void {
    const ts = this.#now();
    this.#ctx.db.transact((tx) => insertStage(tx, { delivery_id, stage: "unclear", ts, detail }));
  }

  #now(): number {
    return this.#ctx.clock.now();
  }

  #step<M extends SteppedMessage>(
    message: M,
    event: DeliveryEvent,
    changes: Parameters<typeof ledger.update>[2],
  ): M {
    const state = deliveryMachine.step(message.state, event);
    const stepped: M = { ...message, state };
    this.#ctx.db.transact((tx) => {
      ledger.update(tx, message.seq, { ...changes, state });
      this.publish(stepped);
    });
    return stepped;
  }

  /** Publishes a new state: at once to the listener, and after the commit to the metrics. */
  publish(message: ChainedMessage, state: DeliveryState = message.state): void {
    const { db, events, clock } = this.#ctx;
    const { chain, delivery_id, kind, to_peer_id, transport, created_at } = message;
    this.#listener.stepped({ delivery_id, to_peer_id, transport, chain }, state);
    events.step({ delivery_id, to_peer_id, state, transport });
    const age_ms = clock.now() - created_at;
    db.afterCommit(() => this.#meter.stepped(kind, state, age_ms, transport));
  }
}
