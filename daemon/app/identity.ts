/** What the daemon knows of itself for life: its id and its keys, kept in its database. */

import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { equalSecrets } from "kit/core/settings.ts";
import type { Database, Tx } from "kit/data/sqlite.ts";

const SECRET_BYTES = 32;

export interface Identity {
  /** `dm-…`: stable per machine and user. */
  readonly daemon_id: string;
  /** Signs birth certificates. */
  readonly certificate_key: string;
  /** Shuffles the ids of messages. */
  readonly number_key: string;
  /** What hooks bear: good for posting what they saw, and for nothing else. */
  readonly hook_token: string;
}

const Row = z.object({ value: z.string() });

export function readIdentity(db: Database, ids: Ids): Identity {
  return db.transactNow((tx) => ({
    daemon_id: getOrCreate(tx, "daemon_id", () => ids.next("dm")),
    certificate_key: getOrCreate(tx, "certificate_key", () => ids.secret(SECRET_BYTES)),
    number_key: getOrCreate(tx, "number_key", () => ids.secret(SECRET_BYTES)),
    hook_token: getOrCreate(tx, "hook_token", () => ids.secret(SECRET_BYTES)),
  }));
}

/** The value that was kept, or a fresh one, kept from now on. */
function getOrCreate(tx: Tx, key: string, create: () => string): string {
  const found = tx.get(Row, "select value from meta where key = :key", { key });
  if (found) return found.value;
  const value = create();
  tx.run("insert into meta (key, value) values (:key, :value)", { key, value });
  return value;
}

/** Whether this is the token of hooks and plugins. */
export function isHookToken({ hook_token }: Identity, token: string | undefined): boolean {
  return token !== undefined && equalSecrets(token, hook_token);
}
