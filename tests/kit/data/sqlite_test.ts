/** Transactions: an effect runs only for what is on the disk, and a failure rolls back alone. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const TABLES = [
  "create table parents (id integer primary key) strict",
  `create table words (
    word text not null,
    parent integer references parents (id) deferrable initially deferred
  ) strict`,
];
const Word = z.object({ word: z.string() });
const CLOCK = new FakeClock();
const SILENT = jsonLog(CLOCK, "error", () => {});
const STORAGE_FAILED = { code: "storage_failed" };

function open(path = ":memory:") {
  const logged: string[] = [];
  const log = jsonLog(CLOCK, "debug", (line) => logged.push(JSON.parse(line).what));
  const db = new Database(path, TABLES, log, CLOCK);
  const add = (word: string) =>
    db.transact((tx) => tx.run("insert into words (word) values (:word)", { word }));
  const words = () => db.all(Word, "select word from words").map(({ word }) => word);
  const published: string[] = [];
  /** A transaction that writes a word, and publishes it once it is durable. */
  const insertWord = (word: string, after = () => {}) =>
    db.transact(() => {
      add(word);
      db.afterCommit(() => void published.push(word));
      after();
    });
  /** A row whose parent does not exist: SQLite finds out at the commit. */
  const orphan = () => db.transact((tx) => void tx.run("insert into words values ('orphan', 404)"));
  return {
    db,
    add,
    words,
    published,
    insertWord,
    orphan,
    logged,
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

/** More turns of the loop than a group stays open. */
const TURNS = 10;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Resolves when the open group is committed or rolled back. */
async function waitForCommit(db: Database): Promise<void> {
  await db.whenDurable()?.catch((error) => assert.ok(isProblem(error, "storage_failed")));
}

function temporary() {
  const folder = Deno.makeTempDirSync();
  return {
    path: `${folder}/mesh.db`,
    [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }),
  };
}

Deno.test("disk full in the second of three transactions fails the first too, and not the third", async () => {
  using t = open();
  t.insertWord("before");
  t.db.flush();
  t.db.transact((tx) => tx.run("pragma max_page_count = 8"));
  t.insertWord("first");
  const first = t.db.whenDurable();
  assert.throws(() => t.insertWord("second".repeat(20_000)), STORAGE_FAILED);
  t.insertWord("third");
  await assert.rejects(first ?? Promise.resolve(), STORAGE_FAILED);
  await t.db.whenDurable();
  assert.deepEqual(t.words(), ["before", "third"]);
  assert.deepEqual(t.published, ["before", "third"]);
  assert.deepEqual(t.logged, ["A group of transactions was rolled back"]);
});

Deno.test("a failed commit rejects every transaction of the turn and runs no effect", async () => {
  using t = open();
  t.insertWord("first");
  const first = t.db.whenDurable();
  t.orphan();
  const second = t.db.whenDurable();
  for (const settledResult of await Promise.allSettled([first, second])) {
    assert.ok(
      settledResult.status === "rejected" && isProblem(settledResult.reason, "storage_failed"),
    );
  }
  assert.deepEqual([t.words(), t.published, t.db.commits], [[], [], TABLES.length]);
  assert.deepEqual(t.logged, ["A commit failed"]);
  t.insertWord("later");
  await t.db.whenDurable();
  assert.deepEqual([t.words(), t.published], [["later"], ["later"]]);
});

Deno.test("flush and transactNow throw a failed commit with its cause", () => {
  using t = open();
  t.orphan();
  assert.throws(() => t.db.flush(), (error) => {
    assert.ok(isProblem(error, "storage_failed"));
    assert.match(String(error.cause), /FOREIGN KEY/);
    return true;
  });
  const orphan = () =>
    void t.db.transact((tx) => tx.run("insert into words values ('orphan', 404)"));
  assert.throws(() => t.db.transactNow(orphan), STORAGE_FAILED);
  assert.deepEqual([t.words(), t.db.whenDurable()], [[], undefined]);
});

