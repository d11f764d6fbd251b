/** SQL of recall: answered asks of a circle that have certain words. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf } from "kit/data/sqlite.ts";

const AnsweredAsk = z.object({
  correlation_id: z.string(),
  from_peer_id: z.string().nullable(),
  from_peer_name: z.string(),
  to_peer_id: z.string(),
  to_peer_name: z.string(),
  responder: z.string().nullable(),
  reply_voice: z.string().nullable(),
  text: z.string(),
  reply: z.string(),
  created_at: Instant,
  closed_at: Instant,
});
export type AnsweredAsk = z.output<typeof AnsweredAsk>;
const AnsweredAskRow = rowOf(AnsweredAsk);

/** The newest answered asks of a circle among the `scanned_max` newest messages with the words. */
export function answeredAsks(
  db: Reader,
  params: { match: string; circle: string; scanned_max: number; chars_max: number; limit: number },
): AnsweredAsk[] {
  return db.all(
    AnsweredAskRow,
    `with found (seq) as materialized (
       select rowid from message_words where message_words match :match
       order by rowid desc limit :scanned_max)
     select correlation_id, from_peer_id, from_peer_name, to_peer_id, to_peer_name, responder,
       reply_voice, substr(text, 1, :chars_max) as text, substr(reply, 1, :chars_max) as reply,
       created_at, closed_at
     from found join messages using (seq)
     where kind = 'ask' and circle = :circle and outcome = 'answered' and reply <> ''
       and not coalesce(question ->> 'blocking', 0)
     order by seq desc limit :limit`,
    params,
  );
}
