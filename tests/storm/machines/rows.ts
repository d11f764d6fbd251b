/** Messages in a machine's database, including messages that cross machines. */

import * as z from "zod";
import type { Daemon } from "../../../daemon/app/daemon.ts";

const nullableText = z.string().nullable();
const nullableNumber = z.number().nullable();

const Row = z.object({
  seq: z.number(),
  ident: z.string(),
  kind: z.string(),
  correlation_id: nullableText,
  from_peer_id: nullableText,
  from_peer_name: z.string(),
  to_peer_id: z.string(),
  text: z.string(),
  state: z.string(),
  reason: nullableText,
  attempted_at: nullableNumber,
  sent_at: nullableNumber,
  accepted_at: nullableNumber,
  seen_at: nullableNumber,
  ask_state: nullableText,
  reply: nullableText,
  reply_delivery: nullableText,
  close_reason: nullableText,
  outcome: nullableText,
  /** The other machine; null if the message stays on this one. */
  machine: nullableText,
  /** 1 if this machine is the origin. */
  sent: nullableNumber,
  /** The id of the delivery at the origin. */
  origin_id: nullableText,
});
export type Row = z.output<typeof Row>;

export function rowsOf({ ctx: { db } }: Daemon): readonly Row[] {
  return db.all(
    Row,
    `select m.seq, ident, kind, m.correlation_id, from_peer_id, from_peer_name, to_peer_id, text,
       state, reason, attempted_at, sent_at, accepted_at, seen_at, ask_state, reply,
       reply_delivery, close_reason, outcome, r.daemon_id as machine, r.sent,
       r.delivery_id as origin_id
     from messages m left join remote_messages r on r.seq = m.seq order by m.seq`,
  );
}

const Stage = z.object({ ident: z.string(), stage: z.string(), ts: z.number() });

export function stagesOf({ ctx: { db } }: Daemon): readonly z.output<typeof Stage>[] {
  return db.all(Stage, "select ident, stage, ts from stages");
}

/** Number of entries that wait for other machines. */
export function waitingEntries({ ctx: { db } }: Daemon): number {
  return db.value(z.number(), "select count(*) from link_entries") ?? 0;
}

const Item = z.object({ item_id: z.string() });

export function inboxItems({ ctx: { db } }: Daemon): string[] {
  return db.all(Item, "select item_id from inbox_items order by item_id").map(({ item_id }) =>
    item_id
  );
}
