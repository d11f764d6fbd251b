/** Helpers for the message log: pages of `GET /messages`. */

import assert from "node:assert/strict";
import * as z from "zod";
import type { World } from "../world.ts";
import { get } from "./peer_clients.ts";

interface LogEntry {
  message_id: string;
  delivery_id: string;
  kind: string;
  text: string;
  reply: string | null;
  snippet?: string;
  from_peer_name: string;
}

/** A page of `GET /messages`. */
export async function page(w: World, query: Record<string, string> = {}) {
  const answer = await get(w, `/messages?${new URLSearchParams(query)}`);
  assert.equal(answer.status, 200, JSON.stringify(answer));
  const messages: LogEntry[] = answer.messages;
  const next: string | null = answer.next;
  return { messages, next };
}

/** The texts of a page. */
export const texts = async (w: World, query: Record<string, string> = {}) =>
  (await page(w, query)).messages.map(({ text }) => text);

/**
 * Copies the first message of a world until its database holds `count`. No message can be sent
 * afterwards: the daemon does not know of the numbers.
 */
export function copyMessage(w: World, count: number): void {
  const { db } = w.daemon.ctx;
  const columns = db.values(z.string(), "select name from pragma_table_info('messages')")
    .filter((name) => !["seq", "ident"].includes(name)).join(", ");
  db.transactNow((tx) =>
    tx.run(
      `with recursive copy (number) as
         (select max(seq) + 1 from messages
          union all select number + 1 from copy where number < :count)
       insert into messages (seq, ident, ${columns})
       select number, printf('%012x', number), ${columns}
       from copy join messages on seq = 1`,
      { count },
    )
  );
}
