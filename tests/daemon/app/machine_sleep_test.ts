/** A machine that slept for a night: what was due runs once, and nobody is lost. */

import assert from "node:assert/strict";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  get,
  notify,
  post,
} from "../../support/daemon/peer_clients.ts";
import { connectWorker, createRecurring, list } from "../../support/daemon/jobs.ts";
import { readSchedule, schedule } from "../../support/daemon/schedules.ts";
import { FakeProcesses, type FakeSocket, type World, world } from "../../support/world.ts";

const HOUR_MS = 3_600_000;
const NIGHT_MS = 8 * HOUR_MS;

/** Sleeps, and runs the first ticks after it. Timers go on where they were. */
async function sleepNight(w: World): Promise<void> {
  w.clock.sleepMachine(NIGHT_MS);
  for (let second = 0; second < 3; second++) await w.tick();
}

/** Answers the pings that came, as a client does that slept, too. */
async function answerPings(socket: FakeSocket): Promise<void> {
  for (const { ping_id } of socket.of("ping")) await socket.send({ type: "pong", ping_id });
}

Deno.test("after a night peers with a socket or a process are neither offline nor retired", async () => {
  const processes = new FakeProcesses();
  processes.start(7);
  await using w = world({ processes });
  const bob = await connectPeer(w, "bob");
  await addPeer(w, "pane", { agent_pid: 7 });
  await sleepNight(w);
  for (let seconds = 0; seconds < 90; seconds += 10) {
    await answerPings(bob);
    await w.tick(10);
  }
  assert.equal(bob.closed, undefined);
  const { peers } = await get(w, "/peers");
  const statuses = peers.map(({ name, status }: Record<string, string>) => `${name} ${status}`);
  assert.deepEqual(statuses.toSorted(), ["bob online", "pane online"]);
  assert.deepEqual(eventData(w, "peer_offline"), []);
});

Deno.test("a message after the night is delivered, and so is one from before it", async () => {
  await using w = world();
  await (await connectPeer(w, "away")).drop();
  await notify(w, "ada", "away", "before");
  await sleepNight(w);
  await notify(w, "ada", "away", "after");
  const away = await connectPeer(w, "away");
  await w.tick();
  assert.deepEqual(away.of("notify").map(({ text }) => text), ["before", "after"]);
});

Deno.test("a schedule that was due in the night fires once", async () => {
  await using w = world();
  await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  const once = await schedule(w, { fire_at: "2h" });
  const hourly = await schedule(w, { cron: "0 * * * *" });
  await sleepNight(w);
  await w.tick(30);
  assert.equal(bob.of("notify").length, 2, "one for each schedule");
  assert.equal((await readSchedule(w, once.schedule_id)).state, "fired");
  const { last_fired_at, next_fire_at } = await readSchedule(w, hourly.schedule_id);
  assert.deepEqual([last_fired_at, next_fire_at], [
    "2030-01-01T08:00:01.000Z",
    "2030-01-01T09:00:00.000Z",
  ]);
});

Deno.test("a recurring job that was due several times in the night runs once", async () => {
  await using w = world();
  await connectWorker(w);
  await createRecurring(w, { title: "Look", assigned_peer: "api", cron: "0 * * * *" });
  await sleepNight(w);
  await w.tick(30);
  const { work } = await list(w);
  assert.equal(work.length, 1);
});

Deno.test("an ask expires after 24 hours of the clock, a night of sleep included", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const old = await ask(w, "ada", "bob", "old");
  w.clock.sleepMachine(17 * HOUR_MS);
  const young = await ask(w, "ada", "bob", "young");
  await sleepNight(w);
  const states = await Promise.all([old, young].map((id) => get(w, `/asks/${id}`)));
  assert.deepEqual(states.map(({ close_reason }) => close_reason), ["evicted", null]);
  assert.deepEqual(ada.of("ack").map(({ correlation_id }) => correlation_id), [old]);
});

Deno.test("a message leased before the night is leased again after it, with the same id", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  await sleepNight(w);
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  const found = deliveries.map((delivery: Record<string, unknown>) => [
    delivery["delivery_id"],
    delivery["redelivered"],
  ]);
  assert.deepEqual(found, [[delivery_id, true]]);
});

Deno.test("a client that vanished without closing its socket is found, and its messages wait", async () => {
  await using w = world();
  const careful = await connectPeerWithReceipts(w, "careful");
  const plain = await connectPeer(w, "plain");
  await notify(w, "ada", "careful", "one");
  await notify(w, "ada", "plain", "two");
  for (let seconds = 0; seconds < 60; seconds++) await w.tick(); // Neither answers a ping.
  assert.deepEqual([careful.closed?.code, plain.closed?.code], [4010, 4010]);
  const { counts, unproved } = await get(w, "/deliveries");
  assert.deepEqual([counts, unproved], [{ queued: 1, sent: 1 }, 1]);
  const again = await connectPeerWithReceipts(w, "careful");
  assert.deepEqual(again.of("notify").map(({ text }) => text), ["one"]);
  assert.deepEqual(
    (await connectPeer(w, "plain")).of("notify"),
    [],
    "it may have read the message",
  );
});

Deno.test("a clock that is set back fires nothing again and loses nobody", async () => {
  await using w = world();
  await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  await schedule(w, { fire_at: "10m" });
  await w.tick(601);
  w.clock.step(-HOUR_MS);
  for (let seconds = 0; seconds < 90; seconds += 10) {
    await answerPings(bob);
    await w.tick(10);
  }
  assert.equal(bob.of("notify").length, 1);
  assert.equal(bob.closed, undefined);
  assert.equal(
    (await post(w, "/notify", { from_peer: "ada", to_peer: "bob", text: "x" })).status,
    200,
  );
  assert.equal(bob.of("notify").length, 2);
});
