/** SQL for registered clients: one statement per function. */

import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Client } from "protocol/relay/oauth.ts";

const Row = rowOf(Client);

export function get(db: Reader, client_id: string, now: number): Client | undefined {
  return db.get(
    Row,
    `select * from oauth_clients where client_id = :client_id and expires_at > :now`,
    { client_id, now },
  );
}

export function insert(tx: Tx, client: Client): void {
  tx.run(
    `insert into oauth_clients
       (client_id, client_name, redirect_uris, state, registered_at, expires_at)
     values (:client_id, :client_name, :redirect_uris, :state, :registered_at, :expires_at)`,
    Row.encode(client),
  );
}

export function step(tx: Tx, { client_id, state, expires_at }: Client): void {
  tx.run(
    `update oauth_clients set state = :state, expires_at = :expires_at
     where client_id = :client_id`,
    { client_id, state, expires_at },
  );
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

export function expire(tx: Tx, now: number, max: number): number {
  return tx.run(
    `delete from oauth_clients where client_id in
       (select client_id from oauth_clients where expires_at <= :now limit :max)`,
    { now, max },
  );
}
