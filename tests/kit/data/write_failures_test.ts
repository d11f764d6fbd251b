/** Failed commits: they are reported, and what has happened already is stored in the end. */

import assert from "node:assert/strict";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import { Database, type Tx } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const TABLES = [
  "create table parents (id integer primary key) strict",
  `create table words (
    word text not null,
    parent integer references parents (id) deferrable initially deferred
  ) strict`,
];

function open() {
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = jsonLog(clock, "debug", (line) => logged.push(JSON.parse(line).what));
  const db = new Database(":memory:", TABLES, log, clock);
  return {
    clock,
    db,
    logged,
    words: () => db.values(z.string(), "select word from words"),
    add: (word: string) => (tx: Tx) =>
      void tx.run("insert into words (word) values (:word)", { word }),
    /** Lets the commit of the open group fail: a row lacks its parent. */
    failCommit() {
      db.transact((tx) => void tx.run("insert into words values ('orphan', 404)"));
      assert.throws(() => db.flush(), { code: "storage_failed" });
    },
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

Deno.test("a write whose commit fails is repeated at each tick until it is stored, and is stored once", () => {
  using t = open();
  t.db.failures.repeatUntilStored(t.add("sent"));
  t.failCommit();
  assert.deepEqual(t.words(), []);
  t.db.failures.tick();
  t.failCommit();
  for (let tick = 0; tick < 3; tick++) {
    t.db.failures.tick();
    t.db.flush();
  }
  assert.deepEqual(t.words(), ["sent"]);
});

Deno.test("a record that is refused for another reason is not repeated", () => {
  using t = open();
  const refused = () => {
    throw new Problem("shutting_down", {});
  };
  assert.throws(() => t.db.failures.repeatUntilStored(refused), { code: "shutting_down" });
  t.db.failures.tick();
});

Deno.test("failing commits are reported until one succeeds, and logged once", () => {
  using t = open();
  assert.equal(t.db.failures.report().status, "ok");
  const since = t.clock.now();
  for (let failed = 0; failed < 3; failed++) t.failCommit();
  const { status, since: reported_since, reason } = t.db.failures.report();
  assert.deepEqual([status, reported_since], ["failing", since]);
  assert.match(reason ?? "", /constraint/);
  t.db.transact(() => undefined);
  t.db.flush();
  assert.equal(t.db.failures.report().status, "failing", "a commit of nothing proves nothing");
  t.db.failures.tick(); // Writes although nobody else does.
  t.db.flush();
  assert.equal(t.db.failures.report().status, "ok");
  assert.deepEqual(t.logged, ["A commit failed", "The database can be written again"]);
});

Deno.test("a slow commit is reported for a minute", async () => {
  using t = open();
  t.db.failures.committed(612.4);
  const { status, reason } = t.db.failures.report();
  assert.deepEqual([status, reason], ["slow", "a commit took 612 ms"]);
  await t.clock.advance(60_001);
  assert.equal(t.db.failures.report().status, "ok");
});
