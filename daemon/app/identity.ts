/** The daemon's permanent identity: its id and its keys, stored in its database. */

import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { equalSecrets } from "kit/host/node_library.ts";
import type { Context } from "../data/context.ts";
import { type KeyPair, newKeyPair } from "kit/host/web_push.ts";
import { forgetDevices } from "../api/pages/device_store.ts";
import { forgetSubscriptions } from "../features/inbox/push/store.ts";
import { madeLate } from "kit/core/schema.ts";
import { tryJson } from "kit/core/text.ts";
import type { Database, Reader, Tx } from "kit/data/sqlite.ts";

const SECRET_BYTES = 32;

interface Identity {
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

/** The stored value. Creates and stores a missing value. */
function getOrCreate(tx: Tx, key: string, create: () => string): string {
  const found = valueOf(tx, key);
  if (found !== undefined) return found;
  const value = create();
  tx.run("insert into meta (key, value) values (:key, :value)", { key, value });
  return value;
}

const PUSH_KEYS = "push_keys";

/**
 * Our keys for push services, made at their first use. A device accepts pushes by these keys only.
 */
export function pushKeysOf({ db }: Pick<Context, "db">): () => KeyPair {
  const create = () => JSON.stringify(newKeyPair());
  return () => {
    const stored = valueOf(db, PUSH_KEYS) ??
      db.transact((tx) => getOrCreate(tx, PUSH_KEYS, create));
    return keyPair().parse(tryJson(stored));
  };
}

const keyPair = madeLate(() => z.object({ public_key: z.string(), private_key: z.string() }));

/** Start of the first run that was refused because another daemon has this identity. */
const REFUSED_SINCE = "identity_refused_since";
/** Entries for others from before this time belong to the daemon with the former identity. */
const LEFT_BEFORE = "identity_left_before";

/** Stores that this run was refused as a copy; `null` clears this. */
export function recordIdentityRefusal(
  { db }: Pick<Context, "db">,
  started_at: number | null,
): void {
  db.transactNow((tx) => {
    if (started_at === null) remove(tx, REFUSED_SINCE);
    else getOrCreate(tx, REFUSED_SINCE, () => String(started_at));
  });
}

/**
 * Gives this machine a new id, while its daemon is stopped. Entries that waited for other machines
 * when the disk was copied are on the other daemon's disk as well, and that daemon sends them. Its
 * certificates prove nothing here any more: they name peers of the other daemon.
 */
export function renewIdentity(db: Database, ids: Ids, forgetPositions: (tx: Tx) => void): string {
  return db.transactNow((tx) => {
    const refused_since = valueOf(tx, REFUSED_SINCE);
    const own = ["daemon_id", "machine_card", "certificate_key", PUSH_KEYS];
    for (const key of [...own, REFUSED_SINCE, LEFT_BEFORE]) remove(tx, key);
    if (refused_since !== undefined) getOrCreate(tx, LEFT_BEFORE, () => refused_since);
    // Devices accept only the pushes of the other daemon, which has their keys as well.
    forgetSubscriptions(tx);
    forgetDevices(tx);
    // The other machines begin anew with a machine that they do not know.
    forgetPositions(tx);
    return getOrCreate(tx, "daemon_id", () => ids.next("dm"));
  });
}

/** Entries for other machines from before this time are left to the other daemon. */
export function leftBefore({ db }: Pick<Context, "db">): number | undefined {
  const value = valueOf(db, LEFT_BEFORE);
  return value === undefined ? undefined : Number(value);
}

/** Called when these entries are gone: newer ones must not count after the clock is set back. */
export function forgetLeft({ db }: Pick<Context, "db">): void {
  db.transactNow((tx) => remove(tx, LEFT_BEFORE));
}

function valueOf(db: Reader, key: string): string | undefined {
  return db.value(z.string(), "select value from meta where key = :key", { key });
}

function remove(tx: Tx, key: string): void {
  tx.run("delete from meta where key = :key", { key });
}

/** Contents of this machine's last card. */
const card = madeLate(() =>
  z.object({ name: z.string(), sign: z.string(), created_at: z.number() })
);

/** Time at which this machine got the name and the key of its card; now, for a new name or key. */
export function cardMadeAt(
  { db, clock }: Pick<Context, "db" | "clock">,
  { name, sign }: { readonly name: string; readonly sign: string },
): number {
  const key = "machine_card";
  return db.transactNow((tx) => {
    const stored = tx.value(z.string(), "select value from meta where key = :key", { key });
    const before = card().safeParse(tryJson(stored ?? "")).data;
    if (before?.name === name && before.sign === sign) return before.created_at;
    // Machines ignore a card that is older than the card they know, also if the clock was set back.
    const created_at = Math.max(clock.now(), (before?.created_at ?? 0) + 1);
    const value = JSON.stringify({ name, sign, created_at });
    tx.run("insert or replace into meta (key, value) values (:key, :value)", { key, value });
    return created_at;
  });
}

const Restoration = madeLate(() =>
  z.object({ at: z.number(), lost_messages: z.number().nullable() })
);

/** Stores when `mesh restore` put a backup in place, as the JSON of `Restored`. */
export const MARK_RESTORED = "insert or replace into meta (key, value) values ('restored', ?)";

/** Time of the last `mesh restore`, and the number of messages that it lost. */
export function restoredAt(db: Database): { at: number; lost_messages: number | null } | undefined {
  const stored = db.value(z.string(), "select value from meta where key = 'restored'");
  return Restoration().safeParse(tryJson(stored ?? "")).data;
}

/** True if this is the token of hooks and plugins. */
export function isHookToken({ hook_token }: Identity, token: string | undefined): boolean {
  return token !== undefined && equalSecrets(token, hook_token);
}
