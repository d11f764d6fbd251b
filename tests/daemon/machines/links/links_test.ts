/** Links: what becomes of entries that are too large, too old or forgotten. */

import assert from "node:assert/strict";
import { connectedLink, DAY_MS, LinkFixture, OTHER } from "../../../support/links/link_fixture.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";

Deno.test("an entry above 1 MB is refused when it is appended", async () => {
  using f = connectedLink();
  const tooLarge = { padding: "ä".repeat(524_288) };
  assert.throws(() => f.machine.append(OTHER, tooLarge), { code: "body_too_large" });
  await f.clock.settle();
  assert.equal(f.machine.links.waiting(f.machine.db, OTHER).entries, 0);
});

Deno.test("entries older than 30 days are dropped, and their owner learns it", async () => {
  using f = new LinkFixture();
  await f.append(1);
  await f.clock.advance(DAY_MS);
  await f.append(1);
  f.machine.links.removeExpired();
  assert.deepEqual(f.outcomes("dropped"), []);
  await f.clock.advance(29 * DAY_MS + 1);
  f.machine.links.removeExpired();
  assert.deepEqual(f.outcomes("dropped"), [1]);
  assert.equal(f.machine.links.waiting(f.machine.db, OTHER).entries, 1);
});

Deno.test("an entry of more than 30 days ago is refused, as its receipt may be gone", async () => {
  using f = connectedLink();
  const entry = f.entry(1);
  await f.receive({ entries: [entry] });
  await f.clock.advance(32 * DAY_MS);
  f.machine.links.removeExpired();
  await f.clock.settle();
  assert.deepEqual(f.machine.numbers("select count(*) from link_receipts"), [0]);
  await f.receive({ entries: [entry] });
  await f.receive({ previous: entry.tag, entries: [f.entry(2)] });
  assert.deepEqual(f.appliedNumbers(), [1, 2]);
});

Deno.test("an entry of two days ahead is applied once, although no clock was measured", async () => {
  using f = connectedLink();
  const entry = { ...f.entry(1), at: f.clock.now() + 2 * DAY_MS };
  await f.receive({ entries: [entry] });
  assert.deepEqual(f.appliedNumbers(), [1]);
  await f.clock.advance(31 * DAY_MS);
  f.machine.links.removeExpired();
  await f.clock.settle();
  await f.receive({ entries: [entry] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});

Deno.test("an entry of more than 30 days ahead is refused", async () => {
  using f = connectedLink();
  const at = f.clock.now() + 31 * DAY_MS;
  await f.receive({ entries: [{ ...f.entry(1), at }] });
  assert.deepEqual(f.appliedNumbers(), []);
  await f.receive({ previous: f.entry(1).tag, entries: [f.entry(2)] });
  assert.deepEqual(f.appliedNumbers(), [2]);
});

Deno.test("an entry of a clock that is ahead is applied once it was measured", async () => {
  using f = connectedLink();
  f.machine.measured_ms = 2 * DAY_MS;
  const at = f.clock.now() + 2 * DAY_MS;
  await f.receive({ entries: [{ ...f.entry(1), at }] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});

Deno.test("an entry of a clock that is 40 days behind is applied once it was measured", async () => {
  using f = connectedLink();
  f.machine.measured_ms = -40 * DAY_MS;
  const at = f.clock.now() - 40 * DAY_MS;
  await f.receive({ entries: [{ ...f.entry(1), at }] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});

Deno.test("an entry of a clock that was ahead, and is right again, is not applied again", async () => {
  using f = connectedLink();
  f.machine.clock_ahead_ms = 20 * DAY_MS;
  const entry = { ...f.entry(1), at: f.clock.now() + 20 * DAY_MS };
  await f.receive({ entries: [entry] });
  f.machine.clock_ahead_ms = 0;
  await f.clock.advance(32 * DAY_MS);
  f.machine.links.removeExpired();
  await f.clock.settle();
  await f.receive({ entries: [entry] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});

Deno.test("a forgotten machine gets nothing any more, and its repeats are still known", async () => {
  using f = new LinkFixture();
  await f.receive({ entries: [f.entry(1)] });
  await f.append(2);
  f.machine.db.transact((tx) => f.machine.links.forget(tx, OTHER));
  f.machine.connect();
  await f.receive({ entries: [f.entry(1)] });
  await f.clock.settle();
  assert.deepEqual([f.numbers.flat(), f.appliedNumbers()], [[], [1]]);
});

Deno.test("a stopped link publishes nothing, and leaves batches to the bus", async () => {
  using f = connectedLink();
  f.machine.links.stop();
  await f.append(1);
  await assert.rejects(f.receive({ entries: [f.entry(1)] }), { code: "shutting_down" });
  f.machine.links.busConnected();
  await f.clock.settle();
  assert.equal(f.published.length, 0);
});

Deno.test("an entry is withdrawn before the bus may have it, and not after that", async () => {
  using f = new LinkFixture();
  await f.append(2);
  assert.equal(f.withdraw(1), true);
  f.machine.connect();
  await f.clock.settle();
  assert.equal(f.withdraw(2), false);
  assert.deepEqual(f.numbers, [[2]]);
});

Deno.test("an entry of an earlier run is not withdrawn, because the bus may have it", async () => {
  using f = new LinkFixture();
  await f.append(1);
  f.crash();
  assert.equal(f.withdraw(1), false);
  f.machine.connect();
  await f.clock.settle();
  assert.deepEqual(f.numbers, [[1]]);
});

Deno.test("a receipt is kept for as long as its entry may come again", async () => {
  using f = connectedLink();
  const entry = f.entry(1);
  await f.receive({ entries: [entry] });
  await f.clock.advance(30 * DAY_MS);
  f.machine.links.removeExpired();
  await f.clock.settle();
  await f.receive({ entries: [entry] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});

Deno.test("a disk that is full when the bus is back delays the entries that wait", async () => {
  using faults = new SqliteFaults();
  using f = new LinkFixture();
  await f.append(1);
  f.crash();
  faults.arm({ fault: "full", at: "any", after: 0, endsTransaction: false });
  f.machine.connect();
  assert.ok(faults.hit);
  await f.clock.settle();
  assert.deepEqual(f.numbers, []);
  f.machine.db.failures.tick();
  await f.clock.settle();
  assert.deepEqual(f.numbers, [[1]]);
});
