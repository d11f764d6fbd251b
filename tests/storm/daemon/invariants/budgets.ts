/** Invariants of budgets: the parts make up the whole, and a spent one has used its limit. */

import assert from "node:assert/strict";
import { UNITS } from "protocol/budgets/amount.ts";
import { limitOf, shareOf } from "../../../../daemon/features/budgets/limits.ts";
import * as rows from "../../../../daemon/features/budgets/store.ts";
import type { Invariant, Storm } from "../storm.ts";

export const BUDGET_INVARIANTS: readonly Invariant[] = [
  {
    name: "what peers used of a budget is what is used of it, and never more than around it",
    check,
  },
];

function check({ w }: Storm): void {
  const { db } = w.daemon.ctx;
  const all = rows.list(db, { ids: null, open: false, today: "", limit: 1_000 });
  for (const budget of all) {
    const uses = rows.uses(db, budget.budget_id);
    const outer = budget.parent_id === null ? undefined : rows.get(db, budget.parent_id);
    for (const unit of UNITS) {
      const sum = uses.reduce((total, use) => total + use[unit], 0);
      assert.equal(sum, budget[unit], `${unit} of ${budget.budget_id}`);
      if (outer) assert.ok(budget[unit] <= outer[unit], `${unit} around ${budget.budget_id}`);
    }
    const hasLimit = UNITS.some((unit) => limitOf(budget, unit) !== null);
    assert.ok(hasLimit, `${budget.budget_id} limits nothing`);
    const isUsed = shareOf(budget) >= 1;
    if (budget.state === "open") assert.ok(!isUsed, `${budget.budget_id} is used up and open`);
    else assert.ok(isUsed, `${budget.budget_id} is ${budget.state} and not used up`);
  }
}
