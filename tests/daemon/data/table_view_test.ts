/** A view of a table is read again after a change of the table, and not before. */

import assert from "node:assert/strict";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database, rememberLast, tableOf } from "kit/data/sqlite.ts";
import { TableAnswers, TableView } from "../../../daemon/data/table_view.ts";
import { FakeClock } from "../../support/clock.ts";
import { type ArmedFault, SqliteFaults } from "../../support/storage/sqlite_faults.ts";

const MIGRATIONS = ["create table peers (name text) strict; create table jobs (name text) strict"];
const Name = z.string();

Deno.test("a view is read again after a write to its table or a rollback, and only then", () => {
  const clock = new FakeClock();
  using db = new Database(":memory:", MIGRATIONS, jsonLog(clock, "error", () => {}), clock);
  let reads = 0;
  const view = new TableView(db, "peers", (reader) => {
    reads++;
    return reader.values(Name, "select name from peers");
  });
  assert.deepEqual([view.get(), view.get(), reads], [[], [], 1]);
  db.transact((tx) => tx.run("insert into jobs values ('sort')"));
  assert.deepEqual([view.get(), reads], [[], 1]);
  db.transact((tx) => {
    tx.run("insert into peers values ('api')");
    assert.deepEqual(view.get(), ["api"]);
  });
  assert.deepEqual([view.get(), reads], [["api"], 2]);
  assert.throws(() =>
    db.transact((tx) => {
      tx.run("insert into peers values ('web')");
      assert.deepEqual(view.get(), ["api", "web"]);
      throw new Error("undone");
    }), /undone/);
  assert.deepEqual(view.get(), ["api"]);
});

Deno.test("a watch counts changes of its values, new and deleted rows, and rollbacks, and nothing else", () => {
  const clock = new FakeClock();
  const migrations = [
    "create table peers (id integer primary key, name text, seen integer) strict",
  ];
  using db = new Database(":memory:", migrations, jsonLog(clock, "error", () => {}), clock);
  const changes = db.watch("peers", (row) => [`${row}.name`, `${row}.seen is null`]);
  let before = changes();
  const isChangedBy = (sql: string) => {
    db.transact((tx) => tx.run(sql));
    const now = changes();
    const isChanged = now !== before;
    before = now;
    return isChanged;
  };
  assert.equal(isChangedBy("insert into peers (id, name, seen) values (1, 'api', 1)"), true);
  assert.equal(isChangedBy("update peers set seen = 2"), false);
  assert.equal(isChangedBy("update peers set name = 'api', seen = 3"), false);
  assert.equal(isChangedBy("update peers set seen = null"), true);
  assert.equal(isChangedBy("update peers set name = 'web'"), true);
  assert.equal(isChangedBy("update peers set name = 'none' where id = 2"), false);
  assert.equal(isChangedBy("delete from peers"), true);
  assert.throws(() =>
    db.transact((tx) => {
      tx.run("insert into peers (name) values ('api')");
      before = changes();
      throw new Error("undone");
    }), /undone/);
  assert.notEqual(changes(), before);
});

/** Failures of a group in which a row was written and read. */
const FAILURES: Readonly<Record<string, Pick<ArmedFault, "at" | "endsTransaction">>> = {
  "a failed commit": { at: "commit", endsTransaction: false },
  "a failed statement": { at: "any", endsTransaction: false },
  "a failed statement with which SQLite ends the transaction": { at: "any", endsTransaction: true },
};

for (const [failure, kind] of Object.entries(FAILURES)) {
  Deno.test(`after ${failure}, answers and records in memory are those of the database`, () => {
    const clock = new FakeClock();
    const schema = "create table words (id text primary key, word text not null) strict";
    using db = new Database(":memory:", [schema], jsonLog(clock, "error", () => {}), clock);
    using faults = new SqliteFaults();
    const table = tableOf("words", z.object({ id: z.string(), word: z.string() }), "id");
    const last = rememberLast("words", ({ id }) => id, table);
    const wordOf = new TableAnswers(() => db.revisionOf("words"))
      .to((id) => db.value(z.string(), "select word from words where id = :id", { id }));
    const seen = () => [wordOf("a"), last.get(db, "a")?.word, wordOf("b"), last.get(db, "b")?.word];
    db.transactNow((tx) => table.insert(tx, { id: "a", word: "first" }));
    db.transact((tx) => {
      last.update(tx, { id: "a", word: "second" });
      table.insert(tx, { id: "b", word: "new" });
    });
    assert.deepEqual(seen(), ["second", "second", "new", "new"]);
    faults.arm({ fault: "full", after: 0, ...kind });
    const another = () => db.transact((tx) => last.update(tx, { id: "a", word: "third" }));
    assert.throws(() => {
      another();
      db.flush();
    }, { code: "storage_failed" });
    assert.deepEqual(seen(), ["first", "first", undefined, undefined]);
  });
}
