/** SQL of the chains that jobs, schedules, subscriptions, spawns and started peers belong to. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Chain } from "protocol/origins/record.ts";

const Member = z.object({ subject: z.string(), chain: Chain, used_at: z.number() });
export type Member = z.output<typeof Member>;

const Row = rowOf(Member);

export function get(db: Reader, subject: string): Member | undefined {
  const statement = "select subject, chain, used_at from chain_members where subject = :subject";
  return db.get(Row, statement, { subject });
}

export function put(tx: Tx, member: Member): void {
  tx.run(
    "replace into chain_members (subject, chain, used_at) values (:subject, :chain, :used_at)",
    z.encode(Row, member),
  );
}

/** Removes what was not used since a time. */
export function prune(tx: Tx, before: number): void {
  tx.run("delete from chain_members where used_at < :before", { before });
}
