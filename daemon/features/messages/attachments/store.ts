/** SQL of attachments, one statement per function. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Attachment } from "./contract.ts";

/**
 * An attachment's row. It holds the file's name and not its path, because the directory may move.
 */
const StoredAttachment = Attachment.omit({ path: true }).extend({ file: z.string() });
export type StoredAttachment = z.output<typeof StoredAttachment>;
const Row = rowOf(StoredAttachment);

const COLUMNS = "id, filename, size, content_type, sha256, file, created_at, expires_at";

export function insert(tx: Tx, stored: StoredAttachment): void {
  tx.insert(
    `insert into attachments (${COLUMNS})
     values (:id, :filename, :size, :content_type, :sha256, :file, :created_at, :expires_at)`,
    z.encode(Row, stored),
  );
}

export function get(db: Reader, id: string): StoredAttachment | undefined {
  return db.get(Row, `select ${COLUMNS} from attachments where id = :id`, { id });
}

export function remove(tx: Tx, id: string): void {
  tx.run("delete from attachments where id = :id", { id });
}

/** Expired attachments, oldest first. */
export function overdue(db: Reader, now: number, limit: number): StoredAttachment[] {
  return db.all(
    Row,
    `select ${COLUMNS} from attachments where expires_at <= :now order by expires_at limit :limit`,
    { now, limit },
  );
}

const SizeSum = z.object({ bytes: z.number() });

/** The sum of all sizes, each counted as at least `size_min` bytes. */
export function storedBytes(db: Reader, size_min: number): number {
  return db.get(
    SizeSum,
    "select coalesce(sum(max(size, :size_min)), 0) as bytes from attachments",
    { size_min },
  )?.bytes ?? 0;
}

const File = z.object({ file: z.string() });

export function files(db: Reader): string[] {
  return db.all(File, "select file from attachments").map(({ file }) => file);
}
