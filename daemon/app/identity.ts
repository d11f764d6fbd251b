/** The daemon's permanent identity: its id and its keys, stored in its database. */

import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { equalSecrets } from "kit/host/node_library.ts";
import type { Database, Tx } from "kit/data/sqlite.ts";

const SECRET_BYTES = 32;

export interface Identity {
  /** `dm-…`: stable per machine and user. */
  readonly daemon_id: string;
  /** Signs birth certificates. */
  readonly certificate_key: string;
  /** Permutes the numbers of messages into their ids. */
  readonly number_key: string;
  /** The token of hooks; it only permits reports. */
  readonly hook_token: string;
}

export function readIdentity(db: Database, ids: Ids): Identity {
  return db.transactNow((tx) => ({
    daemon_id: getOrCreate(tx, "daemon_id", () => ids.next("dm")),
    certificate_key: getOrCreate(tx, "certificate_key", () => ids.secret(SECRET_BYTES)),
    number_key: getOrCreate(tx, "number_key", () => ids.secret(SECRET_BYTES)),
    hook_token: getOrCreate(tx, "hook_token", () => ids.secret(SECRET_BYTES)),
  }));
}

/** The stored value; a missing one is created and stored. */
function getOrCreate(tx: Tx, key: string, create: () => string): string {
  const found = tx.value(z.string(), "select value from meta where key = :key", { key });
  if (found !== undefined) return found;
  const value = create();
  tx.run("insert into meta (key, value) values (:key, :value)", { key, value });
  return value;
}

/** Whether this is the token of hooks and plugins. */
export function isHookToken({ hook_token }: Identity, token: string | undefined): boolean {
  return token !== undefined && equalSecrets(token, hook_token);
}
