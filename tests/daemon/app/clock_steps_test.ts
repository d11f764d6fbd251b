/** The daemon after the clock is set: its ticks go on, and due work runs at once. */

import assert from "node:assert/strict";
import { getHealth } from "protocol/api/events.ts";
import { addPeer, connectPeer, eventData, get, notify } from "../../support/daemon/peer_clients.ts";
import { connectWorker, create, job, stateOf } from "../../support/daemon/jobs.ts";
import { readSchedule, schedule } from "../../support/daemon/schedules.ts";
import { FakeClock } from "../../support/clock.ts";
import { type World, world } from "../../support/world.ts";

const HOUR_MS = 3_600_000;
const STEPS_MS = {
  "two hours back": -2 * HOUR_MS,
  "two hours on": 2 * HOUR_MS,
  "a minute back": -60_000,
};

/** Runs the daemon's own loop in place of `w.tick`. */
function runDaemon(w: World): AsyncDisposable {
  const done = w.daemon.run();
  return {
    async [Symbol.asyncDispose]() {
      await w.daemon.shutDown();
      await done;
    },
  };
}

for (const [name, ms] of Object.entries(STEPS_MS)) {
  Deno.test(`after the clock was set ${name}, the daemon ticks each second`, async () => {
    await using w = world();
    let ticks = 0;
    const done = w.daemon.run(() => ticks++);
    await w.clock.advance(3000);
    w.clock.step(ms);
    await w.clock.advance(10_000);
    assert.equal(ticks, 13);
    await w.daemon.shutDown();
    await done;
  });

  Deno.test(`after the clock was set ${name}, uptime_seconds is how long it has run`, async () => {
    await using w = world();
    await w.clock.advance(30_000);
    w.clock.step(ms);
    await w.clock.advance(5000);
    assert.equal((await w.call(getHealth, {})).uptime_seconds, 35);
  });

  Deno.test(`after the clock was set ${name}, a new schedule fires at its time`, async () => {
    await using w = world();
    await using _loop = runDaemon(w);
    await addPeer(w, "ada");
    const bob = await connectPeer(w, "bob");
    await w.clock.advance(3000);
    w.clock.step(ms);
    const { schedule_id } = await schedule(w, { fire_at: "5s" });
    await w.clock.advance(7000);
    assert.equal((await readSchedule(w, schedule_id)).state, "fired");
    assert.equal(bob.of("notify").length, 1);
  });

  Deno.test(`after the clock was set ${name}, a process that ended is noticed`, async () => {
    await using w = world();
    await using _loop = runDaemon(w);
    w.processes.start(7);
    await addPeer(w, "pane", { agent_pid: 7 });
    await w.clock.advance(3000);
    w.clock.step(ms);
    w.processes.end(7);
    await w.clock.advance(60_000);
    assert.equal(eventData(w, "peer_offline").length, 1);
  });
}

Deno.test("all that fell due while the machine was suspended runs within a second", async () => {
  await using w = world();
  await using _loop = runDaemon(w);
  await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  for (const fire_at of ["1h", "2h", "7h"]) await schedule(w, { fire_at });
  await w.clock.advance(3500);
  w.clock.step(8 * HOUR_MS);
  await w.clock.advance(1000);
  assert.equal(bob.of("notify").length, 3);
});

Deno.test("a job that was put off for a moment is not put off for as long as the clock was set back", async () => {
  await using w = world({ settings: { "daemon.limits.pair_per_minute": "1" } });
  const { socket } = await connectWorker(w);
  const fields = { assigned_peer: "api", created_by: "ada" };
  await create(w, { title: "One", ...fields });
  const { job_id } = await create(w, { title: "Two", ...fields });
  await w.tick(5);
  assert.equal((await job(w, job_id)).state_reason, "rate_limited");
  w.clock.step(-2 * HOUR_MS);
  for (let second = 0; second < 75; second++) {
    for (const { ping_id } of socket.of("ping")) await socket.send({ type: "pong", ping_id });
    await w.tick();
  }
  assert.notEqual(await stateOf(w, job_id), "queued");
});

