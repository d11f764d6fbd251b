/** What memory counts while a verb runs is taken back when the verb, or its turn, is lost. */

import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const TABLES = [
  "create table t (a integer primary key, b integer references t (a) deferrable initially deferred)",
];

function open() {
  const db = new Database(":memory:", TABLES, jsonLog(new FakeClock(), "error", () => {}));
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

Deno.test("a verb that rolls back is undone alone, latest first, and at once", () => {
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

Deno.test("a commit that fails undoes every verb of the turn", async () => {
  using t = open();
  t.count("first");
  t.count("second", () => void t.db.transact((tx) => tx.run("insert into t values (1, 404)")));
  await assert.rejects(t.db.whenDurable() ?? Promise.resolve(), { code: "storage_failed" });
  assert.deepEqual(t.undone, ["second", "first"]);
});

Deno.test("a disk that is full in one verb undoes those before it as well, each once", () => {
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

Deno.test("outside of a verb there is nothing to roll back", () => {
  using t = open();
  assert.throws(() => t.db.afterRollback(() => {}), /outside of a verb/);
});
