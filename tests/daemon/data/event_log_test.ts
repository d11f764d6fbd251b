/** The event log: written in the transaction, published after its commit, without message text. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { EventLog } from "../../../daemon/data/event_log.ts";
import { EVENTS, type MeshEvent } from "protocol/events.ts";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";
import { recordStatements } from "../../support/storage/query_plans.ts";

const SECRET = "the text of a message";
const ADA = { peer_id: "peer-1", name: "ada" };

function log() {
  const logged: string[] = [];
  const clock = new FakeClock();
  const own = jsonLog(clock, "debug", (line) => logged.push(JSON.parse(line).what));
  const db = new Database(":memory:", migrations, own, clock);
  const events = new EventLog(db, clock, countingIds(), own);
  const received: MeshEvent[] = [];
  events.subscribe({ event: (event) => void received.push(event) });
  const retire = () => db.transact(() => events.append("peer_retired", ADA));
  return {
    db,
    clock,
    events,
    received,
    logged,
    retire,
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

/** A value that fits a schema. */
function example(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodOptional) return example(schema.unwrap());
  if (schema instanceof z.ZodNullable) return null;
  if (schema instanceof z.ZodNumber) return 1;
  if (schema instanceof z.ZodBoolean) return true;
  assert.ok(schema instanceof z.ZodString, "events carry strings, numbers, flags and nulls");
  return "word";
}

for (const [type, schema] of Object.entries(EVENTS)) {
  Deno.test(`${type} carries the fields of its schema and no message text`, async () => {
    using l = log();
    const expected = Object.fromEntries(
      Object.entries(schema.shape).map(([key, field]) => [key, example(field)]),
    );
    const more = { ...expected, text: SECRET, message: SECRET, reply: SECRET };
    l.db.transact(() => l.events.append(type as keyof typeof EVENTS, more as never));
    await l.db.whenDurable();
    assert.deepEqual(l.received.map(({ data }) => data), [expected]);
    const stored = l.db.all(z.object({ data: z.string() }), "select data from events");
    const serialized = JSON.stringify([l.received, l.events.read({ since: 0, limit: 9 }), stored]);
    assert.ok(!serialized.includes(SECRET));
    for (const field of ["text", "message", "reply", "description", "question"]) {
      assert.ok(!(field in schema.shape), `${type} has a field "${field}"`);
    }
  });
}

Deno.test("an event without a required field fails its transaction and is not written", async () => {
  using l = log();
  assert.throws(() => l.db.transact(() => l.events.append("peer_retired", { name: "a" } as never)));
  await l.db.whenDurable();
  assert.deepEqual([l.received, l.events.last], [[], 0]);
});

Deno.test("a listener that throws is logged, and the others are still called", async () => {
  using l = log();
  l.events.subscribe({
    event: () => {
      throw new Error("broken listener");
    },
  });
  const after: number[] = [];
  l.events.subscribe({ event: ({ id }) => void after.push(id) });
  l.retire();
  await l.db.whenDurable();
  assert.deepEqual([l.received.length, after, l.logged], [1, [1], ["A listener failed"]]);
});

Deno.test("readers see events up to the last committed id", async () => {
  using l = log();
  l.retire();
  assert.deepEqual([l.events.last, l.events.read({ since: 0, limit: 9 }), l.received], [0, [], []]);
  await l.db.whenDurable();
  assert.deepEqual([l.events.last, l.events.read({ since: 0, limit: 9 })], [1, l.received]);
});

Deno.test("a rollback leaves no event and no gap in the ids", async () => {
  using l = log();
  l.retire();
  assert.throws(() =>
    l.db.transact(() => {
      l.events.append("peer_removed", ADA);
      throw new Error("no");
    })
  );
  l.retire();
  await l.db.whenDurable();
  assert.deepEqual(l.received.map(({ id, type }) => `${id} ${type}`), [
    "1 peer_retired",
    "2 peer_retired",
  ]);
});

