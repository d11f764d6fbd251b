/** The file of the OAuth database: private, bound to one issuer, and locked by one process. */

import { dirname } from "kit/core/path.ts";
import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { makeDirectory } from "kit/host/durable_files.ts";
import { copyBeforeMigration, copyFor } from "kit/host/migration_copies.ts";
import { makePrivate } from "kit/host/private_files.ts";
import type { Log } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { RunMark } from "./run_mark.ts";
import oauth from "./migrations/001_oauth.sql" with { type: "text" };
import runMark from "./migrations/002_run_mark.sql" with { type: "text" };

/** In order. Only append: never edit a released migration. */
export const relayMigrations: readonly string[] = [oauth, runMark];

interface DatabaseDeps {
  readonly clock: Clock;
  readonly log: Log;
}

interface LockDeps extends DatabaseDeps {
  readonly ids: Pick<Ids, "hex">;
}

/** The open database. Disposing it also releases the lock. */
interface LockedDatabase extends Disposable {
  readonly db: Database;
  readonly mark: RunMark;
}

/** Opens and locks the file. The error message is one sentence for the operator. */
export function lockDatabase(path: string, issuer: string, deps: LockDeps): LockedDatabase {
  try {
    return openLocked(path, issuer, deps);
  } catch (error) {
    const why = messageOf(error);
    if (why.startsWith("Cannot open")) throw error;
    throw new Error(`Cannot open ${path}: ${why}; RELAY_OAUTH_DB names another file`);
  }
}

function openLocked(path: string, issuer: string, deps: LockDeps): LockedDatabase {
  makeDirectory(dirname(path));
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
  // SQLite's other files are made private too. All of them are named after the real path, so that a
  // file has only one lock even if several paths lead to it.
  const realPath = Deno.realPathSync(path);
  for (const file of [realPath, `${realPath}-wal`, `${realPath}-shm`, `${realPath}.lock`]) {
    restrictAccess(file, deps.log);
  }
  const lock = Deno.openSync(`${realPath}.lock`, { create: true, write: true, mode: 0o600 });
  try {
    if (!lock.tryLockSync(true)) {
      throw new Error(
        `Cannot open ${path}: another relay uses it; only one replica may run with OAuth`,
      );
    }
    const db = openDatabase(realPath, issuer, deps);
    const mark = new RunMark({ ...deps, db, path: `${realPath}.mark` });
    return {
      db,
      mark,
      [Symbol.dispose]() {
        mark.renew();
        db[Symbol.dispose]();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Makes a file private; logs if it was not. Throws if it belongs to another user. */
function restrictAccess(path: string, log: Log): void {
  const exposedPath = makePrivate(path);
  if (exposedPath) {
    log.warn("A private file was open to other users; its mode was changed", { ...exposedPath });
  }
}

const Issuer = z.object({ issuer: z.string() });

/** Opens the database, which belongs to the first issuer that opened it. Throws for any other. */
export function openDatabase(path: string, issuer: string, deps: DatabaseDeps): Database {
  const db = new Database(path, relayMigrations, deps.log, deps.clock, {
    copy: copyBeforeMigration,
    adviceFor(file, supported) {
      const copy = copyFor(file, supported);
      if (!copy) return "";
      return `, or put the copy with version ${copy.version} in its place: "${copy.path}"`;
    },
  });
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
