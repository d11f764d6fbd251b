/** `mesh budgets`, and the lines on budgets of other commands. */

import type { Call } from "kit/http/client.ts";
import type { Budget } from "protocol/wire.ts";
import { undefinedOnRefusal } from "../../client/daemon_client.ts";
import { budgetSubject, budgetUse, budgetUsers } from "protocol/derived/budgets.ts";
import { listBudgets } from "protocol/generated/endpoints.ts";
import { answerCommand } from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";

export const BUDGETS = answerCommand({
  usage: "budgets [peer]",
  summary: "Show budgets: what was used of them, and by whom",
  details:
    "A budget limits an ask or a job with all that it causes (mesh ask --budget), or a day " +
    "(the settings budgets.day and budgets.peers). When two thirds are used, its agents read " +
    "one line about it. When it is spent, new asks and notifies are refused, and a question in " +
    "your inbox asks how to go on.",
  flags: { "--all": "also those that were stopped, and those of earlier days" },
  example: "mesh budgets --all",
  call: ({ call }, args) => {
    const open = args.flag("all") ? undefined : "true";
    return call(listBudgets, { query: { peer: args.get("peer"), open } });
  },
  show: ({ budgets }, { terminal }) => showBudgets(terminal, budgets),
});

export function showBudgets(to: Terminal, budgets: readonly Budget[]): void {
  to.printTable(budgets, {
    BUDGET: ({ budget_id }) => styled("cyan", budget_id),
    OF: budgetSubject,
    STATE: ({ state, warned_at }) =>
      state === "open"
        ? warned_at === null ? state : styled("yellow", state)
        : styled("red", state),
    USED: budgetUse,
    BY: budgetUsers,
  }, {
    essential: ["BUDGET"],
    empty: "No budgets. Give an ask one: mesh ask PEER TEXT --budget 50k-tokens",
  });
}

/** The budgets that match; none from another machine's daemon that knows no budgets. */
export async function findBudgets(
  call: Call,
  query: { message?: string; peer?: string | undefined; open?: "true" },
): Promise<readonly Budget[]> {
  const found = await undefinedOnRefusal("not_found", () => call(listBudgets, { query }));
  return found?.budgets ?? [];
}
