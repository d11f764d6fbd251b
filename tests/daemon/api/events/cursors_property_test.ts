import assert from "node:assert/strict";
import fc from "fast-check";
import { SwiftClock } from "../../../support/swift_clock.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, get } from "../../../support/daemon/peer_clients.ts";

const RUNS = 150;

/** Values that someone may write in place of a number. */
const anyCursor = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.integer({ min: -3, max: 30 }).map(String),
  fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
  fc.constantFrom("", "0", "00", "1e1", "0x1", "1.0", " 1", "+1", "NaN", "Infinity", "١"),
);

/** The start that a stream takes from a cursor: only plain digits count. */
function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The value as a header would carry it, or null if no header can. */
function asHeader(text: string): string | null {
  try {
    return new Headers({ "last-event-id": text }).get("last-event-id");
  } catch {
    return null;
  }
}

/** Reads the stream up to an event of this id; returns the ids of all events. */
async function idsUntil(w: World, url: string, headers: Headers, last: number): Promise<number[]> {
  const gone = new AbortController();
  const response = await w.fetch(url, { headers, signal: gone.signal });
  assert.equal(response.status, 200);
  assert.ok(response.body);
  const reader = response.body.getReader();
  const ids: number[] = [];
  const decoder = new TextDecoder();
  let first: string | undefined;
  while (ids.at(-1) !== last) {
    const { value } = await reader.read();
    const text = decoder.decode(value);
    first ??= text;
    const [, id] = /^id: (\d+)$/m.exec(text) ?? [];
    if (id) ids.push(Number(id));
    else if (ids.length === 0 && text.startsWith("event: ready")) {
      await w.post("/peers/ada/description", { description: "x" }); // One more event, live.
    }
  }
  assert.match(first ?? "", /^event: ready\n/);
  gone.abort();
  await reader.cancel();
  await w.clock.settle();
  return ids;
}

Deno.test("from any cursor a stream sends every later event once, in order [c3.stream.resume]", async () => {
  await using w = world({ clock: new SwiftClock() });
  for (const name of ["ada", "bob", "eve", "tom"]) await addPeer(w, name);
  const { events } = w.daemon.ctx;
  await fc.assert(
    fc.asyncProperty(fc.option(anyCursor), fc.option(anyCursor), async (since, header) => {
      const lastEventId = header === null ? null : asHeader(header);
      const headers = new Headers(lastEventId === null ? {} : { "last-event-id": lastEventId });
      const before = events.last;
      const from = Math.min(numberOf(lastEventId) ?? numberOf(since) ?? before, before);
      const query = since === null ? "" : `?since=${encodeURIComponent(since)}`;
      const ids = await idsUntil(w, `/events/stream${query}`, headers, before + 1);
      const all = Array.from({ length: before + 1 - from }, (_, index) => from + 1 + index);
      assert.deepEqual(ids, all);
    }),
    { numRuns: RUNS },
  );
  assert.deepEqual(w.logged, []);
});

Deno.test("from any cursor the log is continued, or the cursor is refused", async () => {
  await using w = world({ clock: new SwiftClock() });
  for (let index = 0; index < 12; index++) await addPeer(w, `peer${index}`);
  await fc.assert(
    fc.asyncProperty(anyCursor, fc.integer({ min: 1, max: 15 }), async (since, limit) => {
      const query = `since=${encodeURIComponent(since)}&limit=${limit}`;
      const { status, events, next, gap } = await get(w, `/events?${query}`);
      if (status === 422) return assert.equal(/^\d{1,15}$/.test(since), false, since);
      assert.equal(status, 200);
      const ids: number[] = events.map(({ id }: { id: number }) => id);
      const from = Number(since);
      const all = Array.from({ length: 12 }, (_, index) => index + 1).filter((id) => id > from);
      assert.deepEqual(ids, all.slice(0, limit));
      assert.equal(next, from > 12 ? 12 : ids.length === limit ? ids.at(-1) : null);
      assert.deepEqual(gap, from > 12 ? { oldest: 1 } : undefined);
    }),
    { numRuns: RUNS },
  );
});

Deno.test("pages of asks list each ask once, newest first, whatever opens or closes in between", async () => {
  await using w = world({ clock: new SwiftClock() });
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const opened: string[] = [];
  const more = fc.constantFrom("ask bob", "ask eve", "ack", "nothing");
  const filter = fc.constantFrom("", "&state=open", "&peer_id=bob", "&state=closed&peer_id=eve");
  const limit = fc.integer({ min: 1, max: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(more, { maxLength: 6 }),
      filter,
      limit,
      async (steps, filter, limit) => {
        for (const to of ["bob", "eve"]) opened.push(await ask(w, "x", to));
        const there: string[] = await idsOf(w, `limit=500${filter}`);
        const found: string[] = [];
        let cursor = "";
        for (let page = 0; page === 0 || cursor; page++) {
          const { status, asks, next } = await get(w, `/asks?limit=${limit}${filter}${cursor}`);
          assert.equal(status, 200);
          assert.ok(asks.length <= limit);
          found.push(
            ...asks.map(({ correlation_id }: { correlation_id: string }) => correlation_id),
          );
          cursor = next === null ? "" : `&cursor=${next}`;
          const [verb, to] = (steps[page] ?? "").split(" ");
          if (verb === "ask" && to) opened.push(await ask(w, "x", to));
          if (verb === "ack") await w.post("/ack", { correlation_id: opened.at(-1) });
        }
        assert.equal(new Set(found).size, found.length, "An ask is listed twice");
        assert.deepEqual(found, found.toSorted().toReversed(), "Newest first");
        const kept: string[] = await idsOf(w, `limit=500${filter}`);
        const keptThroughout = there.filter((id) => kept.includes(id));
        assert.deepEqual(
          keptThroughout.filter((id) => !found.includes(id)),
          [],
          "An ask is missing",
        );
      },
    ),
    { numRuns: 40 },
  );
});

async function idsOf(w: World, query: string): Promise<string[]> {
  const { asks } = await get(w, `/asks?${query}`);
  return asks.map(({ correlation_id }: { correlation_id: string }) => correlation_id);
}

Deno.test("any cursor of asks is a position in the list, or refused", async () => {
  await using w = world({ clock: new SwiftClock() });
  await addPeer(w, "bob");
  for (let index = 0; index < 10; index++) await ask(w, "x", "bob");
  await fc.assert(
    fc.asyncProperty(anyCursor, async (cursor) => {
      const { status, asks } = await get(w, `/asks?cursor=${encodeURIComponent(cursor)}`);
      if (status === 422) return assert.equal(/^\d{1,15}$/.test(cursor), false, cursor);
      assert.equal(status, 200);
      assert.equal(asks.length, Math.min(10, Math.max(0, Number(cursor) - 1)));
    }),
    { numRuns: RUNS },
  );
  assert.deepEqual(w.logged, []);
});
