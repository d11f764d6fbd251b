/** Limits against floods and loops: hops, rate per pair, queue size. Checked last of all. */

import assert from "node:assert/strict";
import { PairCounters, PAIRS_MAX } from "../../../../daemon/features/messages/limits.ts";
import { FakeClock } from "../../../support/clock.ts";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { schedule } from "../../../support/daemon/schedules.ts";

const PER_MINUTE = "daemon.limits.pair_per_minute";
const HOPS = "daemon.limits.hops";

/** A world in which a pair may send three messages a minute. */
async function slow(settings: Record<string, string> = {}) {
  const w = world({ settings: { [PER_MINUTE]: "3", ...settings } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  return w;
}

/** Posts a notification; returns its status and `retry_after_seconds`. */
async function sendNotify(
  w: World,
  from_peer = "ada",
  to_peer = "bob",
  path = "/notify",
  more = {},
) {
  const response = await w.post(path, { from_peer, to_peer, text: "Hi", ...more });
  const again = response.headers.get("retry-after");
  return { status: response.status, again, ...await response.json() };
}

Deno.test("a message beyond the rate of a pair is refused, with the time to retry [c8.limits.pair]", async () => {
  await using w = await slow();
  for (let n = 0; n < 3; n++) assert.equal((await sendNotify(w)).status, 200);
  await w.clock.advance(20_000);
  const { status, again, ...refused } = await sendNotify(w);
  assert.deepEqual([status, again], [429, "40"]);
  assert.equal(refused.error, "rate_limited");
  assert.equal(refused.reason, "rate_limited");
  assert.equal(refused.peer_id, w.daemon.directory.find("bob").peer_id);
  assert.deepEqual([refused.limit, refused.retry_after_seconds], [3, 40]);
  await w.clock.advance(39_000);
  assert.equal((await sendNotify(w)).again, "1");
  await w.clock.advance(1000);
  assert.equal((await sendNotify(w)).status, 200);
});

Deno.test("the rate limit uses a sliding minute", async () => {
  await using w = await slow();
  for (let n = 0; n < 3; n++) {
    assert.equal((await sendNotify(w)).status, 200);
    await w.clock.advance(10_000);
  }
  assert.equal((await sendNotify(w)).again, "30");
  await w.clock.advance(30_000);
  assert.equal((await sendNotify(w)).status, 200);
  assert.equal((await sendNotify(w)).again, "10");
});

Deno.test("asks and notifications count together, per sender and recipient", async () => {
  await using w = await slow({ "human.name": "sam" });
  await addPeer(w, "eve");
  await sendNotify(w);
  await sendNotify(w, "ada", "bob", "/ask");
  await sendNotify(w, "ada", "bob", "/ask");
  assert.equal((await sendNotify(w, "ada", "bob", "/ask")).error, "rate_limited");
  assert.equal((await sendNotify(w, "ada", "eve")).status, 200);
  assert.equal((await sendNotify(w, "bob", "ada")).status, 200);
  assert.equal((await sendNotify(w, "cli", "bob")).status, 200);
  for (let n = 0; n < 3; n++) assert.equal((await sendNotify(w, "ada", "sam", "/ask")).status, 200);
  assert.equal((await sendNotify(w, "ada", "sam")).error, "rate_limited");
  assert.equal((await get(w, "/inbox")).items.length, 3);
});

Deno.test("unregistered senders share one rate limit, whatever their names", async () => {
  await using w = await slow();
  await addPeer(w, "eve");
  for (const name of ["cli", "cron", "bot"]) assert.equal((await sendNotify(w, name)).status, 200);
  assert.equal((await sendNotify(w, "cli")).error, "rate_limited");
  assert.equal((await sendNotify(w, "fresh-name")).error, "rate_limited");
  assert.equal((await sendNotify(w, "mcp-0123456789ab", "bob", "/ask")).error, "rate_limited");
  assert.equal(
    (await sendNotify(w, "cli", "eve")).status,
    200,
    "to another recipient they may speak",
  );
  assert.equal(
    (await sendNotify(w, "ada")).status,
    200,
    "a registered peer has a budget of its own",
  );
});

Deno.test("refused messages, rolled back ones and dry runs do not count", async () => {
  await using w = await slow({ "daemon.queue.max_per_peer": "2" });
  for (let n = 0; n < 5; n++) await sendNotify(w, "ada", "bob", "/ask", { dry_run: true });
  for (let n = 0; n < 5; n++) await sendNotify(w, "ada", "nobody");
  await sendNotify(w);
  await sendNotify(w);
  for (let n = 0; n < 5; n++) assert.equal((await sendNotify(w)).error, "queue_full");
  await connectPeer(w, "bob", { peer_id: w.daemon.directory.find("bob").peer_id });
  await w.clock.settle();
  const { db } = w.daemon.ctx;
  db.transact((tx) => tx.run("pragma max_page_count = 60"));
  const long = { text: "x".repeat(200_000) };
  for (let n = 0; n < 5; n++) {
    assert.equal((await sendNotify(w, "ada", "bob", "/notify", long)).error, "storage_failed");
  }
  db.transact((tx) => tx.run("pragma max_page_count = 1000000"));
  assert.equal((await sendNotify(w)).status, 200);
  const refused = await sendNotify(w);
  assert.deepEqual([refused.error, refused.again], ["rate_limited", "60"]);
  assert.equal(eventData(w, "notification").length, 3);
});

Deno.test("a flood within one turn passes up to the limit", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  const flood = await Promise.all(Array.from({ length: 650 }, () => sendNotify(w, "ada")));
  assert.equal(flood.filter(({ status }) => status === 200).length, 600);
  assert.equal(flood.filter(({ error }) => error === "rate_limited").length, 50);
  assert.equal(eventData(w, "notification").length, 600);
});

Deno.test("each copy of a broadcast counts, and the limit fails single copies", async () => {
  await using w = await slow();
  await addPeer(w, "eve");
  for (let n = 0; n < 2; n++) await sendNotify(w);
  const shout = () => post(w, "/broadcast", { from_peer: "ada", text: "All" });
  assert.equal((await shout()).sent_to.length, 2);
  const second = await shout();
  const { peer_id } = w.daemon.directory.find("bob");
  assert.deepEqual(second.failed, [{ peer_id, error: "rate_limited" }]);
  assert.deepEqual([second.status, second.sent_to.length], [200, 1]);
  assert.equal((await sendNotify(w)).error, "rate_limited");
});

Deno.test("replies are not limited, and do not count", async () => {
  await using w = world({ settings: { [PER_MINUTE]: "3" } });
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  for (const asker of ["ada", "ada", "ada"]) {
    const correlation_id = await ask(w, asker, "bob");
    await post(w, "/ack", { correlation_id, message: "Yes" });
  }
  assert.equal(ada.of("ack").length, 3);
  for (let n = 0; n < 3; n++) assert.equal((await sendNotify(w, "bob", "ada")).status, 200);
  assert.equal((await sendNotify(w, "bob", "ada")).status, 429);
});

Deno.test("a limit of zero is off", async () => {
  await using w = world({ settings: { [PER_MINUTE]: "0", [HOPS]: "0" } });
  await connectPeer(w, "bob");
  await addPeer(w, "ada");
  const flood = await Promise.all(Array.from({ length: 1000 }, () => sendNotify(w)));
  assert.ok(flood.every(({ status }) => status === 200));
  let last = await ask(w, "ada", "bob");
  for (let n = 0; n < 30; n++) last = await ask(w, "ada", "bob", "More", { reply_to: last });
});

Deno.test("the limits are checked last", async () => {
  await using w = await slow();
  for (let n = 0; n < 3; n++) await sendNotify(w);
  await post(w, "/peers/bob/provenance", { addressable: false });
  assert.equal((await sendNotify(w)).error, "peer_not_addressable");
  assert.equal((await sendNotify(w, "ada", "bob", "/notify", { text: "" })).status, 422);
  await post(w, "/peers/bob/provenance", { addressable: true });
  assert.equal((await sendNotify(w)).error, "rate_limited");
  assert.equal(
    (await sendNotify(w, "ada", "bob", "/ask", { reply_to: "ask-0" })).error,
    "unknown_ask",
  );
});

/** Opens a chain of follow-ups between ada and bob; returns the last ask or the refusal. */
async function chain(w: World, first: string, count: number, from = "ada", to = "bob") {
  let last = first;
  for (let n = 0; n < count; n++) {
    const [asker, asked] = n % 2 === 0 ? [to, from] : [from, to];
    const answer = await sendNotify(w, asker, asked, "/ask", { reply_to: last });
    if (answer.status !== 200) return { ...answer, after: n };
    last = answer.correlation_id;
  }
  return { error: null, last };
}

Deno.test("a chain of follow-ups is refused after 16 hops, and the refusal closes no ask [c8.limits.hops]", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const refused = await chain(w, await ask(w, "ada", "bob"), 20);
  assert.ok("after" in refused);
  assert.deepEqual([refused.status, refused.error, refused.after], [429, "hop_limit", 16]);
  assert.equal(refused.limit, 16);
  const last = await get(w, `/asks/${refused.reply_to}`);
  assert.deepEqual([last.state, eventData(w, "ask").length], ["open", 17]);
  assert.equal((await sendNotify(w, "bob", "ada", "/ask")).status, 200, "A new chain may begin");
});

