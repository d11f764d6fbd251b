/** Batches of another machine: accepted or refused entries, and the answers. */

import assert from "node:assert/strict";
import {
  connectedLink,
  DAY_MS,
  LinkFixture,
  OTHER,
  tagOf,
} from "../../../support/links/link_fixture.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";

Deno.test("a batch is confirmed within 20 ms, together with those that follow it", async () => {
  using f = connectedLink();
  await f.receive({ entries: [f.entry(1)] });
  await f.clock.advance(10);
  await f.receive({ previous: tagOf(1), entries: [f.entry(2)] });
  assert.equal(f.published.length, 0);
  await f.clock.advance(10);
  assert.deepEqual(f.batches.map(({ applied }) => applied), [tagOf(2)]);
  await f.receive({ applied: tagOf(7) });
  await f.clock.advance(DAY_MS);
  assert.equal(f.published.length, 1, "a confirmation is not confirmed");
});

Deno.test("a confirmation travels with entries that are published before it is due", async () => {
  using f = connectedLink();
  await f.receive({ entries: [f.entry(1)] });
  await f.append(1);
  await f.clock.advance(20);
  assert.deepEqual(f.batches.map(({ applied }) => applied), [tagOf(1)]);
});

Deno.test("a repeated batch is applied once, and the batches behind it go on", async () => {
  using f = connectedLink();
  const [first, second, third] = [1, 2, 3].map((n) => f.entry(n));
  assert.ok(first && second && third);
  await f.receive({ entries: [first, second] });
  await f.receive({ entries: [first] });
  await f.receive({ previous: first.tag, entries: [second, third] });
  await f.clock.advance(20);
  assert.deepEqual(f.appliedNumbers(), [1, 2, 3]);
  assert.ok(f.batches.every(({ resend }) => !resend));
});

Deno.test("a batch behind a missing one is not applied, and a resend is asked", async () => {
  using f = connectedLink();
  await f.receive({ previous: tagOf(1), entries: [f.entry(2)] });
  await f.receive({ previous: tagOf(2), entries: [f.entry(3)] });
  await f.clock.advance(20);
  assert.deepEqual(f.appliedNumbers(), []);
  assert.deepEqual(f.batches.map(({ resend }) => resend), [true]);
});

Deno.test("a request to resend is not answered by another one", async () => {
  using f = connectedLink();
  await f.receive({ previous: tagOf(1), resend: true });
  await f.clock.advance(1000);
  assert.equal(f.published.length, 0);
});

Deno.test("an entry that cannot be applied is reported, and the next ones are applied", async () => {
  using f = connectedLink();
  const malformed = { ...f.entry(3), body: "none" };
  const entries = [f.entry(1), f.entry(2, { refuse: true }), malformed, f.entry(4)];
  await f.receive({ entries });
  await f.receive({ entries });
  await f.clock.advance(20);
  assert.deepEqual(f.appliedNumbers(), [1, 4]);
  const reports = f.batches.flatMap((batch) => batch.entries);
  assert.deepEqual(reports.map(({ kind }) => kind), ["refused", "refused"]);
  assert.deepEqual(reports.map(({ body }) => body), [
    { tag: tagOf(2), reason: "unknown_peer" },
    { tag: tagOf(3), reason: "internal" },
  ]);
});

/** Confirms the refusals that are published next, and returns them. */
async function takeRefusals(f: LinkFixture, work: Promise<void>) {
  const before = f.batches.length;
  await work;
  await f.clock.advance(20);
  const batches = f.batches.slice(before);
  const refusals = batches.flatMap(({ entries }) => entries);
  const isConfirmed = batches.findIndex(({ applied }) => applied !== null);
  assert.ok(batches.slice(isConfirmed + 1).every(({ entries }) => entries.length === 0));
  await f.receive({ applied: refusals.at(-1)?.tag ?? null });
  return refusals.map(({ body }) => body);
}

Deno.test("a refused entry that is repeated is refused again, with the same reason", async () => {
  using f = connectedLink();
  const old = { ...f.entry(3), at: f.clock.now() - 31 * DAY_MS };
  const entries = [f.entry(1), f.entry(2, { refuse: true }), old, f.entry(4)];
  const refusals = await takeRefusals(f, f.receive({ entries }));
  assert.deepEqual(refusals, [
    { tag: tagOf(2), reason: "unknown_peer" },
    { tag: tagOf(3), reason: "expired" },
  ]);
  // The other machine has lost the refusals, and knows of none.
  assert.deepEqual(await takeRefusals(f, f.receive({ entries })), refusals);
  assert.deepEqual(f.appliedNumbers(), [1, 4]);
});

Deno.test("a machine that went back gets the lost refusals before any confirmation", async () => {
  using f = connectedLink();
  const entries = [f.entry(1), f.entry(2, { refuse: true }), f.entry(3)];
  const refusals = await takeRefusals(f, f.receive({ entries }));
  assert.equal(refusals.length, 1);
  const lost = { previous: tagOf(3), applied: tagOf(9), confirm: true };
  const applied_at = f.clock.now();
  assert.deepEqual(await takeRefusals(f, f.receive({ ...lost, applied_at })), refusals);
  await f.clock.advance(3_600_000);
  const recent = { ...lost, applied: tagOf(8), applied_at: f.clock.now() };
  await f.clock.advance(1000);
  await f.append(1);
  await f.receive({ applied: f.lastTag() });
  assert.deepEqual(await takeRefusals(f, f.receive(recent)), [], "it was refused long before");
  // The other machine has applied an entry that this machine lost by going back.
  await f.clock.advance(1000);
  const later = { ...lost, applied: tagOf(7), applied_at: f.clock.now() };
  assert.deepEqual(await takeRefusals(f, f.receive(later)), refusals);
});

