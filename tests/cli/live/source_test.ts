/** The live view keeps its records current: events, bounded loads, a daemon that is away. */

import assert from "node:assert/strict";
import { DaemonUnreachable } from "../../../cli/client/daemon_client.ts";
import { Source } from "../../../cli/live/source.ts";
import { addPeer, ask, connectPeer, notify } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";

/** A source that follows a world, whose daemon can go away. */
async function sourceFixture(settings: Record<string, string> = { "human.name": "sam" }) {
  const w = world({ settings });
  const ended = new AbortController();
  let connection = new AbortController();
  const fixture = { isAway: false, calls: 0, error: undefined as unknown };
  const call: typeof w.call = (contract, given) => {
    fixture.calls++;
    if (fixture.isAway) return Promise.reject(new DaemonUnreachable("http://none", undefined));
    return w.call(contract, given);
  };
  const get = async (path: string, init: RequestInit = {}) => {
    if (fixture.isAway) throw new DaemonUnreachable("http://none", undefined);
    const { signal, ...rest } = init;
    const lost = AbortSignal.any([connection.signal, ...(signal ? [signal] : [])]);
    const { body, ...response } = await w.fetch(path, { ...rest, signal: lost });
    const stream = body?.pipeThrough(new TransformStream(), { signal: lost });
    return new Response(stream, response);
  };
  const source = new Source({
    daemon: { call, get },
    clock: w.clock,
    signal: ended.signal,
    onChange: () => undefined,
    onError: (error) => fixture.error = error,
  });
  const running = source.run();
  await w.clock.advance(1000);
  return {
    w,
    source,
    fixture,
    async lose() {
      fixture.isAway = true;
      connection.abort(new TypeError("connection lost"));
      await w.clock.advance(1000);
    },
    async comeBack() {
      fixture.isAway = false;
      connection = new AbortController();
      await w.clock.advance(10_000);
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await running;
      assert.equal(fixture.error, undefined);
      await w[Symbol.asyncDispose]();
    },
  };
}

Deno.test("events bring peers, messages, open asks and the inbox", async () => {
  await using s = await sourceFixture();
  const { w, source } = s;
  assert.deepEqual([source.records.loaded, source.records.peers], [true, []]);
  await connectPeer(w, "api");
  await addPeer(w, "web");
  await notify(w, "api", "web", "Hello");
  await ask(w, "web", "sam", "Ship it?");
  await w.clock.advance(2000);
  const { peers, messages, inbox, open_asks, queued } = source.records;
  assert.deepEqual(peers.map(({ name }) => name).sort(), ["api", "web"]);
  assert.deepEqual(messages.rows.map(({ text }) => text), ["Ship it?", "Hello"]);
  assert.deepEqual([inbox?.human, inbox?.items.length, open_asks.length], ["sam", 1, 1]);
  const web = peers.find(({ name }) => name === "web");
  assert.equal(queued.get(web?.peer_id ?? ""), 1);
});

Deno.test("a flood of events costs a bounded number of requests, and a quiet mesh none", async () => {
  await using s = await sourceFixture();
  const { w, fixture } = s;
  await addPeer(w, "web");
  await w.clock.advance(2000);
  fixture.calls = 0;
  for (let count = 0; count < 50; count++) {
    await notify(w, "api", "web", `Note ${count}`);
    await w.clock.advance(20);
  }
  await w.clock.advance(2000);
  assert.ok(fixture.calls <= 12, `${fixture.calls} requests`);
  assert.equal(s.source.records.messages.rows[0]?.text, "Note 49");
  fixture.calls = 0;
  await w.clock.advance(3_600_000);
  assert.equal(fixture.calls, 0);
});

Deno.test("records from the daemon's absence are shown when it is back", async () => {
  await using s = await sourceFixture();
  const { w, source } = s;
  await addPeer(w, "web");
  await s.lose();
  const lost_at = source.records.lost_at;
  assert.ok(lost_at !== undefined && lost_at <= w.clock.now());
  await notify(w, "api", "web", "Meanwhile");
  await ask(w, "web", "sam", "Are you there?");
  await s.comeBack();
  const { records } = source;
  assert.equal(records.lost_at, undefined);
  assert.deepEqual(records.messages.rows.map(({ text }) => text), ["Are you there?", "Meanwhile"]);
  assert.equal(records.inbox?.items.length, 1);
});

Deno.test("a search is repeated when messages change, and older messages are loaded on demand", async () => {
  await using s = await sourceFixture();
  const { w, source } = s;
  await addPeer(w, "web");
  for (let count = 0; count < 130; count++) await notify(w, `p${count}`, "web", `Note ${count}`);
  await w.tick(2);
  assert.deepEqual([source.records.messages.rows.length, source.records.messages.hasMore], [
    100,
    true,
  ]);
  source.loadOlder();
  await w.clock.advance(1000);
  assert.deepEqual([source.records.messages.rows.length, source.records.messages.hasMore], [
    130,
    false,
  ]);
  await source.search("129");
  assert.deepEqual(source.records.found?.rows.map(({ text }) => text), ["Note 129"]);
  await notify(w, "api", "web", "Another 129");
  await w.tick(2);
  await w.clock.advance(2000);
  assert.equal(source.records.found?.rows.length, 2);
  await source.search(undefined);
  assert.equal(source.records.found, undefined);
});

Deno.test("without a human the inbox is unknown, and the rest is shown", async () => {
  await using s = await sourceFixture({});
  await addPeer(s.w, "web");
  await s.w.clock.advance(2000);
  assert.deepEqual([s.source.records.inbox, s.source.records.peers.length], [undefined, 1]);
});
