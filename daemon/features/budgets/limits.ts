/** The limits of budgets: what they allow, which share is used, and how both are shown. */

import { Problem } from "protocol/problems.ts";
import {
  type Amount,
  formatAmount,
  formatUnit,
  type Unit,
  UNITS,
} from "protocol/budgets/amount.ts";
import type { Budget } from "protocol/budgets/contract.ts";
import type { BudgetUse, StoredBudget } from "./store.ts";

/** The share of a budget at which the agents in its chain get a note. */
export const WARNED_SHARE = 2 / 3;

/** The smallest price that a budget can have. */
const COST_MIN = 0.0001;
/** Maximum peers that a sentence names. */
const PEERS_NAMED_MAX = 5;

/** The limit of a unit with everything that was granted; null for a unit without one. */
export function limitOf(budget: StoredBudget, unit: Unit): number | null {
  const max = budget[`${unit}_max`];
  return max === null ? null : max * budget.grants;
}

/** The used share of the unit that is used most. */
export function shareOf(budget: StoredBudget): number {
  return Math.max(
    0,
    ...UNITS.flatMap((unit) => {
      const max = limitOf(budget, unit);
      return max === null ? [] : [budget[unit] / max];
    }),
  );
}

/** An amount within those that are left, so that a budget within others only narrows them. */
export function narrowed(amount: Amount, within: readonly StoredBudget[]): Amount {
  const least = (unit: Unit, least_max = 1) => {
    const given = amount[unit];
    if (given === null) return null;
    const left = within.flatMap((budget) => {
      const max = limitOf(budget, unit);
      return max === null ? [] : [Math.max(least_max, max - budget[unit])];
    });
    return Math.min(given, ...left);
  };
  return {
    tokens: least("tokens"),
    turns: least("turns"),
    ms: least("ms"),
    cost: least("cost", COST_MIN),
    currency: amount.currency,
  };
}

/** The amount of a budget with everything that was granted. */
export function amountOf(budget: StoredBudget): Amount {
  const limit = (unit: Unit) => limitOf(budget, unit);
  const { currency } = budget;
  return {
    tokens: limit("tokens"),
    turns: limit("turns"),
    ms: limit("ms"),
    cost: limit("cost"),
    currency,
  };
}

/** The used part of each limit, such as `34k tokens of 50k tokens`. */
export function usedText(budget: StoredBudget): string {
  return UNITS.flatMap((unit) => {
    const max = limitOf(budget, unit);
    if (max === null) return [];
    const { currency } = budget;
    return [`${formatUnit(unit, budget[unit], currency)} of ${formatUnit(unit, max, currency)}`];
  }).join(", ");
}

/** The peers with what each used, such as `api 30k tokens, web 4k tokens`. */
export function usersText(budget: StoredBudget, uses: readonly BudgetUse[]): string {
  const units = UNITS.filter((unit) => limitOf(budget, unit) !== null);
  const named = uses.flatMap((use) => {
    const parts = units.filter((unit) => use[unit] > 0)
      .map((unit) => formatUnit(unit, use[unit], budget.currency));
    return parts.length > 0 ? [`${use.name} ${parts.join(" and ")}`] : [];
  });
  const more = named.length - PEERS_NAMED_MAX;
  return [...named.slice(0, PEERS_NAMED_MAX), ...more > 0 ? [`${more} others`] : []].join(", ");
}

/** The subject of a budget in a sentence, such as `ask-3f9c04d1a2b7` or `api on 2026-11-28`. */
export function subjectText({ scope, subject, day }: StoredBudget, name: string | null): string {
  if (scope === "day") return `the day ${day}`;
  return scope === "peer" ? `${name ?? subject} on ${day}` : subject;
}

export function budgetSpent(
  budget: StoredBudget,
  { name, uses }: { readonly name: string | null; readonly uses: readonly BudgetUse[] },
): Problem<"budget_spent"> {
  return new Problem("budget_spent", {
    budget_id: budget.budget_id,
    subject: subjectText(budget, name),
    used: usedText(budget),
    by: usersText(budget, uses) || "nobody",
    state: budget.state,
    question_id: budget.question_id,
  });
}

/** The public record of a budget. */
export function toBudget(
  budget: StoredBudget,
  { name, uses, isElsewhere, recordsTokens }: {
    readonly name: string | null;
    readonly uses: readonly BudgetUse[];
    readonly isElsewhere: (peer_id: string) => boolean;
    readonly recordsTokens: (peer_id: string) => boolean;
  },
): Budget {
  const { budget_id, scope, subject, day, parent_id, from_peer_id, from_name, state } = budget;
  const { currency, unpriced_tokens, created_at, warned_at, spent_at, question_id } = budget;
  return {
    budget_id,
    scope,
    subject,
    name,
    day,
    parent_id,
    from_peer_id,
    from: from_name,
    state,
    amount: formatAmount(amountOf(budget)),
    grants: budget.grants,
    used: usedOf(budget),
    share: Number(shareOf(budget).toFixed(4)),
    currency,
    by: uses.map((use) => ({
      peer_id: use.peer_id,
      name: use.name,
      ...usedOf(use),
      elsewhere: isElsewhere(use.peer_id),
      tokens_known: use.tokens > 0 || recordsTokens(use.peer_id),
    })),
    unpriced_tokens,
    created_at,
    warned_at,
    spent_at,
    question_id,
  };
}

function usedOf({ tokens, turns, ms, cost }: Pick<StoredBudget, Unit>) {
  return { tokens, turns, seconds: Math.floor(ms / 1000), cost };
}
