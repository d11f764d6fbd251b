/** The budgets that an ask or a peer counts to: what was used, and by whom. */

import { budgetLine } from "protocol/derived/budgets.ts";
import * as at from "protocol/generated/endpoints.ts";
import { call } from "../../state/calls.ts";
import type { Budget } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { visible } from "../text/visible.tsx";

/** `of`: an ask or a peer by its id. */
export function BudgetLines({ of }: { of: string }) {
  const query = of.startsWith("peer-") ? { peer: of, open: "true" as const } : { message: of };
  const load = () => call(at.listBudgets, { query });
  const resource = useResource(`budgets ${of}`, ["budgets"], load, { kept: true });
  return <BudgetList budgets={resource.value.value?.budgets ?? []} of={of} />;
}

export function BudgetList({ budgets, of }: { budgets: readonly Budget[]; of: string }) {
  return budgets.map((budget) => (
    <p key={budget.budget_id} class={budget.state === "open" ? "hint" : "reason"}>
      {`Budget${budget.state === "open" ? ":" : ""} `}
      {visible(budgetLine(budget, of))}
    </p>
  ));
}
