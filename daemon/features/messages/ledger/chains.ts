/** SQL of the chains and budgets of messages, for the question of what a peer works for. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import { rowOf } from "kit/data/sqlite.ts";
import { Chain } from "protocol/origins/record.ts";
import { DELIVERY_ID, idParams, WHERE_ID } from "./rows.ts";

/** After a restart, the messages that a peer read last are searched for among so many. */
const SCANNED_MAX = 10_000;

const ChainRow = rowOf(z.object({ chain: Chain.nullable() }));

/** The chain of a message; undefined for an unknown id. */
export function chainOfMessage(db: Reader, id: string): Chain | null | undefined {
  const found = db.get(ChainRow, `select chain from messages where ${WHERE_ID}`, idParams(id));
  return found?.chain;
}

/** The newest messages with a chain that a peer has read, by their transport or its prompts. */
export function lastRead(db: Reader, to_peer_id: string, limit: number): string[] {
  return db.values(
    z.string(),
    `select ${DELIVERY_ID} from messages
     where seq > (select coalesce(max(seq), 0) - :scanned_max from messages)
       and to_peer_id = :to_peer_id and chain is not null
       and (seen_at is not null or (sent_at is not null and rung in ('hook', 'websocket')))
     order by seq desc limit :limit`,
    { to_peer_id, limit, scanned_max: SCANNED_MAX },
  );
}

/** The recipients of messages that count to a budget and have not arrived. */
export function budgetedRecipients(db: Reader): string[] {
  return db.values(
    z.string(),
    `select distinct to_peer_id from (
       select to_peer_id, ${DELIVERY_ID} from messages where state = 'queued'
       union all select to_peer_id, ${DELIVERY_ID} from messages where under_way = 1)
     join budget_members on subject = delivery_id`,
  );
}

/** The recipients of open asks that began outside. */
export function askedFromOutside(db: Reader): string[] {
  const statement =
    "select distinct to_peer_id from messages where outside = 1 and ask_state = 'open'";
  return db.values(z.string(), statement);
}

/** The chain of the oldest open ask that has reached a peer and began outside. */
export function outsideOwed(db: Reader, to_peer_id: string): Chain | undefined {
  const statement = `select chain from messages
    where outside = 1 and ask_state = 'open' and to_peer_id = :to_peer_id and state <> 'queued'
    order by seq limit 1`;
  return db.get(ChainRow, statement, { to_peer_id })?.chain ?? undefined;
}