Deno.test("a transaction that throws rolls back alone, without its effects", async () => {
  using t = open();
  t.insertWord("first");
  const no = new Problem("no_target", {});
  assert.throws(() =>
    t.insertWord("second", () => {
      throw no;
    }), no);
  t.insertWord("third");
  await t.db.whenDurable();
  assert.deepEqual([t.words(), t.published], [["first", "third"], ["first", "third"]]);
});

Deno.test("a constraint violation rolls back its transaction and is not storage_failed", async () => {
  using t = open();
  t.db.transact((tx) => void tx.run("insert into parents values (1)"));
  assert.throws(() => {
    t.insertWord(
      "twice",
      () => void t.db.transact((tx) => tx.run("insert into parents values (1)")),
    );
  }, /UNIQUE/);
  await t.db.whenDurable();
  assert.deepEqual([t.words(), t.published, t.logged], [[], [], []]);
});

Deno.test("an effect that throws is logged, and the next effect runs", async () => {
  using t = open();
  t.db.transact(() =>
    t.db.afterCommit(() => {
      throw new Error("deaf");
    })
  );
  t.insertWord("next");
  await t.db.whenDurable();
  assert.deepEqual([t.published, t.logged], [["next"], ["An effect failed"]]);
});

Deno.test("a read in the same turn sees the write, and whenDurable waits for its commit", async () => {
  using t = open();
  assert.equal(t.db.whenDurable(), undefined);
  t.insertWord("new");
  assert.deepEqual([t.words(), t.published], [["new"], []]);
  const waiting = t.db.whenDurable();
  assert.ok(waiting);
  await waiting;
  assert.deepEqual([t.published, t.db.whenDurable()], [["new"], undefined]);
});

Deno.test("effects run in order, after the commit and before the waiters continue", async () => {
  using file = temporary();
  using t = open(file.path);
  using other = new Database(file.path, TABLES, SILENT, CLOCK);
  const order: string[] = [];
  const seen = () => other.all(Word, "select word from words").length;
  t.insertWord("one", () => t.db.afterCommit(() => order.push(`one ${seen()}`)));
  const waited = t.db.whenDurable()?.then(() => order.push("waited"));
  t.insertWord("two", () => t.db.afterCommit(() => order.push(`two ${seen()}`)));
  assert.equal(seen(), 0);
  await waited;
  assert.deepEqual(order, ["one 2", "two 2", "waited"]);
});

Deno.test("an effect that writes opens the next group", async () => {
  using t = open();
  t.db.transact(() => t.db.afterCommit(() => t.insertWord("consequence")));
  await t.db.whenDurable();
  assert.deepEqual([t.words(), t.published], [["consequence"], []]);
  await t.db.whenDurable();
  assert.deepEqual(t.published, ["consequence"]);
});

Deno.test("a nested transaction joins the outer one and rolls back with it", async () => {
  using t = open();
  t.db.transact(() => t.insertWord("outer", () => t.insertWord("inner")));
  assert.throws(() =>
    t.db.transact(() => {
      t.insertWord("lost");
      throw new Error("no");
    }), /no/);
  await t.db.whenDurable();
  assert.deepEqual([t.words(), t.published], [["outer", "inner"], ["outer", "inner"]]);
});

Deno.test("transactNow is durable when it returns, and is refused inside of a transaction", () => {
  using t = open();
  t.insertWord("waiting");
  const before = t.db.commits;
  const answer = t.db.transactNow(() => {
    t.insertWord("now");
    return 7;
  });
  assert.deepEqual([answer, t.published, t.db.commits - before], [7, ["waiting", "now"], 2]);
  assert.throws(() => t.db.transact(() => t.db.transactNow(() => 1)), /inside of a transaction/);
});

Deno.test("many transactions of one turn share one commit; the next turn has its own", async () => {
  using t = open();
  const before = t.db.commits;
  for (let n = 0; n < 100; n++) t.insertWord(`word ${n}`);
  await t.db.whenDurable();
  assert.equal(t.db.commits - before, 1);
  t.insertWord("next turn");
  await t.db.whenDurable();
  assert.deepEqual([t.db.commits - before, t.published.length], [2, 101]);
});

