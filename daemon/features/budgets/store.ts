/** SQL of budgets, of their use by peers, and of what counts to them. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { Budget } from "protocol/budgets/contract.ts";

/** A budget as stored. `…_max` are the limits that were given, each allowed `grants` times. */
export const StoredBudget = Budget.pick({
  budget_id: true,
  scope: true,
  subject: true,
  day: true,
  parent_id: true,
  from_peer_id: true,
  currency: true,
  grants: true,
  unpriced_tokens: true,
  state: true,
  question_id: true,
  created_at: true,
  warned_at: true,
  spent_at: true,
}).extend({
  from_name: z.string(),
  tokens_max: z.number().nullable(),
  turns_max: z.number().nullable(),
  ms_max: z.number().nullable(),
  cost_max: z.number().nullable(),
  tokens: z.number(),
  turns: z.number(),
  ms: z.number(),
  cost: z.number(),
  used_at: Instant,
});
export type StoredBudget = z.output<typeof StoredBudget>;

const table = tableOf("budgets", StoredBudget, "budget_id");
export const { insert, update, get } = table;

export function isAny(db: Reader): boolean {
  return db.value(z.number(), "select 1 from budgets limit 1") !== undefined;
}

/** The budget that an ask or a job has, or that a peer or all have on a day. */
export function ofSubject(db: Reader, subject: string, day: string | null) {
  const rest = "where subject = :subject and day is :day order by seq desc limit 1";
  return table.all(db, rest, { subject, day })[0];
}

export function byQuestion(db: Reader, question_id: string): StoredBudget | undefined {
  return table.all(db, "where question_id = :question_id", { question_id })[0];
}

/** The spent budgets about which the human was not asked yet, oldest first. */
export function unasked(db: Reader, limit: number): StoredBudget[] {
  const rest = "where state = 'spent' and question_id is null order by seq limit :limit";
  return table.all(db, rest, { limit });
}

export interface BudgetFilter {
  readonly ids: readonly string[] | null;
  /** True to leave out budgets that were stopped, and those of days before `today`. */
  readonly open: boolean;
  readonly today: string;
  readonly limit: number;
}

export function list(db: Reader, { ids, open, today, limit }: BudgetFilter): StoredBudget[] {
  return table.all(
    db,
    `where (:ids is null or budget_id in (select value from json_each(:ids)))
       and (not :open or state <> 'stopped' and (day is null or day >= :today))
     order by seq desc limit :limit`,
    { ids: ids && JSON.stringify(ids), open: open ? 1 : 0, today, limit },
  );
}

/** The last day that has a budget. */
export function lastDay(db: Reader): string | undefined {
  const statement = "select day from budgets where day is not null order by day desc limit 1";
  return db.value(z.string(), statement);
}

/** The largest exact integer. A sum stops there. */
const SUM_MAX = Number.MAX_SAFE_INTEGER;

/** Numbers that were used now. */
export interface Used {
  readonly tokens: number;
  readonly turns: number;
  readonly ms: number;
  readonly cost: number;
  readonly unpriced_tokens: number;
}

const ADDED = `tokens = min(tokens + :tokens, ${SUM_MAX}), turns = min(turns + :turns, ${SUM_MAX}),
  ms = min(ms + :ms, ${SUM_MAX}), cost = cost + :cost`;

/** Adds to what was used, in all and by the peer. Numbers only grow. */
export function add(
  tx: Tx,
  budget_id: string,
  { unpriced_tokens, ...used }: Used,
  by: { readonly peer_id: string; readonly name: string; readonly at: number },
): void {
  const { peer_id, name, at } = by;
  tx.run(
    `update budgets set ${ADDED}, used_at = :at,
       unpriced_tokens = min(unpriced_tokens + :unpriced_tokens, ${SUM_MAX})
     where budget_id = :budget_id`,
    { budget_id, unpriced_tokens, at, ...used },
  );
  tx.run(
    `insert into budget_uses (budget_id, peer_id, name, tokens, turns, ms, cost)
     values (:budget_id, :peer_id, :name, :tokens, :turns, :ms, :cost)
     on conflict (budget_id, peer_id) do update set ${ADDED}, name = :name`,
    { budget_id, peer_id, name, ...used },
  );
}

