/** Schemas and routes of budgets: limits on what a chain of asks, a job, a peer or a day uses. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract, nullableString } from "protocol/contract.ts";
import { Instant, QueryFlag, queryInteger } from "kit/core/schema.ts";
import { AMOUNT_FORM, parseAmount } from "protocol/budgets/amount.ts";
import { budgetMachine } from "protocol/budgets/states.ts";

const AMOUNT_CHARS_MAX = 100;

/** An amount, such as `50k-tokens` or `20-turns,30m`. */
export const BudgetText = z.string().max(AMOUNT_CHARS_MAX).superRefine((text, issues) => {
  const amount = parseAmount(text);
  if (typeof amount === "string") issues.addIssue({ code: "custom", message: amount });
});

/** The field of a request that limits what its message or job may use. */
export const GivenBudget = BudgetText.optional().describe(
  `What it may use with all that it causes: ${AMOUNT_FORM}`,
);

/** Maximum peers in the setting `budgets.peers`. */
const PEERS_MAX = 200;

/** The setting `budgets.peers`: budgets of a day by names of peers, with `*` for any text. */
export const PeerBudgets = z.record(z.string().min(1).max(100), BudgetText)
  .refine((peers) => Object.keys(peers).length <= PEERS_MAX);

/** The effect of a loop that was found (contract 8, `breakers.loops`). */
export const LOOP_ACTIONS = ["off", "report", "interrupt"] as const;
export type LoopAction = typeof LOOP_ACTIONS[number];

export const BudgetScope = z.enum(["ask", "job", "peer", "day"]);
export type BudgetScope = z.output<typeof BudgetScope>;

const Used = {
  tokens: z.number().int(),
  turns: z.number().int(),
  /** Time in which agents worked. */
  seconds: z.number(),
  /** Price of the tokens that have one. */
  cost: z.number(),
};

/** The part of a budget that one peer used. */
const UsedBy = z.object({
  peer_id: z.string(),
  name: z.string(),
  ...Used,
  /** True for a peer of another machine, of which only the turns are known here. */
  elsewhere: z.boolean(),
  /** False if nothing records the tokens of its agent: `tokens` and `cost` have none of them. */
  tokens_known: z.boolean(),
});
export type UsedBy = z.output<typeof UsedBy>;

export const Budget = z.object({
  budget_id: z.string(),
  scope: BudgetScope,
  /** The ask, the job or the peer that has the budget, or the day. */
  subject: z.string(),
  /** The name of the peer; null for another scope. */
  name: nullableString,
  /** The day of the budget of a peer or a day. */
  day: z.iso.date().nullable(),
  /** The budget within which this one was given. */
  parent_id: nullableString,
  from_peer_id: nullableString,
  from: z.string(),
  state: z.enum(budgetMachine.states),
  /** The amount with everything that was granted on top, such as `100k-tokens`. */
  amount: z.string(),
  /** The number of times that the amount was allowed. */
  grants: z.number().int(),
  used: z.object(Used),
  /** The used share of the unit that is used most, such as 0.5. */
  share: z.number(),
  currency: nullableString,
  /** The peers that used it, those with most tokens first. */
  by: z.array(UsedBy),
  /** Tokens without a price, which `cost` leaves out. */
  unpriced_tokens: z.number().int(),
  created_at: Instant,
  /** When two thirds were used. */
  warned_at: Instant.nullable(),
  spent_at: Instant.nullable(),
  /** The question to the human on how to go on. */
  question_id: nullableString,
}).meta({ id: "Budget" });
export type Budget = z.output<typeof Budget>;

export const listBudgets = contract({
  id: "budgets.list",
  method: "GET",
  path: "/budgets",
  summary: "Budgets with what was used by whom, newest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    message: z.string().optional().describe("Only those that an ask or another message counts to"),
    job: z.string().optional().describe("Only those that a job counts to"),
    peer: z.string().optional().describe("Only those that a peer counts to now"),
    open: QueryFlag.optional().describe("With true: without those that were stopped or are past"),
    limit: queryInteger(1, 500).default(100),
  }),
  actor: NO_ACTOR,
  returns: z.object({ budgets: z.array(Budget) }),
  fails: ["unknown_peer", "ambiguous_peer"],
});
export type BudgetQuery = z.output<typeof listBudgets.query>;
