/** Applies receipts and proofs: the reports of recipients about their deliveries. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { SettleDeliveries, StoredMessage } from "protocol/messages/contract.ts";
import * as ledger from "./ledger/ledger.ts";
import { findStepped, findSteppedRows } from "./ledger/rows.ts";
import type { Steps } from "./ledger/steps.ts";
import type { DeliveryAck } from "./websocket/frames.ts";
import type { Session } from "./websocket/session.ts";

/** Callbacks of higher features, which run in the transaction that changes the delivery. */
export interface DeliveryEffects {
  /** The receiver of an ask refused its message or failed on it, so the asker must be notified. */
  undeliverable(message: StoredMessage): void;
  /** A surface has shown an inbox item, or could not show it. */
  itemReceipt(surface: string, item_id: string, receipt: ItemReceipt): void;
}

/** A surface's report on an inbox item that was sent to it (contract 4). */
export interface ItemReceipt
  extends Pick<DeliveryAck, "surface_ref" | "surface_refs" | "error_class"> {
  readonly status: "pushed" | "failed";
}

export class Receipts {
  readonly #ctx: Context;
  readonly #steps: Steps;
  readonly #effects: DeliveryEffects;

  constructor(ctx: Context, steps: Steps, effects: DeliveryEffects) {
    this.#ctx = ctx;
    this.#steps = steps;
    this.#effects = effects;
  }

  /** Applies a client's receipt for a message that was sent to it. */
  receipt(session: Session, ack: DeliveryAck): void {
    const { db } = this.#ctx;
    const isPositive = ack.status === "accepted" || ack.status === "seen";
    if (isPositive) db.failures.repeatUntilStored(() => this.#applyReceipt(session, ack));
    else db.transact(() => this.#applyReceipt(session, ack));
  }

  /** Queues a failed delivery again. False for another peer's, or if neither failed nor queued. */
  offerAgain(delivery_id: string, peer_id: string): boolean {
    const { db } = this.#ctx;
    return db.transact(() => {
      const message = ledger.findMessage(db, delivery_id);
      if (message?.to_peer_id !== peer_id) return false;
      if (message.state === "failed") this.#steps.offered(message);
      return message.state === "failed" || message.state === "queued";
    });
  }

  /** Marks messages as seen. `ids` are from the frames of a prompt that a hook reported. */
  prove(peer_id: string, ids: readonly string[]): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const id of ids) {
        const message = findStepped(db, id);
        if (message?.to_peer_id !== peer_id || message.state === "queued") continue;
        this.#steps.seen(message);
      }
    });
  }

  /** Marks messages as seen that a hook handed over. Old ones may have been deleted since. */
  proveHandedOver(seqs: readonly number[]): void {
    const { db } = this.#ctx;
    db.transact(() => this.#steps.seen(...findSteppedRows(db, seqs)));
  }

  /** Applies a reader's receipt for messages that it drained. */
  settle(delivery_ids: readonly string[], status: SettleDeliveries["status"]): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const delivery_id of delivery_ids) {
        const message = ledger.findMessage(db, delivery_id);
        if (!message) throw new Problem("unknown_message", { id: delivery_id });
        this.#apply(message, status, status);
      }
    });
  }

  #apply(message: StoredMessage, status: DeliveryAck["status"], reason: string): void {
    if (status === "seen") this.#steps.seen(message);
    else if (status === "accepted" || status === "pushed") this.#steps.accepted(message);
    else this.#fail(message, reason);
  }

  /** A receipt for an unknown message, or for a message to another peer, is ignored. */
  #applyReceipt(session: Session, ack: DeliveryAck): void {
    const message = ledger.findMessage(this.#ctx.db, ack.delivery_id);
    if (!message || message.to_peer_id !== session.peer_id) return;
    if (message.item_id !== null) return this.#applyItemReceipt(session, message, ack);
    this.#apply(message, ack.status, ack.detail ?? ack.error_class ?? ack.status);
  }

  /**
   * Applies a surface's report that it has shown an item or could not show it. A late report
   * counts, too: the push may have failed before, or be queued again because the connection was
   * lost.
   */
  #applyItemReceipt({ identity }: Session, message: StoredMessage, ack: DeliveryAck): void {
    const { item_id, state } = message;
    if (!identity.surface || item_id === null) return;
    const { name } = identity.surface;
    if (ack.status === "pushed") {
      this.#steps.accepted(state === "failed" ? this.#steps.offered(message) : message);
      this.#effects.itemReceipt(name, item_id, { ...ack, status: "pushed" });
    } else if (ack.status === "failed" || ack.status === "rejected") {
      this.#fail(message, ack.error_class ?? ack.detail ?? ack.status);
      this.#effects.itemReceipt(name, item_id, { ...ack, status: "failed" });
    } else if (ack.status === "seen" && state === "accepted") this.#steps.seen(message);
  }

  /** Ends a delivery that its receiver refused. If it was an ask, its asker is notified. */
  #fail(message: StoredMessage, reason: string): void {
    const { state, attempts } = message;
    const wasSent = state === "attempting" || state === "sent" ||
      (state === "queued" && attempts > 0); // It is queued again, but the receiver has refused it.
    if (!wasSent) return;
    this.#steps.rejected(message, reason);
    if (message.kind === "ask") this.#effects.undeliverable({ ...message, reason });
  }
}
