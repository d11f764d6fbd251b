/** Gives the machine of a database a new daemon id, while its daemon is stopped. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { Database } from "kit/data/sqlite.ts";
import { deletePositions } from "../../features/machines/links/store.ts";
import { readIdentity, renewIdentity } from "../identity.ts";
import { migrations } from "../migrations/migrations.ts";

/** Returns the old and the new id. */
export function renewDatabase(path: string, { clock, ids }: { clock: Clock; ids: Ids }) {
  const quiet = () => undefined;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  using db = new Database(path, migrations, log, clock);
  const before = readIdentity(db, ids).daemon_id;
  return { before, daemon_id: renewIdentity(db, ids, deletePositions) };
}
