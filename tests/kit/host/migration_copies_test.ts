/** The copy of a database that is made before a new version changes it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { copyBeforeMigration, copyFor, migrationCopies } from "kit/host/migration_copies.ts";
import { FakeClock } from "../../support/clock.ts";

const MIGRATIONS = [1, 2, 3, 4].map((number) => `create table t${number} (a integer) strict`);
const clock = new FakeClock();
const log = jsonLog(clock, "error", () => {});
const guard = {
  copy: copyBeforeMigration,
  adviceFor: (path: string, supported: number) => copyFor(path, supported)?.path ?? "",
};

function open(path: string, versions: number): Database {
  return new Database(path, MIGRATIONS.slice(0, versions), log, clock, guard);
}

const versionOf = (db: Database) => db.value(z.number(), "pragma user_version");

async function inDirectory(work: (path: string) => void | Promise<void>): Promise<void> {
  const directory = Deno.makeTempDirSync();
  try {
    await work(join(directory, "mesh.db"));
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
}

Deno.test("a database is copied before it is changed, and the copy opens with the older version", async () => {
  await inDirectory((path) => {
    {
      using db = open(path, 2);
      db.transactNow((tx) => tx.run("insert into t1 values (7)"));
    }
    assert.deepEqual(migrationCopies(path), [], "a new database is not copied");
    open(path, 3)[Symbol.dispose]();
    const [copy] = migrationCopies(path);
    assert.deepEqual(migrationCopies(path).map(({ version }) => version), [2]);
    assert.equal((Deno.statSync(copy?.path ?? "").mode ?? 0) & 0o777, 0o600);
    using older = open(copy?.path ?? "", 2);
    assert.equal(older.value(z.number(), "select a from t1"), 7);
    assert.throws(() => open(path, 2), new RegExp(`use a newer program${copy?.path}`));
  });
});

Deno.test("a start without a change copies nothing, and only two copies are kept", async () => {
  await inDirectory((path) => {
    for (const version of [1, 1, 2, 2, 3, 4]) open(path, version)[Symbol.dispose]();
    assert.deepEqual(migrationCopies(path).map(({ version }) => version), [3, 2]);
  });
});

Deno.test("the copy contains the write-ahead log while another program reads", async () => {
  await inDirectory((path) => {
    using db = open(path, 1);
    using reader = open(path, 1);
    reader.transactNow(() => {
      reader.value(z.number(), "select count(*) from t1");
    });
    db.transactNow((tx) => tx.run("insert into t1 values (9)"));
    open(path, 2)[Symbol.dispose]();
    using copy = open(copyFor(path, 1)?.path ?? "", 1);
    assert.equal(copy.value(z.number(), "select a from t1"), 9);
  });
});

Deno.test("a database that cannot be copied is not changed, and the refusal names the next step", async () => {
  await inDirectory((path) => {
    open(path, 1)[Symbol.dispose]();
    Deno.mkdirSync(`${path}.schema-1.part/full`, { recursive: true });
    assert.throws(
      () => open(path, 2),
      /Cannot copy the database to ".*schema-1" before it is changed for this version: .*; make room/,
    );
    using db = open(path, 1);
    assert.equal(versionOf(db), 1);
  });
});
