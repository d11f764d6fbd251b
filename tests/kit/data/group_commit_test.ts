/** Group commit: which transactions share a commit, and how long a commit waits. */

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
    writeLazily: (word: string) => db.transactLazily(write(word)),
    commits: () => db.commits - before,
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

Deno.test("a lazy transaction is committed and published with the next transaction", async () => {
  using t = open();
  t.writeLazily("mark");
  for (let count = 0; count < 20; count++) await turn();
  assert.deepEqual([t.commits(), t.published], [0, []]);
  t.insertWord("ask");
  t.writeLazily("receipt");
  await t.db.whenDurable();
  assert.deepEqual([t.commits(), t.published], [1, ["mark", "ask", "receipt"]]);
});

Deno.test("lazy transactions wait 10 ms at most, and share one commit", async () => {
  using t = open();
  t.writeLazily("mark");
  t.writeLazily("receipt");
  await t.clock.advance(9);
  assert.deepEqual(t.published, []);
  await t.clock.advance(1);
  await t.clock.settle();
  assert.deepEqual([t.commits(), t.published], [1, ["mark", "receipt"]]);
  t.writeLazily("later");
  await t.clock.advance(10);
  await t.clock.settle();
  assert.deepEqual([t.commits(), t.published], [2, ["mark", "receipt", "later"]]);
});

Deno.test("a lazy transaction after another commit gets a delay of its own", async () => {
  using t = open();
  t.writeLazily("mark");
  await t.clock.advance(4);
  t.insertWord("ask");
  await t.clock.settle();
  t.writeLazily("receipt");
  await t.clock.advance(10);
  assert.deepEqual([t.commits(), t.published], [1, ["mark", "ask"]]);
  await t.clock.advance(10);
  await t.clock.settle();
  assert.deepEqual([t.commits(), t.published], [2, ["mark", "ask", "receipt"]]);
});

Deno.test("whenDurable commits a lazy transaction without the delay", async () => {
  using t = open();
  t.writeLazily("mark");
  await t.db.whenDurable();
  assert.deepEqual([t.commits(), t.published], [1, ["mark"]]);
});

Deno.test("a lazy transaction inside of another one joins it", () => {
  using t = open();
  assert.throws(() =>
    t.db.transact(() => {
      t.writeLazily("mark");
      throw new Error("no");
    }), /no/);
  t.db.flush();
  assert.deepEqual(t.published, []);
});

Deno.test("a single transaction is committed at the end of its turn", async () => {
  using t = open();
  t.insertWord("ask");
  await turn();
  assert.deepEqual(t.published, ["ask"]);
});

Deno.test("transactions of consecutive turns share a commit, which waits for 8 turns at most", async () => {
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

Deno.test("writes of an effect that runs as the database closes are committed and published, too", async () => {
  using t = open();
  t.insertWord("ask");
  t.db.transact(() => t.db.afterCommit(() => t.insertWord("answer")));
  t.db[Symbol.dispose]();
  await turn();
  assert.deepEqual([t.commits(), t.published], [2, ["ask", "answer"]]);
});

Deno.test("a group lets an answer leave in two turns, and takes no transaction after it", async () => {
  using t = open();
  t.insertWord("report");
  t.db.letAnswerLeave();
  await turn();
  await turn();
  assert.equal(t.commits(), 0);
  await turn();
  assert.deepEqual([t.commits(), t.published], [1, ["report"]]);
  t.insertWord("next report");
  t.db.letAnswerLeave();
  t.insertWord("what follows the answer");
  assert.deepEqual([t.commits(), t.published], [2, ["report", "next report"]]);
  await t.db.whenDurable();
  assert.equal(t.commits(), 3);
});