const BudgetUse = z.object({
  peer_id: z.string(),
  name: z.string(),
  tokens: z.number(),
  turns: z.number(),
  ms: z.number(),
  cost: z.number(),
  told_at: z.number().nullable(),
});
export type BudgetUse = z.output<typeof BudgetUse>;

/** The uses of a budget, those with most tokens first. */
export function uses(db: Reader, budget_id: string): BudgetUse[] {
  const statement = `select peer_id, name, tokens, turns, ms, cost, told_at from budget_uses
    where budget_id = :budget_id order by tokens desc, ms desc, turns desc, name`;
  return db.all(BudgetUse, statement, { budget_id });
}

/** Marks a peer as told that two thirds are used; false if it was told before. */
export function markTold(
  tx: Tx,
  told: { budget_id: string; peer_id: string; name: string; at: number },
): boolean {
  return tx.run(
    `insert into budget_uses (budget_id, peer_id, name, tokens, turns, ms, cost, told_at)
     values (:budget_id, :peer_id, :name, 0, 0, 0, 0, :at)
     on conflict (budget_id, peer_id) do update set told_at = :at where told_at is null`,
    told,
  ) > 0;
}

/** After a grant, peers are told again when two thirds of the new amount are used. */
export function clearTold(tx: Tx, budget_id: string): void {
  tx.run("update budget_uses set told_at = null where budget_id = :budget_id", { budget_id });
}

/** The budget that a message, a job or a peer counts to; '' for a peer with other work. */
export function memberOf(db: Reader, subject: string): string | undefined {
  const statement = "select budget_id from budget_members where subject = :subject";
  return db.value(z.string(), statement, { subject });
}

export function putMember(
  tx: Tx,
  member: { subject: string; budget_id: string; at: number },
): void {
  tx.run(
    "replace into budget_members (subject, budget_id, at) values (:subject, :budget_id, :at)",
    member,
  );
}

export function removeMember(tx: Tx, subject: string): void {
  tx.run("delete from budget_members where subject = :subject", { subject });
}

/** The peers that work under one of these budgets. */
export function peersIn(db: Reader, ids: readonly string[]): string[] {
  return db.values(
    z.string(),
    `select peer_id from budget_members join peers on peer_id = subject
     where budget_id in (select value from json_each(:ids))`,
    { ids: JSON.stringify(ids) },
  );
}

/** The budgets that were given within one of these budgets. */
export function childrenOf(db: Reader, ids: readonly string[]): string[] {
  const statement = `select budget_id from budgets
    where parent_id in (select value from json_each(:ids))`;
  return db.values(z.string(), statement, { ids: JSON.stringify(ids) });
}

/** An open ask has reached a peer; null when it is closed. */
export function setOwed(tx: Tx, subject: string, owed_by: string | null): void {
  tx.run("update budget_members set owed_by = :owed_by where subject = :subject", {
    subject,
    owed_by,
  });
}

/** The budget of what a peer read last, else of the oldest ask that it owes an answer. */
export function workOf(db: Reader, peer_id: string): string | undefined {
  const statement = `select coalesce(
      (select budget_id from budget_members where subject = :peer_id),
      (select budget_id from budget_members where owed_by = :peer_id order by at limit 1))`;
  return db.value(z.string().nullable(), statement, { peer_id }) ?? undefined;
}

/** The peers that have read a message under a budget, or owe an answer to one. */
export function budgetedPeers(db: Reader): string[] {
  return db.values(
    z.string(),
    `select peer_id from peers join budget_members on subject = peer_id
     union select owed_by from budget_members where owed_by is not null`,
  );
}

/** The budget of the oldest open ask that reached a peer and counts to one. */
export function owedBy(db: Reader, owed_by: string): string | undefined {
  const statement = `select budget_id from budget_members
    where owed_by = :owed_by order by at limit 1`;
  return db.value(z.string(), statement, { owed_by });
}

/** Removes budgets that were not used since a time, with all that counted to them. */
export function prune(tx: Tx, before: number): void {
  tx.run("delete from budgets where used_at < :before and state <> 'spent'", { before });
  for (const dependent of ["budget_uses", "budget_members"]) {
    tx.run(`delete from ${dependent} where budget_id not in (select budget_id from budgets)`);
  }
  tx.run("delete from budget_members where at < :before", { before });
}
