/** SQL of the limits of accounts, and of the turns that they ended: one statement per function. */

import * as z from "zod";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { Instant } from "kit/core/schema.ts";
import { limitMachine } from "protocol/limits/states.ts";

const text = z.string().nullable();
const instant = Instant.nullable();

/** An account that has been at a limit. `041_limits.sql` explains the columns. */
export const StoredLimit = z.object({
  account_id: z.string(),
  backend: text,
  account: z.string(),
  state: z.enum(limitMachine.states),
  window: text,
  since: instant,
  resets_at: instant,
  due_at: instant,
  tries: z.number().int(),
  source: text,
  evidence_at: instant,
  evidence_peer_id: text,
  text,
  probe_peer_id: text,
  probe_id: text,
  probe_at: instant,
  offered: z.boolean(),
  asked: z.boolean(),
  changed_at: Instant,
});
export type StoredLimit = z.output<typeof StoredLimit>;

const limits = tableOf("limits", StoredLimit, "account_id");
export const { get } = limits;

/** Inserts a limit, or replaces that of the same account. */
export function put(tx: Tx, limit: StoredLimit): void {
  if (limits.update(tx, limit) === 0) limits.insert(tx, limit);
}

export function all(db: Reader): StoredLimit[] {
  return limits.all(db, "order by backend, account");
}

/** A turn that a limit ended, of a peer that has begun no other one since. */
const LimitedTurn = z.object({
  peer_id: z.string(),
  account_id: z.string(),
  at: Instant,
  continues: z.boolean(),
});
type LimitedTurn = z.output<typeof LimitedTurn>;

const turns = tableOf("limited_turns", LimitedTurn, "peer_id");
export const { get: getTurn, remove: removeTurn } = turns;

export function putTurn(tx: Tx, turn: LimitedTurn): void {
  if (turns.update(tx, turn) === 0) turns.insert(tx, turn);
}

export function allTurns(db: Reader): LimitedTurn[] {
  return turns.all(db, "order by at, peer_id");
}

export function removeTurnsOf(tx: Tx, account_id: string): void {
  tx.run("delete from limited_turns where account_id = :account_id", { account_id });
}
