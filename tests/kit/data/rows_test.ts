/** Rows derived from records: a record survives the round trip, in types that SQLite can store. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { jsonLog } from "kit/core/log.ts";
import { Database, rememberLast, rowOf, tableOf } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const Record = z.object({
  name: z.string(),
  size: z.number(),
  state: z.enum(["open", "closed"]),
  at: Instant,
  seen_at: Instant.nullable(),
  live: z.boolean(),
  proved: z.boolean().nullable(),
  words: z.array(z.string()),
  question: z.object({ options: z.array(z.string()), until: Instant }).nullable(),
  fields: z.record(z.string(), z.json()),
});
const Row = rowOf(Record);
type Record = z.output<typeof Record>;

const LATEST = Date.parse("9999-12-31T23:59:59.999Z");
const instant = fc.integer({ min: 0, max: LATEST });
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });
/** JSON values. zod drops the key `__proto__`. */
const json = fc.json().filter((text) => !text.includes("__proto__")).map((text) =>
  JSON.parse(text)
);
const record: fc.Arbitrary<Record> = fc.record({
  name: fc.string({ unit: "binary" }),
  size: fc.double({ noNaN: true, noDefaultInfinity: true }),
  state: fc.constantFrom("open", "closed"),
  at: instant,
  seen_at: maybe(instant),
  live: fc.boolean(),
  proved: maybe(fc.boolean()),
  words: fc.array(fc.string()),
  question: maybe(
    fc.record({ options: fc.array(fc.string()), until: instant }, { noNullPrototype: true }),
  ),
  fields: fc.dictionary(fc.string().filter((key) => key !== "__proto__"), json, {
    noNullPrototype: true,
  }),
});

Deno.test("a record that is encoded to a row and parsed is unchanged", () => {
  fc.assert(fc.property(record, (before) => {
    const row = z.encode(Row, before);
    for (const value of Object.values(row)) {
      assert.ok(value === null || ["string", "number"].includes(typeof value), String(value));
    }
    assert.deepEqual(Row.parse(row), { ...before });
  }));
});

Deno.test("a row stores instants as integers, booleans as 0 or 1, lists and objects as JSON", () => {
  const row = z.encode(Row, {
    name: "ada",
    size: 2.5,
    state: "open",
    at: 1_700_000_000_000,
    seen_at: null,
    live: true,
    proved: false,
    words: ["a"],
    question: { options: [], until: 0 },
    fields: { deep: { er: 1 } },
  });
  assert.deepEqual(row, {
    name: "ada",
    size: 2.5,
    state: "open",
    at: 1_700_000_000_000,
    seen_at: null,
    live: 1,
    proved: 0,
    words: `["a"]`,
    question: `{"options":[],"until":"1970-01-01T00:00:00.000Z"}`,
    fields: `{"deep":{"er":1}}`,
  });
});

Deno.test("parsing a row that does not fit its record fails", () => {
  const State = rowOf(z.object({ state: z.enum(["open"]), live: z.boolean() }));
  for (const row of [{ state: "ajar", live: 1 }, { state: "open", live: 2 }, { state: "open" }]) {
    assert.equal(State.safeParse(row).success, false, JSON.stringify(row));
  }
});

Deno.test("the record that was read or written last is read again after a change of its table, and a rollback", () => {
  const clock = new FakeClock();
  const schema = ["create table words (id text primary key, word text not null) strict"];
  using db = new Database(":memory:", schema, jsonLog(clock, "error", () => {}), clock);
  const table = tableOf("words", z.object({ id: z.string(), word: z.string() }), "id");
  let reads = 0;
  const { get, update } = rememberLast("words", ({ id }) => id, {
    get: (db, id) => (reads++, table.get(db, id)),
    update: table.update,
  });
  db.transact((tx) => table.insert(tx, { id: "a", word: "first" }));
  const first = get(db, "a");
  assert.equal(get(db, "a"), first);
  assert.throws(() => Object.assign(first ?? {}, { word: "changed" }), TypeError);
  assert.throws(() =>
    db.transact((tx) => {
      update(tx, { id: "a", word: "second" });
      assert.equal(get(db, "a")?.word, "second");
      assert.equal(get(tx, "a"), get(db, "a"));
      assert.equal(reads, 1);
      throw new Error("It is rolled back");
    }), /rolled back/);
  assert.deepEqual([get(db, "a")?.word, get(db, "b")], ["first", undefined]);
  db.transact((tx) => {
    update(tx, { id: "a", word: "third" });
    tx.run("update words set word = 'fourth'");
  });
  assert.equal(get(db, "a")?.word, "fourth");
  db.transact((tx) => update(tx, { id: "b", word: "none" }));
  assert.equal(get(db, "b"), undefined);
});
