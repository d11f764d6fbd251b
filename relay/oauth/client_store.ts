/** SQL for registered clients: one statement per function. */

import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { Client } from "protocol/relay/oauth.ts";
import { expiryOf } from "./grant_store.ts";

const table = tableOf("oauth_clients", Client, "client_id");
export const { insert, update } = table;
export const expire = expiryOf("oauth_clients", "client_id");

export function get(db: Reader, client_id: string, now: number): Client | undefined {
  const [found] = table.all(db, "where client_id = :client_id and expires_at > :now", {
    client_id,
    now,
  });
  return found;
}

/** Deletes the oldest unused clients until `max` are left. On a tie, lower rowids go first. */
export function evict(tx: Tx, max: number): number {
  return tx.run(
    `delete from oauth_clients where state = 'unused' and client_id in
       (select client_id from oauth_clients where state = 'unused'
        order by registered_at desc, rowid desc limit -1 offset :max)`,
    { max },
  );
}
