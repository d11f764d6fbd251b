/** A view of a table is read again after a change of the table, and not before. */

import assert from "node:assert/strict";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { TableView } from "../../../daemon/data/table_view.ts";
import { FakeClock } from "../../support/clock.ts";

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
