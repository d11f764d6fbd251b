/** The line by which an agent learns, once, that two thirds of its budget are used. */

import type { Context } from "../../data/context.ts";
import type { Directory } from "../peers/directory.ts";
import type { Budgets } from "./budgets.ts";
import { usedText } from "./limits.ts";
import * as store from "./store.ts";

interface BudgetNotesDeps {
  readonly budgets: Budgets;
  readonly directory: Pick<Directory, "address">;
}

export class BudgetNotes {
  readonly #ctx: Context;
  readonly #deps: BudgetNotesDeps;

  constructor(ctx: Context, deps: BudgetNotesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The line for a peer, which counts as told; null if there is nothing new. */
  noteFor(peer_id: string): string | null {
    const { budgets } = this.#deps;
    const { db, clock } = this.#ctx;
    if (!budgets.isAny || !budgets.concerns(db, peer_id)) return null;
    return db.transact((tx): { note: string | null } => {
      const counted = [
        ...budgets.chainOf(tx, budgets.workOf(tx, peer_id)),
        ...budgets.days.of(tx, [peer_id]),
      ];
      const at = clock.now();
      const name = this.#deps.directory.address(peer_id)?.name ?? peer_id;
      const told = counted.filter(({ budget_id, warned_at }) =>
        warned_at !== null && store.markTold(tx, { budget_id, peer_id, name, at })
      );
      const [budget] = told;
      if (!budget) return { note: null };
      const rest = budget.state === "open"
        ? "When all of it is used, new asks and notifies of this work are refused until a " +
          "person allows more; replies are not."
        : "New asks and notifies of this work are refused until a person allows more; replies " +
          "are not.";
      return { note: `[mesh] Budget ${budget.budget_id}: ${usedText(budget)} used. ${rest}` };
    }).note;
  }
}
