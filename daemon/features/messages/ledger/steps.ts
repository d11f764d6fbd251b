/** The steps of deliveries: checks each transition, writes it and publishes it. */

import type { Context } from "kit/data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { DeliveryState, StoredMessage } from "../contract.ts";
import type { TransportName } from "../../agents/contract.ts";
import * as ledger from "./ledger.ts";
import { insertStage } from "./stages.ts";
import { type DeliveryEvent, deliveryMachine } from "../machine.ts";
import type { Reason } from "kit/core/reasons.ts";
import type * as z from "zod";

type State = z.infer<typeof DeliveryState>;

/** The fields of a delivery that a step needs. */
export type SteppedMessage = Pick<
  StoredMessage,
  "seq" | "delivery_id" | "kind" | "to_peer_id" | "state" | "transport" | "created_at"
>;

/** Counts deliveries for `/metrics`. */
export interface Meter {
  stepped(kind: StoredMessage["kind"], state: State): void;
  /** The time from creation to `sent`. */
  observeLatency(ms: number): void;
}

/** Called for each step, within the transaction that writes it. */
export interface StepListener {
  stepped(delivery_id: string, state: State): void;
}

/** Whether the message is an ask that is closed, so that it need not be delivered. */
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
    const at = this.#ctx.clock.now();
    return this.#step({ ...message, transport }, "attempted", (tx, { seq }) => {
      ledger.markAttempting(tx, { seq, transport, repeatable, at });
    });
  }

  /** Queues a message again that the transport refused before any byte went out. */
  refused<M extends SteppedMessage>(message: M, reason: Reason): M {
    return this.#step(message, "refused", (tx, { seq }) => ledger.requeue(tx, seq, reason));
  }

  /** Bytes went out. If the outcome is unclear, `reason` says why. */
  written<M extends SteppedMessage>(message: M, reason: Reason | null = null): M {
    const at = this.#ctx.clock.now();
    return this.#step(message, "written", (tx, { seq }) => {
      ledger.markWritten(tx, seq, at, reason);
    });
  }

  /** Queues a message again with the same id. Allowed only if the receiver drops repeats. */
  repeated<M extends SteppedMessage>(message: M, reason: Reason | null): M {
    return this.#step(message, "repeated", (tx, { seq }) => ledger.requeue(tx, seq, reason));
  }

  /**
   * Queues a failed inbox item again, because a surface may retry it. The failure stays in the
   * trace.
   */
  offered(message: StoredMessage): StoredMessage {
    const { delivery_id, settled_at, reason: detail } = message;
    const ts = settled_at ?? this.#ctx.clock.now();
    return this.#step(message, "offered", (tx, { seq }) => {
      insertStage(tx, { delivery_id, stage: "failed", ts, detail });
      ledger.requeue(tx, seq, null);
    });
  }

  /** The receiver confirmed the message. Late and repeated receipts change nothing. */
  accepted(message: SteppedMessage): boolean {
    if (!deliveryMachine.accepts(message.state, "accepted")) return false;
    const at = this.#ctx.clock.now();
    this.#step(message, "accepted", (tx, { seq }) => ledger.markAccepted(tx, seq, at));
    return true;
  }

  /** A prompt of the receiving agent contained the message's id. */
  seen(message: SteppedMessage): boolean {
    if (!deliveryMachine.accepts(message.state, "seen")) return false;
    const at = this.#ctx.clock.now();
    this.#step(message, "seen", (tx, { seq }) => ledger.markSeen(tx, seq, at));
    return true;
  }

  /** The receiver refused the message; `reason` is the receiver's text. */
  rejected<M extends SteppedMessage>(message: M, reason: string): M {
    return this.#settle(message, "rejected", "failed", reason);
  }

  expired<M extends SteppedMessage>(message: M, reason: Reason): M {
    return this.#settle(message, "expired", "expired", reason);
  }

  /**
   * The message is no longer wanted. `reason` is a `Reason`, or says why the message's job or ask
   * ended.
   */
  dropped<M extends SteppedMessage>(message: M, reason: string): M {
    return this.#settle(message, "dropped", "dropped", reason);
  }

  /** Adds a failed stage to the trace, for which `messages` has no column. */
  note(message: Pick<StoredMessage, "delivery_id">, stage: string, detail: string | null): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      insertStage(tx, { delivery_id: message.delivery_id, stage, ts: clock.now(), detail });
    });
  }

  #settle<M extends SteppedMessage>(
    message: M,
    event: DeliveryEvent,
    state: "failed" | "expired" | "dropped",
    reason: string,
  ): M {
    const at = this.#ctx.clock.now();
    return this.#step(message, event, (tx, { seq }) => {
      ledger.settle(tx, { seq, state, reason, at });
    });
  }

  #step<M extends SteppedMessage>(
    message: M,
    event: DeliveryEvent,
    write: (tx: Tx, message: M) => void,
  ): M {
    const stepped: M = { ...message, state: deliveryMachine.step(message.state, event) };
    this.#ctx.db.transact((tx) => {
      write(tx, stepped);
      this.publish(stepped);
    });
    return stepped;
  }

  /** Publishes a new state: at once to the listener, and after the commit to the metrics. */
  publish({ delivery_id, kind, to_peer_id, state, transport, created_at }: SteppedMessage): void {
    const { db, events, clock } = this.#ctx;
    this.#listener.stepped(delivery_id, state);
    events.step({ delivery_id, to_peer_id, state, transport });
    db.afterCommit(() => {
      this.#meter.stepped(kind, state);
      if (state === "sent") this.#meter.observeLatency(clock.now() - created_at);
    });
  }
}