Deno.test("a confirmation waits until the refusals before it are published", async () => {
  using f = new LinkFixture();
  await f.append(64);
  await f.receive({ entries: [f.entry(1, { refuse: true })] });
  f.machine.connect();
  await f.clock.advance(20);
  assert.deepEqual(f.batches.map(({ applied }) => applied), [null, tagOf(1)]);
});

Deno.test("a refusal by the other machine does not confirm the entries before it", async () => {
  using f = new LinkFixture();
  await f.append(3);
  f.machine.connect();
  await f.clock.settle();
  const tag = f.batches[0]?.entries[1]?.tag;
  const report = { tag: tagOf(9), kind: "refused", at: f.clock.now(), body: { tag, reason: "no" } };
  await f.receive({ entries: [report] });
  await f.receive({ entries: [report] });
  assert.deepEqual([f.outcomes("confirmed"), f.outcomes("no")], [[], [2]]);
  await f.receive({ applied: tag ?? null });
  assert.deepEqual([f.outcomes("confirmed"), f.outcomes("no")], [[1], [2]]);
  assert.equal(f.machine.links.waiting(f.machine.db, OTHER).entries, 1);
});

Deno.test("refusals that come in another order end their entries, and confirm none", async () => {
  using f = new LinkFixture();
  await f.append(4);
  f.machine.connect();
  await f.clock.settle();
  const tags = f.batches[0]?.entries.map(({ tag }) => tag) ?? [];
  const refusal = (n: number) => {
    const body = { tag: tags[n - 1], reason: "no" };
    return { tag: tagOf(n), kind: "refused", at: f.clock.now(), body };
  };
  await f.receive({ entries: [refusal(3)] });
  await f.receive({ previous: tagOf(3), entries: [refusal(2)], applied: tags[2] ?? null });
  assert.deepEqual([f.outcomes("confirmed"), f.outcomes("no")], [[1], [2, 3]]);
  assert.equal(f.machine.links.waiting(f.machine.db, OTHER).entries, 1);
});

Deno.test("a new entry that does not follow the last one shows that its sender went back", async () => {
  using f = connectedLink();
  await f.receive({ entries: [f.entry(1)], applied_at: null });
  await f.receive({ previous: tagOf(1), entries: [f.entry(2)], applied_at: null });
  assert.equal(f.machine.losses, 0);
  // Its database is as it was after the first entry, and its first batch is lost.
  await f.receive({ previous: tagOf(1), entries: [f.entry(3)], applied_at: null });
  assert.equal(f.machine.losses, 1);
  await f.receive({ previous: tagOf(1), entries: [f.entry(3), f.entry(4)], applied_at: null });
  assert.equal(f.machine.losses, 1, "a repeat and the next entry");
  await f.receive({ entries: [f.entry(5)], applied_at: null });
  assert.equal(f.machine.losses, 2, "it knows of no entry at all");
  const old = { ...f.entry(6), at: f.clock.now() - 31 * DAY_MS };
  await f.receive({ previous: tagOf(5), entries: [old], applied_at: null });
  await f.receive({ previous: tagOf(6), entries: [f.entry(7)], applied_at: null });
  assert.equal(f.machine.losses, 2, "an entry that is too old does not count");
});

Deno.test("a batch that the disk refuses is rejected, and applied when it is repeated", async () => {
  using faults = new SqliteFaults();
  using f = connectedLink();
  for (const at of ["any", "commit"] as const) {
    faults.arm({ fault: "full", at, after: at === "any" ? 4 : 0, endsTransaction: false });
    await assert.rejects(f.receive({ entries: [f.entry(1)] }), { code: "storage_failed" });
  }
  assert.deepEqual(f.appliedNumbers(), []);
  await f.receive({ entries: [f.entry(1)] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});

Deno.test("bytes that are no batch are dropped", async () => {
  using f = connectedLink();
  await f.machine.links.receive(OTHER, new Uint8Array([1, 2, 3]));
  await f.clock.advance(1000);
  assert.equal(f.published.length, 0);
});

Deno.test("an entry that a batch holds twice is applied once", async () => {
  using f = connectedLink();
  const entry = f.entry(1);
  await f.receive({ entries: [entry, entry, f.entry(2)] });
  assert.deepEqual(f.appliedNumbers(), [1, 2]);
});

Deno.test("a batch that is not sealed is dropped, although it could be read", async () => {
  using f = connectedLink();
  await f.receive({ entries: [f.entry(1)] }, { isSealed: false });
  assert.deepEqual(f.appliedNumbers(), []);
  await f.receive({ entries: [f.entry(1)] });
  assert.deepEqual(f.appliedNumbers(), [1]);
});
