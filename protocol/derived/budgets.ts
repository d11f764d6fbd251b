/** Sentences for people on budgets, and on the loops of peers. */

import type { Budget, Peer } from "protocol/wire.ts";
import { formatUnit, parseAmount, UNITS } from "protocol/budgets/amount.ts";

/** Maximum peers that a line names. */
const PEERS_NAMED_MAX = 4;

type Used = Budget["used"];

const numberOf = { tokens: "tokens", turns: "turns", cost: "cost" } as const;

function usedOf(used: Used, unit: typeof UNITS[number]): number {
  return unit === "ms" ? used.seconds * 1000 : used[numberOf[unit]];
}

/** The used part of each limit, such as `34k tokens of 50k tokens`. */
export function budgetUse({ amount, used, currency }: Budget): string {
  const limits = parseAmount(amount);
  if (typeof limits === "string") return amount;
  return UNITS.flatMap((unit) => {
    const max = limits[unit];
    if (max === null) return [];
    const [part, whole] = [usedOf(used, unit), max]
      .map((count) => formatUnit(unit, count, currency));
    return [`${part} of ${whole}`];
  }).join(", ");
}

/** The peers that used it, such as `api 30k tokens, web 1 turn elsewhere`. */
export function budgetUsers({ amount, by, currency }: Budget): string {
  const limits = parseAmount(amount);
  if (typeof limits === "string") return "";
  const units = UNITS.filter((unit) => limits[unit] !== null);
  const needsTokens = limits.tokens !== null || limits.cost !== null;
  const named = by.flatMap(({ name, elsewhere, tokens_known, ...used }) => {
    if (elsewhere) return [`${name} (on another machine: only its turns are known)`];
    const parts = units.filter((unit) => usedOf(used, unit) > 0)
      .map((unit) => formatUnit(unit, usedOf(used, unit), currency));
    if (needsTokens && tokens_known === false) parts.push("an unknown number of tokens");
    return parts.length > 0 ? [`${name} ${parts.join(" and ")}`] : [];
  });
  const more = named.length - PEERS_NAMED_MAX;
  return [...named.slice(0, PEERS_NAMED_MAX), ...more > 0 ? [`${more} others`] : []].join(", ");
}

/** The subject of a budget, such as an ask's id, or `api on 2026-11-28`. */
export function budgetSubject({ scope, subject, name, day }: Budget): string {
  if (scope === "day") return `all agents on ${day}`;
  return scope === "peer" ? `${name} on ${day}` : subject;
}

/** One line on a budget. `of`: the message or job that is shown; others are named. */
export function budgetLine(budget: Budget, of?: string): string {
  const state = budget.state === "open" ? "" : `${budget.state}: `;
  const users = budgetUsers(budget);
  const subject = budget.subject === of ? "" : ` (of ${budgetSubject(budget)})`;
  return `${state}${budgetUse(budget)}${users ? `, by ${users}` : ""}${subject}`;
}

/** The sentence on the loop in which a peer is; undefined for none. */
export function loopSentence(
  { display_name: name, looping }: Pick<Peer, "display_name"> & Partial<Pick<Peer, "looping">>,
): string | undefined {
  if (!looping) return undefined;
  return looping.kind === "calls"
    ? `${name} repeats itself: the same calls with the same results, ${looping.times} times`
    : `${name} and ${looping.with} answer each other without anything new, in ` +
      `${looping.times} messages`;
}
