/** Messages and prompts as work under budgets: when they count, and to whose budget. */

import type { Context } from "../../data/context.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Charges } from "../budgets/charges.ts";
import { findMessage } from "../messages/ledger/ledger.ts";
import type { StepListener } from "../messages/ledger/steps.ts";

/** Transports after which nothing shows when a message is read. A bus leads to other machines. */
const READ_WHEN_SENT: ReadonlySet<string | null> = new Set(["hook", "websocket", "bus"]);

interface BudgetedMessagesDeps {
  readonly budgets: Budgets;
  readonly charges: Charges;
}

export class BudgetedMessages {
  readonly #ctx: Context;
  readonly #deps: BudgetedMessagesDeps;

  constructor(ctx: Context, deps: BudgetedMessagesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** A peer got a prompt, with this message in it. A message that it read before is nothing new. */
  promptRead(peer_id: string, id: string | undefined): void {
    const { budgets, charges } = this.#deps;
    if (!budgets.isAny) return;
    this.#ctx.db.transact((tx) => {
      charges.chargeTime(tx, peer_id);
      const message = id === undefined ? undefined : findMessage(tx, id);
      if (message?.to_peer_id !== peer_id || message.seen_at !== null) {
        return budgets.promptRead(tx, peer_id);
      }
      budgets.messageRead(tx, peer_id, message);
      charges.promptRead(tx, peer_id);
    });
  }

  /** An ask that went out is owed. */
  stepped(
    { delivery_id, to_peer_id, transport }: Parameters<StepListener["stepped"]>[0],
    state: DeliveryState,
  ): void {
    const { budgets, charges } = this.#deps;
    if (!budgets.isAny || state !== "sent") return;
    this.#ctx.db.transact((tx) => {
      if (!budgets.concerns(tx, delivery_id, to_peer_id)) return;
      charges.chargeTime(tx, to_peer_id);
      budgets.askReached(tx, delivery_id, to_peer_id);
      const isRead = READ_WHEN_SENT.has(transport);
      const message = isRead ? findMessage(tx, delivery_id) : undefined;
      if (!message) return;
      budgets.messageRead(tx, to_peer_id, message);
      charges.promptRead(tx, to_peer_id);
    });
  }
}
