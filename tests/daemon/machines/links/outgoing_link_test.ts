/** Batches to another machine, and their times. */

import assert from "node:assert/strict";
import {
  connectedLink,
  DAY_MS,
  LinkFixture,
  OTHER,
  tagOf,
} from "../../../support/links/link_fixture.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";

Deno.test("entries are published in batches that name the entry before", async () => {
  using f = new LinkFixture();
  await f.append(150);
  assert.equal(f.published.length, 0);
  f.machine.connect();
  await f.clock.advance(1);
  assert.deepEqual(f.numbers.map((batch) => batch.length), [64, 64, 22]);
  assert.deepEqual(f.numbers.flat(), Array.from({ length: 150 }, (_, index) => index + 1));
  const [first, second] = f.batches;
  assert.equal(first?.previous, null);
  assert.equal(second?.previous, first?.entries.at(-1)?.tag);
});

Deno.test("a batch holds at most 128 KB, and a larger entry travels alone", async () => {
  using f = new LinkFixture();
  await f.append(2, "x".repeat(70_000));
  await f.append(1, "x".repeat(900_000));
  await f.append(2, "x".repeat(60_000));
  f.machine.connect();
  await f.clock.settle();
  assert.deepEqual(f.numbers, [[1], [2], [3], [4, 5]]);
});

Deno.test("a failed batch is published again with its id, after 1 s, 2 s and so on", async () => {
  using f = connectedLink();
  f.failures.push("failed", "full", "unreachable");
  await f.append(1);
  await f.append(1);
  const counts = [f.published.length];
  for (const ms of [999, 1, 1999, 1, 3999, 1]) {
    await f.clock.advance(ms);
    counts.push(f.published.length);
  }
  assert.deepEqual(counts, [1, 1, 2, 2, 3, 3, 5]);
  const [first, second, , fourth] = f.published;
  assert.deepEqual([second?.id, fourth?.id], [first?.id, first?.id]);
  assert.deepEqual(fourth?.bytes, first?.bytes);
  assert.deepEqual(f.numbers.slice(3), [[1], [2]]);
});

Deno.test("a connection ends the wait for the next attempt", async () => {
  using f = connectedLink();
  f.failures.push("unreachable");
  await f.append(1);
  f.machine.links.busLost();
  await f.clock.advance(60_000);
  assert.equal(f.published.length, 1);
  f.machine.connect();
  await f.clock.settle();
  assert.equal(f.published[1]?.id, f.published[0]?.id);
});

Deno.test("an entry that the bus never takes is refused, and the others go on", async () => {
  using f = new LinkFixture();
  await f.append(3);
  f.failures.push("too_large", "too_large", "too_large");
  f.machine.connect();
  await f.clock.advance(10_000);
  assert.deepEqual(f.numbers, [[1, 2, 3], [1, 2], [1], [2], [3]]);
  assert.deepEqual(f.outcomes("too_large"), [1]);
});

Deno.test("a bus without room for a batch gets smaller ones, and a single entry waits", async () => {
  using f = new LinkFixture();
  await f.append(3);
  f.failures.push("full", "full", "full", "full");
  f.machine.connect();
  await f.clock.advance(25_000);
  assert.deepEqual(f.numbers, [[1, 2, 3], [1, 2], [1], [1], [1], [2, 3]]);
  assert.deepEqual(f.outcomes("too_large"), []);
});

Deno.test("a request to resend is not lost with a batch that the bus has no room for", async () => {
  using f = new LinkFixture();
  await f.append(2);
  await f.receive({ previous: "f".repeat(16), entries: [] });
  f.failures.push("full");
  f.machine.connect();
  await f.clock.advance(10_000);
  assert.deepEqual(f.batches.map(({ resend }) => resend), [true, true, false]);
});

Deno.test("entries are published only once they are durable", async () => {
  using faults = new SqliteFaults();
  using f = connectedLink();
  f.machine.append(OTHER);
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: false });
  f.machine.links.wake(OTHER);
  await f.clock.advance(5000);
  assert.deepEqual(f.numbers.flat(), []);
});

Deno.test("a confirmation removes the entries up to its tag", async () => {
  using f = connectedLink();
  await f.append(3);
  await f.receive({ applied: f.batches[0]?.entries[0]?.tag ?? null });
  assert.deepEqual(f.outcomes("confirmed"), [1]);
  const { entries, oldest_at } = f.machine.links.waiting(f.machine.db, OTHER);
  assert.equal(entries + f.outcomes("confirmed").length, 3);
  assert.equal(oldest_at, f.clock.now());
});

