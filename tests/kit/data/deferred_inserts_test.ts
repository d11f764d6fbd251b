/** Deferred inserts: they look as if each had run at once, and roll back with their transaction. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import { bulkInsert } from "kit/data/deferred_inserts.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const TABLES = [
  "create table words (id integer primary key, word text not null unique) strict",
  "create table others (word text not null) strict",
];
const WORDS = bulkInsert("words", ["id", "word"]);
const OTHERS = bulkInsert("others", ["word"]);

function open() {
  const clock = new FakeClock();
  const db = new Database(":memory:", TABLES, jsonLog(clock, "error", () => {}), clock);
  const published: string[] = [];
  let id = 0;
  return {
    db,
    published,
    /** A transaction that inserts a word later, and publishes it once it is durable. */
    insertLater: (word: string, after = () => {}) =>
      db.transact((tx) => {
        tx.insertLater(WORDS, [++id, word]);
        db.afterCommit(() => void published.push(word));
        after();
      }),
    words: () => db.values(z.string(), "select word from words order by id"),
    count: (table: string) => db.value(z.number(), `select count(*) from ${table}`),
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

function refuse(): never {
  throw new Problem("no_target", {});
}

function isRefused(work: () => void): boolean {
  try {
    work();
    return false;
  } catch (error) {
    assert.ok(isProblem(error, "no_target") || isProblem(error, "storage_failed"), String(error));
    return true;
  }
}

Deno.test("a deferred insert is seen by the next read, within its transaction and after it", () => {
  using t = open();
  t.insertLater("one", () => assert.deepEqual(t.words(), ["one"]));
  t.insertLater("two");
  assert.deepEqual(t.words(), ["one", "two"]);
});

Deno.test("many deferred inserts of two tables are all stored, each in its order", () => {
  using t = open();
  const words = Array.from({ length: 1234 }, (_, n) => `word ${n}`);
  for (const word of words) {
    t.insertLater(word);
    t.db.transact((tx) => tx.insertLater(OTHERS, [word]));
  }
  t.db.flush();
  assert.deepEqual(t.words(), words);
  assert.deepEqual(t.db.values(z.string(), "select word from others order by rowid"), words);
  assert.deepEqual(t.published, words);
});

Deno.test("a refused transaction loses its deferred inserts, and only these", () => {
  using t = open();
  t.insertLater("kept");
  assert.ok(isRefused(() => t.insertLater("refused", refuse)));
  const refusedAfterRead = () =>
    t.insertLater("read", () => {
      assert.deepEqual(t.words(), ["kept", "read"]);
      refuse();
    });
  assert.ok(isRefused(refusedAfterRead));
  t.insertLater("last");
  t.db.flush();
  assert.deepEqual(t.words(), ["kept", "last"]);
  assert.deepEqual(t.published, ["kept", "last"]);
});

Deno.test("a deferred insert that fails at the commit fails every transaction of the group", () => {
  using t = open();
  t.insertLater("same");
  t.insertLater("same");
  assert.throws(() => t.db.flush(), { code: "storage_failed" });
  t.insertLater("later");
  t.db.flush();
  assert.deepEqual([t.words(), t.published], [["later"], ["later"]]);
});

Deno.test("a deferred insert that fails at a read or a write fails every transaction of the group", () => {
  using t = open();
  t.insertLater("same");
  t.insertLater("same");
  assert.throws(() => t.words(), { code: "storage_failed" });
  t.insertLater("same");
  t.insertLater("same");
  const write = () => t.db.transact((tx) => tx.run("insert into others values ('direct')"));
  assert.throws(write, { code: "storage_failed" });
  t.db.flush();
  assert.deepEqual([t.words(), t.count("others"), t.published], [[], 0, []]);
});

Deno.test("a transaction that continues after its group has failed writes nothing", () => {
  using t = open();
  t.insertLater("same");
  t.insertLater("same");
  const goOn = () =>
    t.db.transact((tx) => {
      assert.throws(() => t.words());
      tx.insertLater(WORDS, [77, "deferred"]);
      assert.throws(() => t.words(), { code: "storage_failed" });
      const write = () => tx.run("insert into others values ('direct')");
      assert.throws(write, { code: "storage_failed" });
    });
  goOn();
  assert.throws(() => t.db.flush(), { code: "storage_failed" });
  assert.deepEqual([t.words(), t.count("others"), t.published], [[], 0, []]);
});

Deno.test("insertLater throws outside of a transaction", () => {
  using t = open();
  let kept: Parameters<Parameters<Database["transact"]>[0]>[0] | undefined;
  t.db.transact((tx) => void (kept = tx));
  assert.throws(() => kept?.insertLater(WORDS, [1, "late"]), /outside of a transaction/);
});

Deno.test("the revision of a table rises with a write, a deferred insert and a rollback", () => {
  using t = open();
  const revisions = [t.db.revisionOf("words")];
  const note = () => void revisions.push(t.db.revisionOf("words"));
  t.insertLater("later");
  note();
  t.db.transact((tx) => tx.run("update words set word = 'changed'"));
  note();
  t.db.transact((tx) => tx.returning(z.string(), "delete from words returning word"));
  note();
  const refused = () =>
    t.db.transact((tx) => {
      tx.run("update words set word = 'never'");
      note();
      refuse();
    });
  assert.ok(isRefused(refused));
  note();
  assert.deepEqual(revisions, [...new Set(revisions)].sort((a, b) => a - b));
  const before = t.db.revisionOf("words");
  assert.ok(isRefused(() => t.db.transact(refuse)));
  t.db.transact((tx) => tx.run("insert into others values ('other')"));
  assert.equal(t.db.revisionOf("words"), before);
});

const Step = fc.constantFrom("later", "direct", "read", "nested", "nested refused", "refuse");

Deno.test("in any order of steps, deferred and direct inserts of a transaction are kept or lost together", () => {
  fc.assert(
    fc.property(fc.array(fc.array(Step, { maxLength: 6 }), { maxLength: 12 }), (transactions) => {
      using t = open();
      const expected: string[] = [];
      for (const [n, steps] of transactions.entries()) {
        const kept: string[] = [];
        const run = () =>
          t.db.transact((tx) => {
            for (const [at, step] of steps.entries()) {
              const id = n * 10 + at;
              const word = `${id}`;
              const later = () => tx.insertLater(WORDS, [id, word]);
              if (step === "read") assert.deepEqual(t.words(), [...expected, ...kept]);
              if (step === "refuse") refuse();
              if (step === "nested refused") {
                const nested = () => t.db.transactNested(() => (later(), refuse()));
                assert.ok(isRefused(nested));
              }
              if (step === "later") later();
              if (step === "nested") t.db.transactNested(later);
              if (step === "direct") {
                tx.run("insert into words values (:id, :word)", { id, word });
              }
              if (["later", "nested", "direct"].includes(step)) kept.push(word);
            }
          });
        if (!isRefused(run)) expected.push(...kept);
        if (n % 3 === 0) t.db.flush();
      }
      t.db.flush();
      assert.deepEqual(t.words(), expected);
    }),
    { numRuns: 300 },
  );
});
