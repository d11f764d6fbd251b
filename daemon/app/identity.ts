/** The daemon's permanent identity: its id and its keys, stored in its database. */

import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { equalSecrets } from "kit/host/node_library.ts";
import type { Context } from "kit/data/context.ts";
import { madeLate } from "kit/core/schema.ts";
import { tryJson } from "kit/core/text.ts";
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

/** What the last card of this machine said. */
const card = madeLate(() =>
  z.object({ name: z.string(), sign: z.string(), created_at: z.number() })
);

/** When this machine got the name and the key of its card; now, for one that it never had. */
export function cardMadeAt(
  { db, clock }: Pick<Context, "db" | "clock">,
  { name, sign }: { readonly name: string; readonly sign: string },
): number {
  const key = "machine_card";
  return db.transactNow((tx) => {
    const stored = tx.value(z.string(), "select value from meta where key = :key", { key });
    const before = card().safeParse(tryJson(stored ?? "")).data;
    if (before?.name === name && before.sign === sign) return before.created_at;
    const created_at = clock.now();
    const value = JSON.stringify({ name, sign, created_at });
    tx.run("insert or replace into meta (key, value) values (:key, :value)", { key, value });
    return created_at;
  });
}

const Restored = madeLate(() => z.object({ at: z.number(), lost_messages: z.number().nullable() }));

/** Stores when `mesh restore` put a backup in place, as the JSON of `Restored`. */
export const MARK_RESTORED = "insert or replace into meta (key, value) values ('restored', ?)";

/** When `mesh restore` put this database in its place, and how many messages were lost by it. */
export function restoredAt(db: Database): { at: number; lost_messages: number | null } | undefined {
  const stored = db.value(z.string(), "select value from meta where key = 'restored'");
  return Restored().safeParse(tryJson(stored ?? "")).data;
}

/** Whether this is the token of hooks and plugins. */
export function isHookToken({ hook_token }: Identity, token: string | undefined): boolean {
  return token !== undefined && equalSecrets(token, hook_token);
}
