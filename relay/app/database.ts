/** The OAuth database as a file: private, bound to one issuer, and held by one process for life. */

import { dirname } from "node:path";
import * as z from "zod";
import { messageOf } from "kit/core/text.ts";
import { makePrivate } from "kit/host/private_files.ts";
import type { Log } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { relayMigrations } from "./migrations/migrations.ts";

/** The database with its lock: both end together. */
export interface Held extends Disposable {
  readonly db: Database;
}

/** Opens the file for this process alone, or says in one sentence why that cannot be. */
export function holdDatabase(path: string, issuer: string, log: Log): Held {
  try {
    return hold(path, issuer, log);
  } catch (fault) {
    const why = messageOf(fault);
    if (why.startsWith("Cannot open")) throw fault;
    throw new Error(`Cannot open ${path}: ${why}; RELAY_OAUTH_DB names another file`);
  }
}

function hold(path: string, issuer: string, log: Log): Held {
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
  // What SQLite puts beside it is as private. However it is called, one file has one lock.
  const real = Deno.realPathSync(path);
  for (const file of [real, `${real}-wal`, `${real}-shm`, `${real}.lock`]) close(file, log);
  const lock = Deno.openSync(`${real}.lock`, { create: true, write: true, mode: 0o600 });
  try {
    if (!lock.tryLockSync(true)) {
      throw new Error(
        `Cannot open ${path}: another relay holds it; one replica only while OAuth is on`,
      );
    }
    const db = openDatabase(real, issuer, log);
    return {
      db,
      [Symbol.dispose]() {
        db[Symbol.dispose]();
        lock.close();
      },
    };
  } catch (fault) {
    lock.close();
    throw fault;
  }
}

/** Refuses a file of another user; what others could open is closed, and one line says so. */
function close(path: string, log: Log): void {
  const exposed = makePrivate(path);
  if (exposed) {
    log.warn("Other users could open a private file; it is closed to them", { ...exposed });
  }
}

const Issuer = z.object({ issuer: z.string() });

/** The database, which belongs to the first issuer that it is opened for. */
export function openDatabase(path: string, issuer: string, log: Log): Database {
  const db = new Database(path, relayMigrations, log);
  try {
    const bound = db.get(Issuer, `select issuer from oauth_issuer`)?.issuer;
    if (bound !== undefined && bound !== issuer) {
      throw new Error(
        `Cannot open ${path}: it belongs to the issuer ${bound}, and RELAY_OAUTH_ISSUER is ` +
          `${issuer}; name a new file in RELAY_OAUTH_DB, and let every app connect again`,
      );
    }
    if (bound === undefined) {
      db.transactNow((tx) =>
        tx.run(`insert into oauth_issuer (one, issuer) values (1, :issuer)`, { issuer })
      );
    }
    return db;
  } catch (fault) {
    db[Symbol.dispose]();
    throw fault;
  }
}
