/** SQL of chains: the ask that an ask follows up on, with its parties and trace. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import { AuthorKind } from "../../peers/schemas.ts";
import { idParams, WHERE_ID } from "./rows.ts";

const ChainLink = z.object({
  before: z.string().nullable(),
  voice: AuthorKind,
  to_peer_id: z.string(),
  traceparent: z.string(),
});

/** One ask as a link of its chain, found by primary key. */
export function findLink(
  db: Reader,
  correlation_id: string,
): z.output<typeof ChainLink> | undefined {
  return db.get(
    ChainLink,
    `select coalesce(reply_to, parent_id) as before, voice, to_peer_id, traceparent
     from messages where ${WHERE_ID} and kind = 'ask'`,
    idParams(correlation_id),
  );
}