Deno.test("ids continue after a restart, even when all events were pruned", async () => {
  using l = log();
  l.retire();
  await l.db.whenDurable();
  await l.clock.advance(1000);
  assert.equal(l.events.prune(l.clock.now(), 10), 1);
  await l.db.whenDurable();
  assert.deepEqual([l.events.oldest, l.events.last], [0, 1]);
  l.retire();
  await l.db.whenDurable();
  assert.deepEqual([l.events.oldest, l.events.last], [2, 2]);
  assert.equal(
    new EventLog(l.db, l.clock, countingIds(), jsonLog(l.clock, "error", () => {})).last,
    2,
  );
});

Deno.test("prune deletes the oldest first, up to its limit, and no newer event", async () => {
  using l = log();
  for (let n = 0; n < 5; n++) l.retire();
  await l.db.whenDurable();
  const old = l.clock.now() + 1;
  await l.clock.advance(1000);
  l.retire();
  await l.db.whenDurable();
  assert.deepEqual([l.events.prune(old, 3), l.events.oldest], [3, 4]);
  assert.deepEqual([l.events.prune(old, 3), l.events.oldest], [2, 6]);
  assert.equal(l.events.prune(old, 3), 0);
});

Deno.test("a search by type finds events between many others, and lets other work run", async () => {
  using l = log();
  l.retire();
  await l.db.whenDurable();
  l.db.transactNow((tx) =>
    tx.run(
      `with recursive copy (id) as
         (select 2 union all select id + 1 from copy where id < 25000)
       insert into events (id, at, type, data)
       select copy.id, at, iif(copy.id = 25000, 'peer_removed', type), data
       from copy join events on events.id = 1`,
    )
  );
  const reopened = new EventLog(l.db, l.clock, countingIds(), jsonLog(l.clock, "error", () => {}));
  let finished = false;
  const search = (type: string) => reopened.search({ since: 0, limit: 3, type });
  const rare = search("peer_removed").finally(() => finished = true);
  await l.clock.settle();
  assert.equal(finished, false, "the search waits, so that other work runs");
  await l.clock.advance(0);
  assert.deepEqual((await rare).map(({ id }) => id), [25_000]);
  assert.deepEqual((await search("peer_retired")).map(({ id }) => id), [1, 2, 3]);
});

Deno.test("the bounds of the log are read without reading the log", () => {
  using recorded = recordStatements();
  using l = log();
  assert.equal(l.events.oldest, 0);
  assert.deepEqual(recorded.scansOf(l.db, "events"), []);
});

Deno.test("a delivery step is published after the commit and is not stored", async () => {
  using l = log();
  const step = { delivery_id: "qd-1", to_peer_id: "peer-1", state: "sent", transport: null };
  const steps: unknown[] = [];
  using _ = l.events.subscribe({ delivery: (step) => void steps.push(step) });
  l.db.transact(() => l.events.step(step));
  assert.deepEqual(steps, []);
  await l.db.whenDurable();
  assert.deepEqual([steps, l.events.last], [[step], 0]);
});

Deno.test("a listener that unsubscribed is not called", async () => {
  using l = log();
  const received: number[] = [];
  l.events.subscribe({ event: ({ id }) => void received.push(id) })[Symbol.dispose]();
  l.retire();
  await l.db.whenDurable();
  assert.deepEqual(received, []);
});

Deno.test("read returns what filtering the whole log would", async () => {
  using l = log();
  const types = ["peer_retired", "peer_removed"] as const;
  for (let n = 0; n < 20; n++) {
    l.db.transact(() => l.events.append(types[n % 3 === 0 ? 1 : 0], ADA));
  }
  await l.db.whenDurable();
  const type = fc.constantFrom(undefined, ...types);
  fc.assert(fc.property(fc.nat(25), fc.nat(25), type, (since, limit, type) => {
    const expected = l.received.filter((event) =>
      event.id > since && (!type || event.type === type)
    );
    assert.deepEqual(l.events.read({ since, limit, type }), expected.slice(0, limit));
  }));
});
