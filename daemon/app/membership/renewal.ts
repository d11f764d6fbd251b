/** Gives the machine of a database a new daemon id, while its daemon is stopped. */

import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import { Database, type Tx } from "kit/data/sqlite.ts";
import { deletePositions } from "../../machines/links/store.ts";
import { ownPeerIds, type PeerIds } from "../../features/peers/identity/peer_ids.ts";
import { renewIdProofs } from "../../features/peers/store.ts";
import { readIdentity, renewIdentity } from "../identity.ts";
import { migrations } from "../migrations/migrations.ts";

/** Returns the old and the new id. */
export function renewDatabase(path: string, { clock, ids }: { clock: Clock; ids: Ids }) {
  const quiet = () => undefined;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  using db = new Database(path, migrations, log, clock);
  const before = readIdentity(db, ids).daemon_id;
  const daemon_id = renewIdentity(db, ids, deletePositions);
  db.transactNow((tx) => renewPeerIds(tx, ownPeerIds(daemon_id, ids)));
  return { before, daemon_id };
}

/** The columns that hold ids of this machine's peers, among other values. */
const COLUMNS = `select tables.name as "table", columns.name as "column"
  from sqlite_schema as tables join pragma_table_info(tables.name) as columns
  where tables.type = 'table' and tables.sql not like 'create virtual%'
    and tables.name not in ('remote_peers', 'new_peer_ids')
    and (columns.name like '%peer%' or columns.name in
         ('seed_from', 'subject_id', 'parent_runtime_id', 'sender', 'read_by'))
    and columns.name not like '%name'`;
const Column = z.object({ table: z.string(), column: z.string() });

/** The target of a job is within its execution, which is JSON. */
const TARGET = "$.target.assigned_peer_id";

/** Gives all peers new ids: those of a copy are also on the other machine. */
function renewPeerIds(tx: Tx, peerIds: PeerIds): void {
  tx.run("create temp table new_peer_ids (old text primary key, new text, id_proof text) strict");
  for (const old of tx.values(z.string(), "select peer_id from peers")) {
    const { peer_id, id_proof } = peerIds.next();
    const row = { old, new: peer_id, id_proof };
    tx.run("insert into new_peer_ids (old, new, id_proof) values (:old, :new, :id_proof)", row);
  }
  for (const { table, column } of tx.all(Column, COLUMNS)) {
    tx.run(`update ${table} set ${column} = (select new from new_peer_ids where old = ${column})
      where ${column} in (select old from new_peer_ids)`);
  }
  for (const table of ["jobs", "job_templates"]) {
    tx.run(`update ${table} set execution = json_set(execution, '${TARGET}',
        (select new from new_peer_ids where old = execution ->> '${TARGET}'))
      where execution ->> '${TARGET}' in (select old from new_peer_ids)`);
  }
  renewIdProofs(tx);
  tx.run("drop table new_peer_ids");
}
