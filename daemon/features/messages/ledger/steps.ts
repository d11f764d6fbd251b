/** Every step of every delivery: checked against the machine, written, told. Nothing else steps. */

import type { Ground } from "kit/data/context.ts";
import type { DeliveryState, Held } from "../contract.ts";
import type { RungName } from "../../agents/contract.ts";
import * as ledger from "./ledger.ts";
import { note } from "./stages.ts";
import { type DeliveryEvent, deliveryMachine } from "../machine.ts";
import type { Reason } from "kit/core/reasons.ts";
import type * as z from "zod";

type State = z.infer<typeof DeliveryState>;

/** What of a delivery must be known to step it. */
export type Stepped = Pick<
  Held,
  "seq" | "delivery_id" | "kind" | "to_peer_id" | "state" | "rung" | "created_at"
>;

/** What counts deliveries, for `/metrics`. */
export interface Meter {
  stepped(kind: Held["kind"], state: State): void;
  /** How long a message was with us until its bytes went out. */
  took(ms: number): void;
}

/** Who follows deliveries step by step, inside of the step's own transaction. */
export interface Follower {
  stepped(delivery_id: string, state: State): void;
}

/** Whether the ask that a message carries is closed: nobody needs it any more. */
export function isOver({ kind, closed_at }: Pick<Held, "kind" | "closed_at">): boolean {
  return kind === "ask" && closed_at !== null;
}

export class Steps {
  readonly #ground: Ground;
  readonly #meter: Meter;
  readonly #follower: Follower;

  constructor(ground: Ground, meter: Meter, follower: Follower) {
    this.#ground = ground;
    this.#meter = meter;
    this.#follower = follower;
  }

  /** The rung is on the disk before its first byte goes out. */
  attempted<M extends Stepped>(message: M, rung: RungName, repeatable: boolean): M {
    const { db, clock } = this.#ground;
    const at = clock.now();
    return this.#step({ ...message, rung }, "attempted", ({ seq }) => {
      db.transact((tx) => ledger.attempt(tx, { seq, rung, repeatable, at }));
    });
  }

  /** A definite no: not a byte went out. */
  refused<M extends Stepped>(message: M, reason: Reason): M {
    return this.#step(message, "refused", ({ seq }) => {
      this.#ground.db.transact((tx) => ledger.requeue(tx, seq, reason));
    });
  }

  /** Bytes went out; `reason` says why more is not known, where something was odd. */
  written<M extends Stepped>(message: M, reason: Reason | null = null): M {
    const { db, clock } = this.#ground;
    return this.#step(message, "written", ({ seq }) => {
      db.transact((tx) => ledger.written(tx, seq, clock.now(), reason));
    });
  }

  /** Back to the queue, with the same id: only where the receiver drops repeats. */
  repeated<M extends Stepped>(message: M, reason: Reason | null): M {
    return this.#step(message, "repeated", ({ seq }) => {
      this.#ground.db.transact((tx) => ledger.requeue(tx, seq, reason));
    });
  }

  /** Back to the queue after a no, which stays in the trace: a surface may show an item later. */
  offered(message: Held): Held {
    const { db, clock } = this.#ground;
    const { delivery_id, settled_at, reason } = message;
    return this.#step(message, "offered", ({ seq }) => {
      db.transact((tx) =>
        note(tx, { delivery_id, stage: "failed", ts: settled_at ?? clock.now(), detail: reason })
      );
      db.transact((tx) => ledger.requeue(tx, seq, null));
    });
  }

  /** The receiver said so. Late and doubled receipts change nothing. */
  accepted(message: Stepped): boolean {
    const { db, clock } = this.#ground;
    if (!deliveryMachine.takes(message.state, "accepted")) return false;
    this.#step(
      message,
      "accepted",
      ({ seq }) => db.transact((tx) => ledger.accepted(tx, seq, clock.now())),
    );
    return true;
  }

  /** The agent's own prompt held the id. */
  seen(message: Stepped): boolean {
    const { db, clock } = this.#ground;
    if (!deliveryMachine.takes(message.state, "seen")) return false;
    this.#step(
      message,
      "seen",
      ({ seq }) => db.transact((tx) => ledger.seen(tx, seq, clock.now())),
    );
    return true;
  }

  /** `reason` is in the receiver's own words. */
  rejected<M extends Stepped>(message: M, reason: string): M {
    return this.#end(message, "rejected", "failed", reason);
  }

  expired<M extends Stepped>(message: M, reason: Reason): M {
    return this.#end(message, "expired", "expired", reason);
  }

  /** `reason` is a `Reason`, or why the job or the ask that it belonged to ended. */
  dropped<M extends Stepped>(message: M, reason: string): M {
    return this.#end(message, "dropped", "dropped", reason);
  }

  /** An unusual stage of a trace that no column holds. */
  note(message: Pick<Held, "delivery_id">, stage: string, detail: string | null): void {
    const { db, clock } = this.#ground;
    db.transact((tx) => {
      note(tx, { delivery_id: message.delivery_id, stage, ts: clock.now(), detail });
    });
  }

  #end<M extends Stepped>(
    message: M,
    on: DeliveryEvent,
    state: "failed" | "expired" | "dropped",
    reason: string,
  ): M {
    const { db, clock } = this.#ground;
    return this.#step(message, on, ({ seq }) => {
      db.transact((tx) => ledger.settle(tx, { seq, state, reason, at: clock.now() }));
    });
  }

  #step<M extends Stepped>(message: M, on: DeliveryEvent, write: (message: M) => void): M {
    const stepped: M = { ...message, state: deliveryMachine.step(message.state, on) };
    this.#ground.db.transact(() => {
      write(stepped);
      this.say(stepped);
    });
    return stepped;
  }

  /** Tells the state that a delivery has reached: its follower at once, others after the commit. */
  say({ delivery_id, kind, to_peer_id, state, rung, created_at }: Stepped): void {
    const { db, events, clock } = this.#ground;
    this.#follower.stepped(delivery_id, state);
    events.step({ delivery_id, to_peer_id, state, rung });
    db.afterCommit(() => {
      this.#meter.stepped(kind, state);
      if (state === "sent") this.#meter.took(clock.now() - created_at);
    });
  }
}