Deno.test("entries confirmed before the bus answers are not reported as published", async () => {
  using f = new LinkFixture();
  await f.append(2);
  const answer = Promise.withResolvers<void>();
  f.failures.push(answer.promise);
  f.machine.connect();
  await f.clock.settle();
  await f.receive({ applied: f.batches[0]?.entries[0]?.tag ?? null });
  answer.resolve();
  await f.clock.settle();
  const published = f.machine.numbers(
    "select n from sent join published using (tag)",
  );
  assert.deepEqual(published, [2]);
});

Deno.test("a request to resend begins a chain, also while a batch is under way", async () => {
  using f = new LinkFixture();
  await f.append(70);
  const answer = Promise.withResolvers<void>();
  f.failures.push(answer.promise);
  f.machine.connect();
  await f.clock.settle();
  await f.receive({ resend: true });
  answer.resolve();
  await f.clock.settle();
  assert.deepEqual(f.batches.map(({ previous }) => previous === null), [true, true, false]);
  assert.deepEqual(f.numbers[1]?.[0], 1);
  await f.receive({ resend: true });
  assert.equal(f.published.length, 3, "one chain in 5 s");
});

Deno.test("the first chain of a run begins after the last confirmed entry", async () => {
  using f = connectedLink();
  await f.append(2);
  const [firstTag = "", secondTag = ""] = tagsOf(f);
  await f.receive({ applied: firstTag });
  f.crash();
  f.machine.connect();
  await f.clock.settle();
  assert.equal(f.batches.at(-1)?.previous, firstTag);
  assert.deepEqual(f.numbers.at(-1), [2]);
  f.crash();
  // Entries that were confirmed before the first batch of the run are not a part of the chain.
  await f.receive({ applied: secondTag });
  f.machine.connect();
  await f.append(1);
  assert.equal(f.batches.at(-1)?.previous, secondTag);
});

Deno.test("a chain begins where the machine is that asks, whatever it has confirmed", async () => {
  using f = connectedLink();
  await f.append(3);
  const [firstTag = "", secondTag = ""] = tagsOf(f);
  await f.receive({ applied: firstTag });
  // A version that does not report `applied_at`, so that no loss is noticed.
  for (const applied of [null, tagOf(9), secondTag]) {
    await f.clock.advance(5000);
    await f.receive({ previous: tagOf(1), applied, resend: true });
    await f.clock.settle();
    assert.equal(f.batches.at(-1)?.previous, applied);
  }
  assert.deepEqual(f.numbers.slice(-3), [[2, 3], [2, 3], [3]]);
});

Deno.test("a request to resend goes out with the position, after the refusals that wait", async () => {
  using f = new LinkFixture();
  const entries = Array.from({ length: 100 }, (_, n) => f.entry(n + 1, { refuse: true }));
  await f.receive({ entries: entries.slice(0, 64) });
  await f.receive({ previous: tagOf(64), entries: entries.slice(64) });
  await f.receive({ previous: tagOf(200), entries: [] });
  f.machine.connect();
  await f.clock.advance(2000);
  const asked = f.batches.filter(({ resend }) => resend);
  assert.deepEqual(asked.map(({ applied }) => applied), [tagOf(100)]);
});

Deno.test("unconfirmed entries are probed at doubling intervals", async () => {
  using f = connectedLink();
  await f.append(1);
  const tag = f.lastTag();
  await f.clock.advance(7 * DAY_MS);
  const probes = f.batches.slice(1);
  assert.ok(probes.length > 100 && probes.length < 200, `${probes.length} probes`);
  assert.ok(
    probes.every(({ confirm, previous, entries }) =>
      confirm && previous === tag && entries.length === 0
    ),
  );
  await f.receive({ applied: tag });
  const count = f.published.length;
  await f.clock.advance(DAY_MS);
  assert.equal(f.published.length, count, "two idle machines exchange nothing");
});

Deno.test("a reconnection sends a probe instead of all entries again", async () => {
  using f = connectedLink();
  await f.append(100);
  const before = f.published.length;
  f.machine.disconnect();
  f.machine.connect();
  await f.clock.settle();
  assert.deepEqual(f.numbers.slice(before), [[]]);
  assert.equal(f.batches.at(-1)?.confirm, true);
});

/** The tags of the entries in the batches so far. */
function tagsOf({ batches }: LinkFixture): string[] {
  return batches.flatMap(({ entries }) => entries.map(({ tag }) => tag));
}
