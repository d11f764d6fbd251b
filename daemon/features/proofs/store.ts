/** SQL of the table `proofs`. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { CloseReasons, TypedAnswer } from "protocol/asks/contract.ts";
import { Attachments } from "protocol/messages/attachments.ts";
import { AuthorKind } from "protocol/peers/record.ts";
import { Proof, ProofRecord } from "protocol/proofs/contract.ts";

/** A held answer, with all that closes the ask. */
const HeldAnswer = z.object({
  close_reason: CloseReasons,
  responder: z.string().nullable(),
  reply: z.string().nullable(),
  answer: TypedAnswer.nullable(),
  attachments: Attachments,
  /** The author kind of the answer, as it was proved when the answer was given. */
  reply_voice: AuthorKind,
  sent_by: z.string().optional(),
  traceparent: z.string().optional(),
});
export type HeldAnswer = z.output<typeof HeldAnswer>;

/** Hashes of files by their paths; null if they could not be read. */
const FileHashes = z.record(z.string(), z.string()).nullable();
export type FileHashes = z.output<typeof FileHashes>;

const StoredProof = Proof.omit({ undelivered: true }).extend({
  correlation_id: z.string(),
  to_peer_id: z.string(),
  /** Hashes of the files that define each check, at the time of the ask. */
  files: z.record(z.string(), FileHashes).nullable(),
  answer: HeldAnswer.nullable(),
  runs: z.number().int(),
  created_at: Instant,
});
export type StoredProof = z.output<typeof StoredProof>;

const table = tableOf("proofs", StoredProof, "correlation_id");
export const { insert, update, get } = table;

export function isAny(db: Reader): boolean {
  return db.value(z.number(), "select 1 from proofs limit 1") !== undefined;
}

/** The proofs of asks that are open. */
export function openIds(db: Reader): string[] {
  return db.values(
    z.string(),
    "select correlation_id from proofs where state in ('awaiting', 'proving', 'returned')",
  );
}

/** The proofs whose checks run, or were cut off. */
export function provingIds(db: Reader, limit: number): string[] {
  const statement = `select correlation_id from proofs
    where state in ('awaiting', 'proving', 'returned') and state = 'proving'
    order by seq limit :limit`;
  return db.values(z.string(), statement, { limit });
}

export function recordOf(db: Reader, to_peer_id: string): ProofRecord {
  const found = db.get(
    ProofRecord,
    `select coalesce(sum(state = 'verified'), 0) as verified,
       coalesce(sum(state = 'refuted'), 0) as refuted,
       coalesce(sum(state = 'unproved'), 0) as unproved,
       coalesce(sum(answers > 1), 0) as sent_back
     from proofs where to_peer_id = :to_peer_id and state in ('verified', 'refuted', 'unproved')`,
    { to_peer_id },
  );
  return found ?? { verified: 0, refuted: 0, unproved: 0, sent_back: 0 };
}

export function removeEndedBefore(tx: Tx, before: number, limit: number): void {
  tx.run(
    `delete from proofs where seq in
       (select seq from proofs where ended_at < :before order by ended_at limit :limit)`,
    { before, limit },
  );
}

export function hasEndedBefore(db: Reader, before: number): boolean {
  const statement = "select 1 from proofs where ended_at < :before limit 1";
  return db.value(z.number(), statement, { before }) !== undefined;
}
