/** Makes the record of a new budget. */

import type { Context } from "../../data/context.ts";
import type { Amount } from "protocol/budgets/amount.ts";
import type { StoredBudget } from "./store.ts";

/** A new budget, of which nothing is used. */
export function newBudget(
  { ids, clock }: Pick<Context, "ids" | "clock">,
  { from, amount, ...given }: Pick<StoredBudget, "scope" | "subject" | "day" | "parent_id"> & {
    readonly from: { readonly peer_id: string | null; readonly name: string };
    readonly amount: Amount;
  },
): StoredBudget {
  const now = clock.now();
  return {
    budget_id: ids.next("bud"),
    ...given,
    from_peer_id: from.peer_id,
    from_name: from.name,
    tokens_max: amount.tokens,
    turns_max: amount.turns,
    ms_max: amount.ms,
    cost_max: amount.cost,
    currency: amount.currency,
    grants: 1,
    tokens: 0,
    turns: 0,
    ms: 0,
    cost: 0,
    unpriced_tokens: 0,
    state: "open",
    question_id: null,
    created_at: now,
    used_at: now,
    warned_at: null,
    spent_at: null,
  };
}
