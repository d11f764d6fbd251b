/** SQL of subagents, which are rows of the table `peers` with a parent. */

import * as z from "zod";
import { type Reader, rowOf } from "kit/data/sqlite.ts";
import { REPORTED_SUBAGENT, StoredPeer, SUBAGENT } from "../store.ts";

const StoredChild = StoredPeer.pick({
  peer_id: true,
  name: true,
  status: true,
  status_at: true,
  last_seen: true,
  registered_at: true,
  parent_runtime_id: true,
  metadata: true,
});
export type StoredChild = z.output<typeof StoredChild>;

const ChildRow = rowOf(StoredChild);
const COLUMNS = Object.keys(StoredChild.shape).join(", ");

/** The subagents of a peer, newest first. A parent is recorded by its peer id or its session. */
export function childrenOf(
  db: Reader,
  { peer_id, runtime_session_id }: Pick<StoredPeer, "peer_id" | "runtime_session_id">,
): StoredChild[] {
  return db.all(
    ChildRow,
    `select ${COLUMNS} from peers
     where parent_runtime_id in (:peer_id, :session) and ${SUBAGENT}
       and dropped_at is null and closed = 0
     order by registered_at desc, rowid desc`,
    { peer_id, session: runtime_session_id ?? peer_id },
  );
}

/** The subagents of all peers that their parents reported. */
export function reported(db: Reader): StoredChild[] {
  return db.all(
    ChildRow,
    `select ${COLUMNS} from peers
     where ${REPORTED_SUBAGENT} and dropped_at is null and closed = 0
     order by registered_at, rowid`,
  );
}