/** Sets the clock during a lease; returns the seconds until its message is handed over again. */
async function releasedAfter(w: World, ms: number): Promise<number> {
  const { peer_id } = await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const pending = async () => {
    const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
    return deliveries.length;
  };
  assert.equal(await pending(), 1);
  await w.tick(10);
  w.clock.step(ms);
  let seconds = 10;
  while (await pending() === 0 && seconds < 300) {
    await w.tick();
    seconds++;
  }
  return seconds;
}

for (const [name, ms] of Object.entries(STEPS_MS)) {
  Deno.test(`a clock that is set ${name} neither shortens nor prolongs a lease`, async () => {
    await using w = world();
    assert.equal(await releasedAfter(w, ms), 60);
  });

  Deno.test(`a clock that is set ${name} takes no peer offline that was just seen`, async () => {
    await using w = world();
    await addPeer(w, "quiet");
    await w.tick();
    w.clock.step(ms);
    await w.tick(500);
    assert.deepEqual(eventData(w, "peer_offline"), []);
    await w.tick(101);
    assert.equal(eventData(w, "peer_offline").length, 1);
  });

  Deno.test(`a clock that is set ${name} leaves asks to many their time`, async () => {
    await using w = world();
    await addPeer(w, "ada");
    await addPeer(w, "bob");
    const body = { from_peer: "ada", to_peers: ["bob"], text: "?", timeout_seconds: 120 };
    const { parent_id } = await (await w.post("/asks/many", body)).json();
    const state = async () => (await get(w, `/asks/many/${parent_id}`)).state;
    await w.tick(10);
    w.clock.step(ms);
    await w.tick(100);
    assert.equal(await state(), "pending");
    await w.tick(11);
    assert.equal(await state(), "complete");
  });

  Deno.test(`a clock that is set ${name} leaves a person the time for an approval`, async () => {
    await using w = world({ settings: { "human.name": "sam" } });
    await addPeer(w, "ada");
    const body = { from_peer: "ada", prompt: "Deploy?", scope: "deploy", timeout_seconds: 60 };
    let verdict: unknown;
    const asking = w.post("/questions/ask-blocking", {
      ...body,
      correlation_id: "ask-1234567890ab",
    });
    void asking.then(() => verdict = "answered");
    await w.tick(10);
    w.clock.step(ms);
    // The caller's connection breaks, and it asks again.
    const again = w.post("/questions/ask-blocking", {
      ...body,
      correlation_id: "ask-1234567890ab",
    });
    let second: unknown;
    void again.then(() => second = "answered");
    await w.tick(45);
    assert.deepEqual([verdict, second], [undefined, undefined]);
    await w.tick(6);
    assert.deepEqual([verdict, second], ["answered", "answered"]);
  });

  Deno.test(`a clock that is set ${name} neither refuses nor forgets who sends too much`, async () => {
    await using w = world({ settings: { "daemon.limits.pair_per_minute": "3" } });
    await addPeer(w, "ada");
    await addPeer(w, "bob");
    const send = async () =>
      (await w.post("/notify", { from_peer: "ada", to_peer: "bob", text: "x" })).status;
    for (let sent = 0; sent < 3; sent++) assert.equal(await send(), 200);
    await w.tick(10);
    w.clock.step(ms);
    assert.equal(await send(), 429);
    await w.tick(51);
    assert.equal(await send(), 200);
  });
}

/** A clock on which time passes between any two readings. */
class RunningClock extends FakeClock {
  #readings = 0;

  override now(): number {
    return super.now() + this.#readings++;
  }
}

Deno.test("a lease survives a clock step, also if time passes while it is written", async () => {
  await using w = world({ clock: new RunningClock() });
  const { peer_id } = await addPeer(w, "box");
  await notify(w, "ada", "box");
  const pending = async () =>
    (await get(w, `/deliveries/pending?peer_id=${peer_id}`)).deliveries.length;
  assert.equal(await pending(), 1);
  w.clock.step(2 * HOUR_MS);
  await w.tick(5);
  assert.equal(await pending(), 0);
});
