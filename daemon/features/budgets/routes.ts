/** The route of budgets. */

import { type Route, route } from "kit/http/route.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import type { Budgets } from "./budgets.ts";

interface BudgetRoutesDeps {
  readonly budgets: Budgets;
  /** Counts what agents have recorded so far. */
  count(): Promise<void>;
}

export function budgetRoutes({ budgets, count }: BudgetRoutesDeps): Route[] {
  return [
    route(listBudgets, async ({ query }) => {
      if (budgets.isAny) await count();
      return { budgets: budgets.list(query) };
    }),
  ];
}
