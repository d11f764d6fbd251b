/** SQL of attachments and of the messages that carry them, one statement per function. */

import * as z from "zod";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Attachment } from "protocol/messages/attachments.ts";
import { DELIVERY_ID } from "../ledger/rows.ts";

/** An attachment's row. It holds the file's name and no path, because the directory may move. */
const StoredAttachment = Attachment.omit({ path: true }).extend({ file: z.string() });
export type StoredAttachment = z.output<typeof StoredAttachment>;

const table = tableOf("attachments", StoredAttachment, "id");
export const { insert, get, remove, update } = table;

/** Expired attachments, oldest first. */
export function overdue(db: Reader, now: number, limit: number): StoredAttachment[] {
  return table.all(db, `where expires_at <= :now order by expires_at limit :limit`, { now, limit });
}

/** The sum of all sizes, each counted as at least `size_min` bytes. */
export function storedBytes(db: Reader, size_min: number): number {
  const sql = "select coalesce(sum(max(size, :size_min)), 0) from attachments";
  return db.value(z.number(), sql, { size_min }) ?? 0;
}

export function files(db: Reader): string[] {
  return db.values(z.string(), "select file from attachments");
}

/** Maximum messages that `carriersOf` returns. */
const CARRIERS_MAX = 100;

const CARRIES = `instr(attachments, :attachment)`;

/** Ids of undelivered messages and open asks with an attachment. Each part reads a small index. */
export function carriersOf(db: Reader, attachment: string): string[] {
  return db.values(
    z.string(),
    `select ${DELIVERY_ID} from messages where seq in (
       select seq from messages indexed by messages_queued where state = 'queued' and ${CARRIES}
       union
       select seq from messages where under_way = 1 and ${CARRIES}
       union
       select seq from messages where ask_state = 'open' and ${CARRIES}
       limit :limit)
     order by seq`,
    { attachment, limit: CARRIERS_MAX },
  );
}
