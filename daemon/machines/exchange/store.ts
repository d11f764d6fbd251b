/** SQL of the table `remote_messages`: which messages came from, or went to, another machine. */

import * as z from "zod";
import { bulkInsert } from "kit/data/deferred_inserts.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";

export const RemoteMessage = z.object({
  seq: z.number(),
  daemon_id: z.string(),
  /** True if this machine is the origin. */
  sent: z.boolean(),
  /** The ids that the origin gave. */
  delivery_id: z.string(),
  correlation_id: z.string().nullable(),
  hops: z.number(),
  /** The tag of its link entry while that may be withdrawn; null after that, and if received. */
  entry_tag: z.string().nullable(),
  reported: z.string().nullable(),
  /** Digest of the message's content; null if it came from an earlier version of the daemon. */
  digest: z.string().nullable(),
});
export type RemoteMessage = z.output<typeof RemoteMessage>;

const Row = rowOf(RemoteMessage);
const COLUMNS = RemoteMessage.keyof().options;
const messages = bulkInsert("remote_messages", COLUMNS);

/** Stores a row of a message that has none, from a machine that has sent no such message before. */
export function insert(tx: Tx, message: RemoteMessage): void {
  const { sent, ...columns } = message;
  const row = { ...columns, sent: Number(sent) };
  tx.insertLater(messages, COLUMNS.map((column) => row[column]));
}

export function bySeq(db: Reader, seq: number): RemoteMessage | undefined {
  return db.get(Row, "select * from remote_messages where seq = :seq", { seq });
}

/** The message whose ids on this machine contain these 12 hex digits. */
export function byIdent(db: Reader, ident: string): RemoteMessage | undefined {
  return db.get(Row, "select * from remote_messages where seq = seq_of(:ident)", { ident });
}

/** The message that has this id at its origin. */
export function byDelivery(
  db: Reader,
  { daemon_id, sent, delivery_id }: Pick<RemoteMessage, "daemon_id" | "sent" | "delivery_id">,
): RemoteMessage | undefined {
  return db.get(
    Row,
    `select * from remote_messages
     where daemon_id = :daemon_id and sent = :sent and delivery_id = :delivery_id`,
    { daemon_id, sent: Number(sent), delivery_id },
  );
}

/**
 * The message that a report is about. Undefined if it does not exist here, or if another message
 * has its id: a database was restored, or an asker chose an id twice.
 */
export function byReport(
  db: Reader,
  report: {
    readonly daemon_id: string;
    readonly sent: boolean;
    readonly correlation_id?: string;
    /** Absent in reports of earlier versions, like `digest`. */
    readonly delivery_id?: string | undefined;
    readonly digest?: string | undefined;
  },
): RemoteMessage | undefined {
  const { daemon_id, sent, correlation_id = null, delivery_id, digest } = report;
  const found = delivery_id !== undefined
    ? byDelivery(db, { daemon_id, sent, delivery_id })
    : correlation_id === null
    ? undefined
    : byAsk(db, { daemon_id, sent, correlation_id });
  if (!found || (correlation_id !== null && found.correlation_id !== correlation_id)) {
    return undefined;
  }
  const isOther = digest !== undefined && found.digest !== null && found.digest !== digest;
  return isOther ? undefined : found;
}

/** The newest ask that has this id at its origin. */
export function byAsk(
  db: Reader,
  { daemon_id, sent, correlation_id }: {
    daemon_id: string;
    sent: boolean;
    correlation_id: string;
  },
): RemoteMessage | undefined {
  return db.get(
    Row,
    `select * from remote_messages
     where daemon_id = :daemon_id and sent = :sent and correlation_id = :correlation_id
     order by seq desc limit 1`,
    { daemon_id, sent: Number(sent), correlation_id },
  );
}

export function setReported(tx: Tx, seq: number, reported: string): void {
  tx.run("update remote_messages set reported = :reported where seq = :seq", { reported, seq });
}

export function clearEntryTag(tx: Tx, seq: number): void {
  tx.run("update remote_messages set entry_tag = null where seq = :seq", { seq });
}

/** Messages to a machine whose delivery or ask has not ended: their row numbers. */
export function unfinishedTo(db: Reader, daemon_id: string): number[] {
  return db.values(
    z.number(),
    `select seq from remote_messages join messages using (seq)
     where daemon_id = :daemon_id and sent = 1
       and (state in ('queued', 'attempting', 'sent') or ask_state = 'open')
     order by seq`,
    { daemon_id },
  );
}

/** Numbers of a machine's messages under way at an instant or changed later, newest first. */
export function changedSince(
  db: Reader,
  params: { daemon_id: string; since: number; limit: number },
): number[] {
  return db.values(
    z.number(),
    `select seq from remote_messages join messages using (seq)
     where daemon_id = :daemon_id
       and :since <= max(created_at, coalesce(sent_at, 0), coalesce(accepted_at, 0),
                         coalesce(seen_at, 0), coalesce(settled_at, 0), coalesce(closed_at, 0))
     order by seq desc limit :limit`,
    params,
  );
}

/** Messages from other machines that are queued for a peer: their row numbers. */
export function queuedFor(db: Reader, to_peer_id: string): number[] {
  return db.values(
    z.number(),
    `select seq from messages join remote_messages using (seq)
     where to_peer_id = :to_peer_id and state = 'queued' and sent = 0 order by seq`,
    { to_peer_id },
  );
}

const ScannedRow = z.object({ seq: z.number(), gone: z.number() });

/** The next rows after a row number, and whether the message of each was deleted. */
export function scan(db: Reader, { after, limit }: { after: number; limit: number }) {
  return db.all(
    ScannedRow,
    `select r.seq, not exists (select 1 from messages m where m.seq = r.seq) as gone
     from remote_messages r where r.seq > :after order by r.seq limit :limit`,
    { after, limit },
  );
}

export function remove(tx: Tx, seqs: readonly number[]): void {
  tx.run("delete from remote_messages where seq in (select value from json_each(:seqs))", {
    seqs: JSON.stringify(seqs),
  });
}
