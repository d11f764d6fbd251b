/** SQL of chains of asks. A link of a chain leads from an ask to the ask that it follows up on. */

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

/** Reads one ask as a link of its chain, by primary key. */
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