Deno.test("an ask from or to the human restarts the hop count", async () => {
  await using w = world({ settings: { "human.name": "sam", [HOPS]: "2" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const start = await chain(w, await ask(w, "ada", "bob"), 2);
  assert.ok("last" in start);
  const full = { reply_to: start.last };
  assert.equal((await sendNotify(w, "bob", "ada", "/ask", full)).error, "hop_limit");
  const to_human = await sendNotify(w, "bob", "sam", "/ask", full);
  assert.equal(to_human.status, 200);
  const after = await chain(w, to_human.correlation_id, 5);
  assert.ok("after" in after);
  assert.deepEqual([after.error, after.after], ["hop_limit", 3]);
  const from_human = await sendNotify(w, "sam", "ada", "/ask", { reply_to: after.reply_to });
  assert.equal(from_human.status, 200);
  const again = await chain(w, from_human.correlation_id, 5);
  assert.ok("after" in again);
  assert.deepEqual([again.error, again.after], ["hop_limit", 3]);
});

Deno.test("queue_full names the peer and the count, and freed slots can be used again", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "3" } });
  const bob = await addPeer(w, "bob");
  const flood = await Promise.all(Array.from({ length: 5 }, () => sendNotify(w)));
  assert.deepEqual(flood.map(({ status }) => status), [200, 200, 200, 429, 429]);
  const { error, peer_id, waiting } = flood[4] ?? {};
  assert.deepEqual([error, peer_id, waiting], ["queue_full", bob.peer_id, 3]);
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${bob.peer_id}&max_results=2`);
  assert.equal(
    (await sendNotify(w)).error,
    "queue_full",
    "What is drained and unsettled may come back",
  );
  const delivery_ids = deliveries.map((delivery: { delivery_id: string }) => delivery.delivery_id);
  await post(w, "/deliveries/receipts", { delivery_ids, status: "accepted" });
  const after = [await sendNotify(w), await sendNotify(w), await sendNotify(w)];
  assert.deepEqual(after.map(({ status }) => status), [200, 200, 429]);
});

Deno.test("messages that return from a socket to the queue count again", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "3" } });
  const bob = await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const socket = await connectPeer(w, "bob", {
    peer_id: bob.peer_id,
    capabilities: ["delivery_receipts"],
  });
  for (let n = 0; n < 2; n++) await notify(w, "ada", "bob");
  await w.clock.settle();
  await socket.drop();
  assert.equal((await sendNotify(w)).error, "queue_full");
});

Deno.test("silent pairs are forgotten, and the number of pairs is bounded", () => {
  const pairs = new PairCounters(), now = new FakeClock().now();
  for (let n = 0; n < PAIRS_MAX + 10; n++) pairs.record(`pair ${n}`, now + Math.floor(n / 100));
  assert.equal(pairs.size, PAIRS_MAX);
  assert.equal(
    pairs.secondsUntilAllowed("pair 0", 1, now),
    0,
    "The one that was silent for longest went",
  );
  assert.equal(pairs.secondsUntilAllowed("pair 10", 1, now), 60);
  pairs.record("pair 10", now + 30_000);
  pairs.expire(now + 60_000);
  assert.equal(pairs.size, 1);
  assert.equal(pairs.secondsUntilAllowed("pair 10", 1, now + 60_000), 30);
  pairs.expire(now + 90_000);
  assert.equal(pairs.size, 0);
});

Deno.test("a clock that is set back does not block a pair for longer than a minute", () => {
  const pairs = new PairCounters(), now = new FakeClock().now();
  const undo = pairs.record("pair", now + 3_600_000);
  assert.equal(pairs.secondsUntilAllowed("pair", 1, now), 0);
  undo();
  pairs.record("pair", now)();
  assert.equal(
    pairs.secondsUntilAllowed("pair", 1, now),
    0,
    "A rolled back message does not count",
  );
});

Deno.test("a notice of the daemon is queued even if the queue is full", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  const { peer_id } = await addPeer(w, "ada");
  await addPeer(w, "bob");
  await notify(w, "bob", "ada");
  await schedule(w, { fire_at: "1m" });
  await post(w, "/peers/bob/offline", { terminal: true });
  await w.tick(60);
  const { deliveries } = await get(w, `/deliveries?peer_id=${peer_id}`);
  const senders = deliveries.map((delivery: { from_peer_name: string }) => delivery.from_peer_name);
  assert.deepEqual(senders.sort(), ["bob", "mesh"]);
});
