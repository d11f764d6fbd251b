/** SQL of the links: entries that wait, receipts, and the last entry applied. */

import * as z from "zod";
import { bulkInsert } from "kit/data/deferred_inserts.ts";
import { type Reader, toValues, type Tx } from "kit/data/sqlite.ts";

const StoredEntry = z.object({
  entry_id: z.number(),
  daemon_id: z.string(),
  tag: z.string(),
  kind: z.string(),
  body: z.string().transform((json): unknown => JSON.parse(json)),
  created_at: z.number(),
});

export type StoredEntry = z.output<typeof StoredEntry>;

const Size = z.object({ entry_id: z.number(), bytes: z.number() });
const COLUMNS = "entry_id, daemon_id, tag, kind, body, created_at";

const ENTRY_COLUMNS = ["daemon_id", "tag", "kind", "body", "created_at"] as const;
const entries = bulkInsert("link_entries", ENTRY_COLUMNS);

/** Stores an entry whose tag is new. */
export function insertEntry(
  tx: Tx,
  { daemon_id, tag, kind, json, created_at }:
    & Omit<StoredEntry, "entry_id" | "body">
    & { readonly json: string },
): void {
  tx.insertLater(entries, [daemon_id, tag, kind, json, created_at]);
}

/** The highest number that an entry ever had. */
export function lastEntryId(db: Reader): number {
  const statement = "select seq from sqlite_sequence where name = 'link_entries'";
  return db.value(z.number(), statement) ?? 0;
}

/** A range of a machine's entries. */
interface Range {
  readonly daemon_id: string;
  readonly after: number;
  readonly last: number;
}

/** The ids and sizes of a machine's entries after `after`, up to and including `last`. */
export function sizesAfter(
  db: Reader,
  range: Range & { readonly limit: number },
): z.output<typeof Size>[] {
  return db.all(
    Size,
    `select entry_id, octet_length(body) as bytes from link_entries
     where daemon_id = :daemon_id and entry_id > :after and entry_id <= :last
     order by entry_id limit :limit`,
    { ...range },
  );
}

/** A machine's entries after `after`, up to and including `last`, oldest first. */
export function entriesBetween(db: Reader, range: Range): StoredEntry[] {
  return db.all(
    StoredEntry,
    `select ${COLUMNS} from link_entries
     where daemon_id = :daemon_id and entry_id > :after and entry_id <= :last order by entry_id`,
    { ...range },
  );
}

export function entryByTag(db: Reader, daemon_id: string, tag: string): StoredEntry | undefined {
  const where = "where daemon_id = :daemon_id and tag = :tag";
  return db.get(StoredEntry, `select ${COLUMNS} from link_entries ${where}`, { daemon_id, tag });
}

export function idOfTag(db: Reader, daemon_id: string, tag: string): number | undefined {
  return db.value(
    z.number(),
    "select entry_id from link_entries where daemon_id = :daemon_id and tag = :tag",
    { daemon_id, tag },
  );
}

/** The oldest entries of all machines. */
export function oldestEntries(db: Reader, limit: number): StoredEntry[] {
  return db.all(
    StoredEntry,
    `select ${COLUMNS} from link_entries order by entry_id limit :limit`,
    { limit },
  );
}

/** The id of a machine's oldest entry. */
export function oldestId(db: Reader, daemon_id: string): number | undefined {
  return db.value(
    z.number(),
    "select entry_id from link_entries where daemon_id = :daemon_id order by entry_id limit 1",
    { daemon_id },
  );
}

/** When a machine's oldest entry was appended. */
export function oldestAtOf(db: Reader, daemon_id: string): number | undefined {
  return db.value(
    z.number(),
    "select created_at from link_entries where daemon_id = :daemon_id order by entry_id limit 1",
    { daemon_id },
  );
}

/** When the oldest entry of all machines was appended. */
export function oldestAt(db: Reader): number | undefined {
  return db.value(z.number(), "select created_at from link_entries order by entry_id limit 1");
}

/** True if a refusal waits for a machine after one of its entries. */
export function hasRefusalAfter(db: Reader, daemon_id: string, after: number): boolean {
  const found = db.value(
    z.number(),
    `select entry_id from link_entries
     where daemon_id = :daemon_id and entry_id > :after and kind = 'refused' limit 1`,
    { daemon_id, after },
  );
  return found !== undefined;
}

/** True if at least `count` refusals wait for a machine. */
export function hasRefusals(db: Reader, daemon_id: string, count: number): boolean {
  const found = db.value(
    z.number(),
    `select entry_id from link_entries
     where daemon_id = :daemon_id and kind = 'refused' limit 1 offset :before`,
    { daemon_id, before: count - 1 },
  );
  return found !== undefined;
}

export function countAllEntries(db: Reader): number {
  return db.value(z.number(), "select count(*) from link_entries") ?? 0;
}

export function countEntries(db: Reader, daemon_id: string): number {
  const sql = "select count(*) from link_entries where daemon_id = :daemon_id";
  return db.value(z.number(), sql, { daemon_id }) ?? 0;
}

/** The machines for which entries wait. */
export function machinesWithEntries(db: Reader): string[] {
  return db.values(z.string(), "select distinct daemon_id from link_entries");
}

export function deleteEntry(tx: Tx, entry_id: number): void {
  tx.run("delete from link_entries where entry_id = :entry_id", { entry_id });
}

/** Removes the content of an entry, which keeps its place. */
export function endEntry(tx: Tx, entry_id: number): void {
  tx.run("update link_entries set kind = 'ended', body = 'null' where entry_id = :entry_id", {
    entry_id,
  });
}

