/** SQL of chains: which ask an ask follows up on, who was in it, and in which trace. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import { Voice } from "../../peers/contract.ts";
import { BY_ID, byId } from "./rows.ts";

const Link = z.object({
  before: z.string().nullable(),
  voice: Voice,
  to_peer_id: z.string(),
  traceparent: z.string(),
});

/** One ask as a link of its chain: found by its key, so that a walk is cheap. */
export function link(db: Reader, correlation_id: string): z.output<typeof Link> | undefined {
  return db.get(
    Link,
    `select coalesce(reply_to, parent_id) as before, voice, to_peer_id, traceparent
     from messages where ${BY_ID} and kind = 'ask'`,
    byId(correlation_id),
  );
}
