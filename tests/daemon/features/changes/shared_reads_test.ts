import assert from "node:assert/strict";
import { SharedReads } from "../../../../daemon/features/changes/shared_reads.ts";
import { FakeClock } from "../../../support/clock.ts";

/** A read that a test ends. */
function reading() {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const ends: ((text: string) => void)[] = [];
  const reads = new SharedReads<string>(clock, 1_000);
  return {
    clock,
    signals,
    ends,
    read: (key: string, signal = new AbortController().signal) =>
      reads.read(key, signal, (ended) => {
        signals.push(ended);
        return new Promise((resolve) => ends.push(resolve));
      }),
  };
}

Deno.test("those who ask at the same time, and shortly after, share one read [4.changes.bounded]", async () => {
  const at = reading();
  const both = [at.read("a"), at.read("a")];
  const other = at.read("b");
  at.ends[0]?.("first");
  at.ends[1]?.("other");
  assert.deepEqual([await both[0], await both[1], await other], ["first", "first", "other"]);
  assert.equal(await at.read("a"), "first");
  await at.clock.advance(1_000);
  const later = at.read("a");
  at.ends[2]?.("second");
  assert.equal(await later, "second");
});

Deno.test("a read ends early only if all who asked have gone [4.changes.bounded]", async () => {
  const at = reading();
  const [first, second] = [new AbortController(), new AbortController()];
  const both = [at.read("a", first.signal), at.read("a", second.signal)];
  first.abort(new Error("gone"));
  await assert.rejects(both[0] ?? Promise.resolve(), /gone/);
  assert.equal(at.signals[0]?.aborted, false);
  second.abort(new Error("gone"));
  await assert.rejects(both[1] ?? Promise.resolve(), /gone/);
  assert.equal(at.signals[0]?.aborted, true);
  const again = at.read("a");
  at.ends[1]?.("again");
  assert.equal(await again, "again");
});
