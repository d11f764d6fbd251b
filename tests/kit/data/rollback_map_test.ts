/** The map in memory that follows the database. */

import assert from "node:assert/strict";
import { RollbackMap } from "kit/data/rollback_map.ts";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";
import { SqliteFaults } from "../../support/storage/sqlite_faults.ts";

function open() {
  const clock = new FakeClock();
  const tables = ["create table t (a integer primary key) strict"];
  const db = new Database(":memory:", tables, jsonLog(clock, "error", () => {}), clock);
  const map = new RollbackMap<string, number>(db);
  map.set("old", 1).set("other", 2);
  return { db, map, [Symbol.dispose]: () => db[Symbol.dispose]() };
}

Deno.test("a transaction that throws changes nothing in the map", () => {
  using t = open();
  const { db, map } = t;
  assert.throws(() =>
    db.transact(() => {
      map.set("old", 10).set("old", 11).set("new", 3);
      map.delete("other");
      throw new Error("no");
    })
  );
  assert.deepEqual([...map].sort(), [["old", 1], ["other", 2]]);
});

Deno.test("a failed commit takes back the changes of all its transactions, and a commit keeps them", () => {
  using t = open();
  using faults = new SqliteFaults();
  const { db, map } = t;
  const change = (value: number) =>
    db.transact((tx) => {
      tx.run("insert into t values (null)");
      map.set("old", value);
    });
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
  change(10);
  change(11);
  assert.throws(() => db.flush(), { code: "storage_failed" });
  assert.equal(map.get("old"), 1);
  change(12);
  db.flush();
  assert.equal(map.get("old"), 12);
});
