/** Who shares a commit with whom: what nobody waits for, and what comes turn after turn. */

import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const TABLES = ["create table words (word text not null) strict"];
const turn = () => new Promise((resolve) => setImmediate(resolve));

function open() {
  const clock = new FakeClock();
  const db = new Database(":memory:", TABLES, jsonLog(clock, "error", () => {}), clock);
  const before = db.commits;
  const published: string[] = [];
  const write = (word: string) => () => {
    db.transact((tx) => tx.run("insert into words (word) values (:word)", { word }));
    db.afterCommit(() => void published.push(word));
  };
  return {
    db,
    clock,
    published,
    insertWord: (word: string) => db.transact(write(word)),
    note: (word: string) => db.transactLazily(write(word)),
    commits: () => db.commits - before,
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

Deno.test("what is done at leisure is on the disk with the next verb, and no sooner told", async () => {
  using t = open();
  t.note("mark");
  for (let count = 0; count < 20; count++) await turn();
  assert.deepEqual([t.commits(), t.published], [0, []]);
  t.insertWord("ask");
  t.note("receipt");
  await t.db.whenDurable();
  assert.deepEqual([t.commits(), t.published], [1, ["mark", "ask", "receipt"]]);
});

Deno.test("what is done at leisure waits no longer than 10 ms, and once for all of it", async () => {
  using t = open();
  t.note("mark");
  t.note("receipt");
  await t.clock.advance(9);
  assert.deepEqual(t.published, []);
  await t.clock.advance(1);
  await t.clock.settle();
  assert.deepEqual([t.commits(), t.published], [1, ["mark", "receipt"]]);
  t.note("later");
  await t.clock.advance(10);
  await t.clock.settle();
  assert.deepEqual([t.commits(), t.published], [2, ["mark", "receipt", "later"]]);
});

Deno.test("a reader does not wait for company", async () => {
  using t = open();
  t.note("mark");
  await t.db.whenDurable();
  assert.deepEqual([t.commits(), t.published], [1, ["mark"]]);
});

Deno.test("what is done at leisure within a verb is a part of it", () => {
  using t = open();
  assert.throws(() =>
    t.db.transact(() => {
      t.note("mark");
      throw new Error("no");
    }), /no/);
  t.db.flush();
  assert.deepEqual(t.published, []);
});

Deno.test("a lone verb is committed at the end of its turn", async () => {
  using t = open();
  t.insertWord("ask");
  await turn();
  assert.deepEqual(t.published, ["ask"]);
});

Deno.test("verbs that come turn after turn share a commit, which waits for 8 turns at most", async () => {
  using t = open();
  const waits: number[] = [];
  for (let count = 1; t.commits() < 2; count++) {
    t.insertWord(`one of turn ${count}`);
    t.insertWord(`another of turn ${count}`);
    await turn();
    if (t.published.length > (waits.at(-1) ?? 0)) waits.push(t.published.length);
  }
  assert.deepEqual(waits, [16, 32]);
});