Deno.test("a transaction that returns a promise does not compile", () => {
  using t = open();
  // @ts-expect-error A transaction may not return a promise.
  t.db.transact(async () => await Promise.resolve(1));
  // @ts-expect-error Nor may one that is committed at once.
  t.db.transactNow(() => Promise.resolve(1));
});

Deno.test("a database of a newer program is not opened, and stays unchanged", () => {
  using file = temporary();
  open(file.path)[Symbol.dispose]();
  const older = () => new Database(file.path, TABLES.slice(0, 1), SILENT, CLOCK);
  assert.throws(
    older,
    /its version is 2, and this program supports versions up to 1; use a newer program/,
  );
  using again = open(file.path);
  assert.deepEqual(again.words(), []);
});

Deno.test("a failed migration leaves the previous version, and the next start continues from it", async () => {
  using file = temporary();
  const broken = [TABLES[0] ?? "", "create table half (a text) strict; nonsense"];
  assert.throws(() => new Database(file.path, broken, SILENT, CLOCK), /syntax error/);
  for (let n = 0; n < TURNS; n++) await turn();
  using t = open(file.path);
  assert.deepEqual(t.words(), []);
  assert.equal(t.db.commits, 1, "only the second migration was pending");
});

Deno.test("a Tx cannot write after its transaction has ended", () => {
  using t = open();
  const kept = t.db.transact((tx) => tx);
  assert.throws(() => kept.run("delete from words"), /outside of a transaction/);
});

Deno.test("afterCommit throws outside of a transaction", () => {
  using t = open();
  assert.throws(() => t.db.afterCommit(() => {}), /outside of a transaction/);
});

Deno.test("a checkpoint waits for the open group's commit and runs before its effects", async () => {
  using file = temporary();
  using t = open(file.path);
  const bytes = () => Deno.statSync(file.path).size;
  t.db.checkpoint();
  const before = bytes();
  let at_effect = 0;
  t.insertWord("x".repeat(100_000), () => t.db.afterCommit(() => at_effect = bytes()));
  t.db.checkpoint();
  assert.equal(bytes(), before, "the checkpoint does not run while the group is open");
  await t.db.whenDurable();
  assert.ok(at_effect > before + 90_000, `${before} to ${at_effect}`);
});

Deno.test("disposing commits the open group once", async () => {
  using file = temporary();
  const t = open(file.path);
  t.insertWord("last");
  t.db[Symbol.dispose]();
  t.db[Symbol.dispose]();
  assert.deepEqual(t.published, ["last"]);
  await turn();
  using again = open(file.path);
  assert.deepEqual(again.words(), ["last"]);
});

/** A step of a storm. Every transaction writes its own number. */
const Step = fc.constantFrom("write", "throw", "now", "orphan", "turn", "flush");

Deno.test("in any order of steps, exactly the stored words are published", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { maxLength: 25 }), async (steps) => {
      using t = open();
      const tryWrite = (work: () => void) => {
        try {
          work();
        } catch (error) {
          assert.ok(isProblem(error, "storage_failed") || isProblem(error, "no_target"));
        }
      };
      const refuse = () => {
        throw new Problem("no_target", {});
      };
      for (const [n, step] of steps.entries()) {
        const word = String(n);
        if (step === "write") tryWrite(() => t.insertWord(word));
        if (step === "throw") tryWrite(() => t.insertWord(word, refuse));
        if (step === "now") tryWrite(() => t.db.transactNow(() => t.insertWord(word)));
        if (step === "orphan") tryWrite(t.orphan);
        if (step === "flush") tryWrite(() => t.db.flush());
        if (step === "turn") await turn();
      }
      await waitForCommit(t.db);
      assert.deepEqual(t.published, t.words());
    }),
    { numRuns: 100 },
  );
});
