/** SQL of the metrics: each statement reads one partial index, or a table that stays small. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import { Kind } from "protocol/messages/contract.ts";
import { wakeMachine } from "../../features/wakes/states.ts";
import { proofMachine } from "protocol/proofs/states.ts";
import { budgetMachine } from "protocol/budgets/states.ts";
import { PeerStatus } from "protocol/peers/record.ts";

const NamedCount = z.object({ name: z.string(), count: z.number() });
const OpenAsks = z.object({ count: z.number(), oldest_at: z.number().nullable() });
const Schedules = z.object({
  active: z.number(),
  due: z.number(),
  first_at: z.number().nullable(),
});

export const STATEMENTS = {
  queued_by_kind: `select kind as name, count(*) as count from messages indexed by messages_queued
    where state = 'queued' group by kind`,
  // Without the index by name, SQLite would look for the smallest number in the whole table.
  oldest_queued: `select created_at from messages where seq =
    (select min(seq) from messages indexed by messages_queued where state = 'queued')`,
  open_asks: `select count(*) as count, min(created_at) as oldest_at from messages
    where ask_state = 'open'`,
  schedules: `select count(*) as active, count(iif(next_fire_at <= :now, 1, null)) as due,
      min(next_fire_at) as first_at
    from schedules where state = 'active'`,
  peers_by_status: `select status as name, count(*) as count from peers
    where dropped_at is null and closed = 0 group by status`,
  proofs_by_state: "select state as name, count(*) as count from proofs group by state",
  budgets_by_state: "select state as name, count(*) as count from budgets group by state",
  wakes_by_state: "select state as name, count(*) as count from wakes group by state",
} as const;

/** Number of waiting messages by kind; 0 for a kind without any. */
export function queuedByKind(db: Reader): Record<string, number> {
  return toCounts(Kind.options, db.all(NamedCount, STATEMENTS.queued_by_kind));
}

export function oldestQueuedAt(db: Reader): number | null {
  return db.value(z.number(), STATEMENTS.oldest_queued) ?? null;
}

export function openAsks(db: Reader): z.output<typeof OpenAsks> {
  return db.get(OpenAsks, STATEMENTS.open_asks) ?? { count: 0, oldest_at: null };
}

export function schedules(db: Reader, now: number): z.output<typeof Schedules> {
  return db.get(Schedules, STATEMENTS.schedules, { now }) ?? { active: 0, due: 0, first_at: null };
}

export function peersByStatus(db: Reader): Record<string, number> {
  return toCounts(PeerStatus.options, db.all(NamedCount, STATEMENTS.peers_by_status));
}

export function proofsByState(db: Reader): Record<string, number> {
  return toCounts(proofMachine.states, db.all(NamedCount, STATEMENTS.proofs_by_state));
}

export function budgetsByState(db: Reader): Record<string, number> {
  return toCounts(budgetMachine.states, db.all(NamedCount, STATEMENTS.budgets_by_state));
}

export function wakesByState(db: Reader): Record<string, number> {
  return toCounts(wakeMachine.states, db.all(NamedCount, STATEMENTS.wakes_by_state));
}

function toCounts(
  names: readonly string[],
  counted: readonly z.output<typeof NamedCount>[],
): Record<string, number> {
  const zeros = names.map((name) => [name, 0] as const);
  return Object.fromEntries([
    ...zeros,
    ...counted.map(({ name, count }) => [name, count] as const),
  ]);
}
