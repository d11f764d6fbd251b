/** SQL of who read and wrote which file, one statement per function. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import type { StoredPeer } from "../peers/store.ts";

/** A file by its repository and its path from the root; an absolute path without a repository. */
export interface FileKey {
  readonly repository: string;
  readonly path: string;
}

const StoredUse = z.object({
  repository: z.string(),
  path: z.string(),
  peer_id: z.string(),
  root: z.string(),
  wrote: z.int().transform((value) => value === 1),
  first_at: z.number(),
  last_at: z.number(),
  times: z.number().int(),
});
export type StoredUse = z.output<typeof StoredUse>;

const COLUMNS = Object.keys(StoredUse.shape).join(", ");
const OF_FILE = "where repository = :repository and path = :path";
const ADD = `insert into file_uses (${COLUMNS})
  values (:repository, :path, :peer_id, :root, :wrote, :at, :at, 1)
  on conflict (repository, path, peer_id, root, wrote) do update set
    first_at = min(first_at, excluded.first_at),
    last_at = max(last_at, excluded.last_at),
    times = times + 1`;

export function add(
  tx: Tx,
  use: FileKey & { peer_id: string; root: string; wrote: boolean; at: number },
): void {
  tx.run(ADD, { ...use, wrote: use.wrote ? 1 : 0 });
}

/** The uses of a file, last first. */
export function usesOf(db: Reader, file: FileKey): StoredUse[] {
  const { repository, path } = file;
  const select =
    `select ${COLUMNS} from file_uses ${OF_FILE} order by last_at desc, peer_id, wrote`;
  return db.all(StoredUse, select, { repository, path });
}

/** The position up to which the entries of a peer's session are known; -1 for none. */
export function knownUpTo(
  db: Reader,
  { peer_id, session_proved }: Pick<StoredPeer, "peer_id" | "session_proved">,
  session_id: string,
): number {
  // Any caller may name any session; the agent's own report proves it.
  if (!session_proved) return Infinity;
  const where = "where peer_id = :peer_id and session_id = :session_id";
  const select = `select position from file_readings ${where}`;
  return db.value(z.number(), select, { peer_id, session_id }) ?? -1;
}

export function setPosition(
  tx: Tx,
  reading: { peer_id: string; session_id: string; position: number },
): void {
  tx.run(
    "replace into file_readings (peer_id, session_id, position) values (:peer_id, :session_id, :position)",
    reading,
  );
}

interface Pair extends FileKey {
  readonly first_peer_id: string;
  readonly second_peer_id: string;
}

/** The time at which a pair of peers, in the order of their ids, was told of a file. */
export function toldAt(db: Reader, { repository, path, ...pair }: Pair): number | undefined {
  return db.value(
    z.number(),
    `select told_at from file_overlaps ${OF_FILE}
       and first_peer_id = :first_peer_id and second_peer_id = :second_peer_id`,
    { repository, path, ...pair },
  );
}

export function setTold(tx: Tx, pair: Pair & { told_at: number }): void {
  tx.run(
    `replace into file_overlaps (repository, path, first_peer_id, second_peer_id, told_at)
     values (:repository, :path, :first_peer_id, :second_peer_id, :told_at)`,
    { ...pair },
  );
}

const SharedFile = z.object({ path: z.string(), other: z.string(), told_at: z.number() });

/**
 * The files of which a peer was told since then that another one changes them, too, latest first.
 * Reads the whole table, which has a row for each file and pair: no index finds a peer.
 */
export function overlapsOf(
  db: Reader,
  params: { readonly peer_id: string; readonly since: number },
): z.output<typeof SharedFile>[] {
  return db.all(
    SharedFile,
    `select file_overlaps.path, name as other, told_at from file_overlaps join peers
       on peers.peer_id = iif(first_peer_id = :peer_id, second_peer_id, first_peer_id)
     where told_at > :since and :peer_id in (first_peer_id, second_peer_id)
       and status <> 'retired'
     order by told_at desc, file_overlaps.path`,
    params,
  );
}

export function prune(tx: Tx, before: number): void {
  tx.run("delete from file_uses where last_at < :before", { before });
  tx.run("delete from file_overlaps where told_at < :before", { before });
  tx.run(
    `delete from file_readings where not exists
       (select 1 from peers where peers.peer_id = file_readings.peer_id)`,
  );
}

/** The files of a repository that a peer had written before a time. */
export function writtenBefore(
  db: Reader,
  filter: { readonly repository: string; readonly peer_id: string; readonly before: number },
): string[] {
  return db.values(
    z.string(),
    `select distinct path from file_uses where repository = :repository
       and peer_id = :peer_id and wrote = 1 and first_at < :before`,
    { ...filter },
  );
}
