/** The OAuth database as a file: private, bound to one issuer, and held by one process for life. */

import { dirname } from "node:path";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { makePrivate } from "kit/host/private_files.ts";
import type { Log } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { relayMigrations } from "./migrations/migrations.ts";

export interface DatabaseDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** The database with its lock: both end together. */
export interface LockedDatabase extends Disposable {
  readonly db: Database;
}

/** Opens the file for this process alone, or says in one sentence why that cannot be. */
export function lockDatabase(path: string, issuer: string, deps: DatabaseDeps): LockedDatabase {
  try {
    return openLocked(path, issuer, deps);
  } catch (error) {
    const why = messageOf(error);
    if (why.startsWith("Cannot open")) throw error;
    throw new Error(`Cannot open ${path}: ${why}; RELAY_OAUTH_DB names another file`);
  }
}

function openLocked(path: string, issuer: string, deps: DatabaseDeps): LockedDatabase {
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
  // What SQLite puts beside it is as private. However it is called, one file has one lock.
  const realPath = Deno.realPathSync(path);
  for (const file of [realPath, `${realPath}-wal`, `${realPath}-shm`, `${realPath}.lock`]) {
    restrictAccess(file, deps.log);
  }
  const lock = Deno.openSync(`${realPath}.lock`, { create: true, write: true, mode: 0o600 });
  try {
    if (!lock.tryLockSync(true)) {
      throw new Error(
        `Cannot open ${path}: another relay holds it; one replica only while OAuth is on`,
      );
    }
    const db = openDatabase(realPath, issuer, deps);
    return {
      db,
      [Symbol.dispose]() {
        db[Symbol.dispose]();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Refuses a file of another user; what others could open is closed, and one line says so. */
function restrictAccess(path: string, log: Log): void {
  const exposedPath = makePrivate(path);
  if (exposedPath) {
    log.warn("Other users could open a private file; it is closed to them", { ...exposedPath });
  }
}

const Issuer = z.object({ issuer: z.string() });

/** The database, which belongs to the first issuer that it is opened for. */
export function openDatabase(path: string, issuer: string, deps: DatabaseDeps): Database {
  const db = new Database(path, relayMigrations, deps.log, deps.clock);
  try {
    const boundIssuer = db.get(Issuer, `select issuer from oauth_issuer`)?.issuer;
    if (boundIssuer !== undefined && boundIssuer !== issuer) {
      throw new Error(
        `Cannot open ${path}: it belongs to the issuer ${boundIssuer}, and RELAY_OAUTH_ISSUER is ` +
          `${issuer}; name a new file in RELAY_OAUTH_DB, and let every app connect again`,
      );
    }
    if (boundIssuer === undefined) {
      db.transactNow((tx) =>
        tx.run(`insert into oauth_issuer (one, issuer) values (1, :issuer)`, { issuer })
      );
    }
    return db;
  } catch (error) {
    db[Symbol.dispose]();
    throw error;
  }
}
