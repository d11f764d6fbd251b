import assert from "node:assert/strict";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";
import { SqliteFaults } from "../../support/storage/sqlite_faults.ts";

Deno.test("a checkpoint that fails after a commit is logged, and the commit has its effects", () => {
  using faults = new SqliteFaults();
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = jsonLog(clock, "error", (line) => logged.push(JSON.parse(line).what));
  using db = new Database(":memory:", ["create table words (word text)"], log, clock);
  const effects: string[] = [];
  db.transact((tx) => {
    tx.run("insert into words values ('first')");
    db.afterCommit(() => void effects.push("first"));
  });
  db.checkpoint(); // It is due right after the commit.
  faults.afterCommit = () =>
    faults.arm({ fault: "full", at: "any", after: 0, endsTransaction: false });
  db.flush();
  assert.ok(faults.hit);
  assert.deepEqual([effects, logged], [["first"], ["A checkpoint failed"]]);
  assert.deepEqual(db.values(z.string(), "select word from words"), ["first"]);
});
