/** SQL of paired devices, one statement per function. */

import * as z from "zod";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { PairedDevice } from "protocol/api/devices.ts";

/** A device as stored: the record, and the digest of its token. */
const StoredDevice = PairedDevice.omit({ is_this: true }).extend({ digest: z.string() });
export type StoredDevice = z.output<typeof StoredDevice>;

const table = tableOf("paired_devices", StoredDevice, "device_id");
export const { insert, get, remove } = table;

/** The devices with a session, the newest first. */
export function all(db: Reader, now: number): StoredDevice[] {
  return table.all(db, "where expires_at > :now order by created_at desc, device_id", { now });
}

export function byDigest(db: Reader, digest: string, now: number): StoredDevice | undefined {
  return table.all(db, "where digest = :digest and expires_at > :now", { digest, now })[0];
}

export function markUsed(tx: Tx, device_id: string, at: number): void {
  tx.run("update paired_devices set used_at = :at where device_id = :device_id", {
    device_id,
    at,
  });
}

export function expired(db: Reader, now: number): StoredDevice[] {
  return table.all(db, "where expires_at <= :now", { now });
}

/** Ends all sessions, of a daemon that gets another identity. */
export function forgetDevices(tx: Tx): void {
  tx.run("delete from paired_devices");
}
