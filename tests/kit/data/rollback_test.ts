/** Rollback callbacks: they run when their transaction, or its group, rolls back. */

import assert from "node:assert/strict";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";
import { SqliteFaults } from "../../support/storage/sqlite_faults.ts";

const TABLES = [
  "create table t (a integer primary key, b integer references t (a) deferrable initially deferred)",
];

function open() {
  const clock = new FakeClock();
  const db = new Database(":memory:", TABLES, jsonLog(clock, "error", () => {}), clock);
  const undone: string[] = [];
  const count = (word: string, work = () => {}) =>
    db.transact(() => {
      db.afterRollback(() => void undone.push(word));
      work();
    });
  return { db, undone, count, [Symbol.dispose]: () => db[Symbol.dispose]() };
}

const fail = () => {
  throw new Error("no");
};

Deno.test("a rollback runs the callbacks of its transaction at once, latest first", () => {
  using t = open();
  t.count("stands");
  assert.throws(() =>
    t.db.transact(() => {
      t.count("first");
      t.count("second");
      fail();
    })
  );
  assert.deepEqual(t.undone, ["second", "first"]);
  t.db.flush();
  t.count("later");
  t.db.flush();
  assert.deepEqual(t.undone, ["second", "first"]);
});

Deno.test("a nested transaction that fails is rolled back alone, with its effects", () => {
  using t = open();
  const effects: string[] = [];
  t.db.transact((tx) => {
    tx.run("insert into t (a) values (1)");
    assert.throws(() =>
      t.db.transactNested((nested) => {
        nested.run("insert into t (a) values (2)");
        t.db.afterCommit(() => void effects.push("nested"));
        t.db.afterRollback(() => void t.undone.push("nested"));
        fail();
      })
    );
    t.db.afterCommit(() => void effects.push("outer"));
  });
  t.db.flush();
  assert.deepEqual(t.db.values(z.number(), "select a from t"), [1]);
  assert.deepEqual([effects, t.undone], [["outer"], ["nested"]]);
});

Deno.test("a failed commit runs the callbacks of every transaction of the turn", async () => {
  using t = open();
  t.count("first");
  t.count("second", () => void t.db.transact((tx) => tx.run("insert into t values (1, 404)")));
  await assert.rejects(t.db.whenDurable() ?? Promise.resolve(), { code: "storage_failed" });
  assert.deepEqual(t.undone, ["second", "first"]);
});

Deno.test("disk full in one transaction also runs the callbacks of those before it, each once", () => {
  using t = open();
  t.db.transact((tx) => tx.run("pragma max_page_count = 4"));
  t.count("first");
  const text = "x".repeat(100_000);
  assert.throws(() =>
    t.count("second", () => {
      t.db.transact((tx) => tx.run("create table wide (a text)"));
      t.db.transact((tx) => tx.run("insert into wide values (:text)", { text }));
    }), { code: "storage_failed" });
  assert.deepEqual(t.undone, ["second", "first"]);
});

Deno.test("afterRollback throws outside of a transaction", () => {
  using t = open();
  assert.throws(() => t.db.afterRollback(() => {}), /outside of a transaction/);
});

for (const endsTransaction of [true, false]) {
  const what = endsTransaction ? "which SQLite ends" : "which SQLite leaves open";
  Deno.test(`a disk error in a read after a transaction fails the group, ${what}: its caller gets an error`, async () => {
    using faults = new SqliteFaults();
    using t = open();
    t.count("first", () => void t.db.transact((tx) => tx.run("insert into t (a) values (1)")));
    const revision = t.db.revisionOf("t");
    const durable = t.db.whenDurable() ?? Promise.resolve();
    faults.arm({ fault: "io_error", at: "any", after: 0, endsTransaction });
    assert.throws(() => t.db.values(z.number(), "select a from t"), { code: "storage_failed" });
    await assert.rejects(durable, { code: "storage_failed" });
    assert.deepEqual([t.undone, t.db.values(z.number(), "select a from t")], [["first"], []]);
    assert.notEqual(t.db.revisionOf("t"), revision);
  });
}

Deno.test("any other error in a read after a transaction leaves the group as it is", () => {
  using t = open();
  t.db.transact((tx) => tx.run("insert into t (a) values (1)"));
  assert.throws(() => t.db.values(z.string(), "select a from t"), { name: "ZodError" });
  assert.throws(() => t.db.values(z.number(), "select missing from t"), /no such column/);
  t.db.flush();
  assert.deepEqual(t.db.values(z.number(), "select a from t"), [1]);
});
