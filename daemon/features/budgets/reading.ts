/** The message that an agent reads decides the origin and the budget of its work. */

import type { Context } from "../../data/context.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import type { Origins } from "../origins/origins.ts";
import type { BudgetPorts, Budgets } from "./budgets.ts";
import type { Charges } from "./charges.ts";

/** Transports after which nothing shows when a message is read. A bus leads to other machines. */
const READ_WHEN_SENT: ReadonlySet<string | null> = new Set(["hook", "websocket", "bus"]);

/** The fields of a delivery that tell whose work changes when it is read. */
export type SteppedDelivery =
  & Pick<StoredMessage, "delivery_id" | "to_peer_id" | "transport">
  & { readonly chain?: StoredMessage["chain"] | undefined };

interface MessageReadingDeps {
  readonly budgets: Budgets;
  readonly charges: Charges;
  readonly origins: Pick<
    Origins,
    "messageHandedOver" | "messageRead" | "promptRead" | "promptWith"
  >;
  readonly ports: Pick<BudgetPorts, "messageOf">;
}

export class MessageReading {
  readonly #ctx: Context;
  readonly #deps: MessageReadingDeps;

  constructor(ctx: Context, deps: MessageReadingDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** A peer got a prompt, with this message in it. A message that it read before is nothing new. */
  promptSeen(peer_id: string, id: string | undefined): void {
    const { budgets, charges, ports } = this.#deps;
    const { db } = this.#ctx;
    const message = id === undefined ? undefined : ports.messageOf(id);
    this.#noteOrigin(peer_id, message);
    if (!budgets.isAny || !budgets.concerns(db, peer_id)) return;
    db.transact((tx) => {
      charges.chargeTime(tx, peer_id);
      if (message?.to_peer_id !== peer_id || message.seen_at !== null) {
        return budgets.promptRead(tx, peer_id);
      }
      budgets.messageRead(tx, peer_id, message);
      charges.promptRead(tx, peer_id);
    });
  }

  /** Called for each step of a delivery. An ask that went out is owed an answer. */
  stepped(
    { chain, delivery_id, to_peer_id, transport }: SteppedDelivery,
    state: DeliveryState,
  ): void {
    const { budgets, charges, origins, ports } = this.#deps;
    const { db } = this.#ctx;
    if (state !== "sent") return;
    const isRead = READ_WHEN_SENT.has(transport);
    // A hook's answer leaves after the commit, a frame has left before it.
    if (transport === "hook") origins.messageHandedOver(to_peer_id, delivery_id, chain);
    else if (isRead) origins.messageRead(to_peer_id, delivery_id, chain);
    if (!budgets.isAny || !budgets.concerns(db, to_peer_id)) return;
    db.transact((tx) => {
      charges.chargeTime(tx, to_peer_id);
      budgets.askReached(tx, delivery_id, to_peer_id);
      const message = isRead ? ports.messageOf(delivery_id) : undefined;
      if (!message) return;
      budgets.messageRead(tx, to_peer_id, message);
      charges.promptRead(tx, to_peer_id);
    });
  }

  #noteOrigin(peer_id: string, message: StoredMessage | undefined): void {
    const { origins } = this.#deps;
    if (message?.to_peer_id !== peer_id) return origins.promptRead(peer_id);
    const wasRead = message.state === "seen" || READ_WHEN_SENT.has(message.transport);
    origins.promptWith(peer_id, message, !wasRead);
  }
}