/** Deletes a machine's entries up to and including `last`. */
export function deleteThrough(tx: Tx, daemon_id: string, last: number): void {
  const sql = "delete from link_entries where daemon_id = :daemon_id and entry_id <= :last";
  tx.run(sql, { daemon_id, last });
}

export function deleteEntriesOf(tx: Tx, daemon_id: string): void {
  tx.run("delete from link_entries where daemon_id = :daemon_id", { daemon_id });
}

/** Finds the tags that a machine's receipts hold. */
export function knownTags(db: Reader, daemon_id: string, tags: readonly string[]): Set<string> {
  return new Set(db.values(
    z.string(),
    `select tag from link_receipts
     where daemon_id = :daemon_id and tag in (select value from json_each(:tags))`,
    { daemon_id, tags: JSON.stringify(tags) },
  ));
}

const Refusal = z.object({ tag: z.string(), reason: z.string() });
type Refusal = z.output<typeof Refusal>;

/** Refused entries of a machine, except entries whose refusal still waits for a confirmation. */
const REFUSALS = `select tag, refused as reason from link_receipts
  where daemon_id = :daemon_id and refused is not null and tag not in
    (select body ->> 'tag' from link_entries where daemon_id = :daemon_id and kind = 'refused')`;

/** The refusals of these entries. */
export function refusalsOf(db: Reader, daemon_id: string, tags: readonly string[]): Refusal[] {
  const sql = `${REFUSALS} and tag in (select value from json_each(:tags))`;
  return db.all(Refusal, sql, { daemon_id, tags: JSON.stringify(tags) });
}

/** The newest refusals since an instant. */
export function refusalsSince(
  db: Reader,
  params: { readonly daemon_id: string; readonly since: number; readonly limit: number },
): Refusal[] {
  const sql = `${REFUSALS} and received_at >= :since order by received_at desc limit :limit`;
  return db.all(Refusal, sql, params);
}

export function wasTooOld(db: Reader, daemon_id: string, tag: string): boolean {
  const sql = `select 1 from link_receipts
    where daemon_id = :daemon_id and tag = :tag and refused = 'expired'`;
  return db.value(z.number(), sql, { daemon_id, tag }) !== undefined;
}

export function setRefused(tx: Tx, daemon_id: string, { tag, reason }: Refusal): void {
  tx.run(
    "update link_receipts set refused = :reason where daemon_id = :daemon_id and tag = :tag",
    { daemon_id, tag, reason },
  );
}

const receipts = bulkInsert("link_receipts", ["daemon_id", "tag", "received_at"]);

/** Stores the receipt of an entry which has none. */
export function insertReceipt(tx: Tx, daemon_id: string, tag: string, received_at: number): void {
  tx.insertLater(receipts, [daemon_id, tag, received_at]);
}

/** Deletes some of the receipts that are older than an instant. */
export function deleteReceiptsBefore(tx: Tx, before: number, limit: number): void {
  tx.run(
    `delete from link_receipts where (daemon_id, tag) in
     (select daemon_id, tag from link_receipts where received_at < :before limit :limit)`,
    { before, limit },
  );
}

export function hasReceiptsBefore(db: Reader, before: number): boolean {
  const sql = "select 1 from link_receipts where received_at < :before limit 1";
  return db.value(z.number(), sql, { before }) !== undefined;
}

/** The tag of the last entry that was applied from a machine. */
export function lastTag(db: Reader, daemon_id: string): string | undefined {
  const sql = "select last_tag from link_positions where daemon_id = :daemon_id";
  return db.value(z.string().nullable(), sql, { daemon_id }) ?? undefined;
}

interface Position {
  readonly last_tag?: string;
  readonly confirmed_tag?: string | null;
  readonly confirmed_at?: number;
  readonly lost_at?: number;
  readonly sent_again?: number;
}

/** Sets some values of a machine's position; the others stay. */
export function setPosition(tx: Tx, daemon_id: string, position: Position): void {
  const columns = Object.keys(position);
  const changes = columns.map((column) => `${column} = excluded.${column}`).join(", ");
  tx.run(
    `insert into link_positions ${toValues(["daemon_id", ...columns])}
     on conflict (daemon_id) do update set ${changes}`,
    { daemon_id, ...position },
  );
}

/** When the last entry of a machine was applied; null without an entry, or without its receipt. */
export function lastAppliedAt(db: Reader, daemon_id: string): number | null {
  return db.value(
    z.number(),
    `select received_at from link_receipts join link_positions using (daemon_id)
     where daemon_id = :daemon_id and tag = last_tag`,
    { daemon_id },
  ) ?? null;
}

/** The tag of our last entry that a machine has confirmed. */
export function confirmedTag(db: Reader, daemon_id: string): string | undefined {
  const sql = "select confirmed_tag from link_positions where daemon_id = :daemon_id";
  return db.value(z.string().nullable(), sql, { daemon_id }) ?? undefined;
}

/** The last time at which a machine confirmed an entry of ours. */
export function confirmedAt(db: Reader, daemon_id: string): number | undefined {
  const sql = "select confirmed_at from link_positions where daemon_id = :daemon_id";
  return db.value(z.number().nullable(), sql, { daemon_id }) ?? undefined;
}

const Loss = z.object({ at: z.number(), sent_again: z.number() });

/** The last loss that was repaired between a machine and this one. */
export function lossOf(db: Reader, daemon_id: string): z.output<typeof Loss> | undefined {
  const sql = `select lost_at as at, sent_again from link_positions
    where daemon_id = :daemon_id and lost_at is not null`;
  return db.get(Loss, sql, { daemon_id });
}

export function deletePositions(tx: Tx): void {
  tx.run("delete from link_positions", {});
}

export function deletePosition(tx: Tx, daemon_id: string): void {
  tx.run("delete from link_positions where daemon_id = :daemon_id", { daemon_id });
}
