/** The message log: pages, filters, cursors. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type World, world } from "../../../../support/world.ts";
import { addPeer, ask, get, notify, post } from "../../../../support/daemon/peer_clients.ts";
import { page, texts } from "../../../../support/daemon/message_log.ts";

Deno.test("messages of every kind are listed, newest first [4.messages]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob", "One");
  const { delivery_id } = await notify(w, "cli", "sam", "Two");
  await post(w, "/broadcast", { from_peer: "ada", text: "Three", circle: "default" });
  await post(w, "/ack", { correlation_id: id, message: "Four" });
  const { messages, next } = await page(w);
  assert.deepEqual(messages.map(({ kind, text }) => [kind, text]), [
    ["ack", "Four"],
    ["broadcast", "Three"],
    ["notify", "Two"],
    ["ask", "One"],
  ]);
  assert.equal(next, null);
  assert.deepEqual(messages[3]?.message_id, id);
  assert.deepEqual([messages[3]?.reply, messages[3]?.delivery_id], [
    "Four",
    id.replace("ask", "qd"),
  ]);
  assert.equal(messages[2]?.message_id, delivery_id);
  assert.deepEqual(await texts(w, { kind: "ask" }), ["One"]);
  assert.equal((await get(w, "/messages?kind=shout")).status, 422);
});

Deno.test("a message is found by each of its ids, and by no other", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob", "One");
  const { delivery_id } = await notify(w, "ada", "bob", "Two");
  for (const known of [id, id.replace("ask-", "qd-")]) {
    const found = await get(w, `/messages/${known}`);
    assert.deepEqual([found.status, found.message_id, found.text], [200, id, "One"]);
    assert.equal("snippet" in found, false);
  }
  assert.equal((await get(w, `/messages/${delivery_id}`)).text, "Two");
  const none = ["notif-ffffffffffff", "ask-1", "x", delivery_id.replace("notif", "qd")];
  for (const unknown of none) {
    const refused = await get(w, `/messages/${unknown}`);
    assert.deepEqual([refused.status, refused.error], [404, "unknown_message"], unknown);
  }
});

Deno.test("a page is filtered by circle, and by the state of a delivery or an ask", async () => {
  await using w = world();
  await addPeer(w, "ada", { circle: "shop" });
  await addPeer(w, "bob", { circle: "shop" });
  await addPeer(w, "cy", { circle: "ops" });
  const id = await ask(w, "ada", "bob", "Closed");
  await ask(w, "ada", "bob", "Open");
  await post(w, "/ack", { correlation_id: id, message: "Reply" });
  await post(w, "/ask", { from_peer: "cli", to_peer: "cy", circle: "ops", text: "Elsewhere" });
  assert.deepEqual(await texts(w, { state: "open" }), ["Elsewhere", "Open"]);
  assert.deepEqual(await texts(w, { state: "closed" }), ["Closed"]);
  assert.deepEqual(await texts(w, { state: "seen" }), []);
  assert.deepEqual(await texts(w, { circle: "ops" }), ["Elsewhere"]);
  assert.deepEqual(await texts(w, { circle: "shop", state: "open" }), ["Open"]);
  assert.equal((await get(w, "/messages?state=lost")).status, 422);
});

Deno.test("a page is filtered by one side of a conversation, or by both", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  await addPeer(w, "bob");
  await addPeer(w, "cy");
  await notify(w, "ada", "bob", "ada to bob");
  await notify(w, "bob", "ada", "bob to ada");
  await notify(w, "cy", "bob", "cy to bob");
  await notify(w, "script", "ada", "script to ada");
  assert.equal((await texts(w, { peer: "ada" })).length, 3);
  assert.equal((await texts(w, { peer: ada.peer_id })).length, 3);
  assert.deepEqual(await texts(w, { peer: "bob", with: "ada" }), ["bob to ada", "ada to bob"]);
  assert.deepEqual(await texts(w, { peer: "ada", with: "bob" }), ["bob to ada", "ada to bob"]);
  assert.deepEqual(await texts(w, { peer: "cy", with: "ada" }), []);
  assert.deepEqual(await texts(w, { with: "cy" }), ["cy to bob"]);
  assert.deepEqual(await texts(w, { from: "bob" }), ["bob to ada"]);
  assert.deepEqual(await texts(w, { to: "bob", from: "ada" }), ["ada to bob"]);
  assert.deepEqual(await texts(w, { from: "script", peer: "bob" }), []);
  assert.deepEqual(await texts(w, { peer: "script" }), ["script to ada"]);
  assert.deepEqual(await texts(w, { peer: "ada", with: "script" }), ["script to ada"]);
  assert.deepEqual(await texts(w, { peer: "ada", with: "ada" }), []);
  assert.deepEqual(await texts(w, { peer: "never-seen" }), []);
  await post(w, "/peers/cy/name", { name: "cyd" });
  await addPeer(w, "bob", { circle: "other" });
  const twice = await get(w, "/messages?peer=bob");
  assert.deepEqual([twice.status, twice.error], [409, "ambiguous_peer"]);
});

Deno.test("messages of a deleted peer are found by its name", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  await addPeer(w, "bob");
  await notify(w, "ada", "bob", "Farewell");
  await w.fetch("/peers/ada", { method: "DELETE" });
  assert.deepEqual(await texts(w, { peer: "ada" }), ["Farewell"]);
  assert.deepEqual(await texts(w, { peer: ada.peer_id }), ["Farewell"]);
});

Deno.test("since is inclusive, until is exclusive, and any UTC offset is accepted", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const start = w.clock.now();
  for (const text of ["1", "2", "3"]) {
    await notify(w, "ada", "bob", text);
    await w.clock.advance(60_000);
  }
  const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
  assert.deepEqual(await texts(w, { since: at(1) }), ["3", "2"]);
  assert.deepEqual(await texts(w, { until: at(1) }), ["1"]);
  assert.deepEqual(await texts(w, { since: at(1), until: at(2) }), ["2"]);
  const there = new Date(start + 60_000 + 2 * 3_600_000).toISOString().replace("Z", "+02:00");
  assert.deepEqual(await texts(w, { since: there }), ["3", "2"]);
  const bare = await get(w, `/messages?since=${there}`);
  assert.equal(bare.messages.length, 2, "a bare + is one, too");
  for (const bad of ["since=yesterday", "until=2026-11-21", "limit=0", "limit=501", "limit=x"]) {
    assert.equal((await get(w, `/messages?${bad}`)).status, 422, bad);
  }
});

Deno.test("an instant of long ago is found among days of messages", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const start = w.clock.now();
  for (let day = 0; day < 12; day++) {
    await notify(w, "ada", "bob", String(day));
    await w.clock.advance(86_400_000);
  }
  const at = (days: number) => new Date(start + days * 86_400_000).toISOString();
  assert.deepEqual(await texts(w, { since: at(2), until: at(4) }), ["3", "2"]);
  assert.deepEqual(await texts(w, { until: at(0) }), []);
  assert.deepEqual(await texts(w, { since: at(20) }), []);
});

Deno.test("a cursor that is not from an earlier page is refused", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  for (const cursor of ["x", "", "-1", "ffffffffffff", "notif-000000000001"]) {
    const refused = await get(w, `/messages?cursor=${cursor}`);
    assert.deepEqual([refused.status, refused.error], [422, "invalid_request"], cursor);
    assert.equal(refused.issues[0].path, "cursor");
  }
});

Deno.test("pages of any size list each message once, while new ones arrive [c3.messages.search]", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "100000" } });
  await addPeer(w, "bob");
  let textCount = 0;
  const sendNote = async () =>
    (await notify(w, textCount % 3 ? "ada" : "eve", "bob", `plum ${++textCount}`)).delivery_id;
  const queries = [{}, { q: "plum" }, { peer: "ada" }, { q: "plum", peer: "ada" }];
  for (let count = 0; count < 12; count++) await sendNote();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...queries),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 7 }), fc.boolean()), { minLength: 1 }),
      async (query, steps) => {
        await w.tick();
        const all = (await page(w, { ...query, limit: "500" })).messages;
        const pagedIds: string[] = [];
        let cursor: string | null = null;
        for (let turn = 0; turn === 0 || cursor !== null; turn++) {
          const [limit = 1, more = false] = steps[turn % steps.length] ?? [];
          const given: Record<string, string> = { ...query, limit: String(limit) };
          if (cursor) given["cursor"] = cursor;
          const { messages, next } = await page(w, given);
          assert.ok(messages.length <= limit);
          pagedIds.push(...messages.map(({ message_id }) => message_id));
          cursor = next;
          if (more && textCount < 400) await sendNote(), await w.tick();
        }
        assert.deepEqual(pagedIds, all.map(({ message_id }) => message_id));
      },
    ),
    { numRuns: 10 },
  );
});

Deno.test("a page of long texts ends early, and its cursor continues it", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (let count = 0; count < 12; count++) await notify(w, "ada", "bob", "x".repeat(262_000));
  const first = await page(w, { limit: "20" });
  assert.equal(first.messages.length, 8);
  const second = await page(w, { limit: "20", cursor: first.next ?? "" });
  assert.deepEqual([second.messages.length, second.next], [4, null]);
});

/** Fills the messages and their index with notifications, as years of use would. */
function fill(w: World, count: number): void {
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => {
    tx.run(
      `insert into messages (seq, ident, kind, from_peer_name, to_peer_id, to_peer_name, text,
         attachments, voice, traceparent, state, created_at, accepted_at)
       with recursive number (n) as (select 1 union all select n + 1 from number where n < :count)
       select n + last.seq, printf('%012x', n + last.seq), kind, 'ada', to_peer_id, to_peer_name,
         'plum', attachments, voice, traceparent, 'accepted', created_at, created_at
       from number, (select * from messages order by seq desc limit 1) as last`,
      { count },
    );
    tx.run(`insert or replace into message_words (rowid, text) select seq, text from messages`);
  });
}

Deno.test("a rare sender among many messages is found through further pages, in bounded steps", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "eve", "bob", "plum of eve");
  fill(w, 45_000);
  for (const query of [{ peer: "eve" }, { peer: "eve", q: "plum" }]) {
    const first = await page(w, query);
    assert.deepEqual([first.messages, typeof first.next], [[], "string"]);
    const second = await page(w, { ...query, cursor: first.next ?? "" });
    assert.deepEqual(second.messages.map(({ text }) => text), ["plum of eve"]);
    assert.equal(second.next, null);
  }
  const since = new Date(w.clock.now() - 1000).toISOString();
  assert.equal((await page(w, { peer: "eve", since })).messages.length, 0);
});
