/** The daemon when the clock is set: what ticks goes on ticking, and what is due runs at once. */

import assert from "node:assert/strict";
import { getHealth } from "../../../daemon/api/events/contract.ts";
import { addPeer, connectPeer, eventData } from "../../support/daemon/peer_clients.ts";
import { readSchedule, schedule } from "../../support/daemon/schedules.ts";
import { type World, world } from "../../support/world.ts";

const HOUR_MS = 3_600_000;
const STEPS_MS = {
  "two hours back": -2 * HOUR_MS,
  "two hours on": 2 * HOUR_MS,
  "a minute back": -60_000,
};

/** Runs the daemon's own loop in place of `w.tick`. */
function running(w: World): AsyncDisposable {
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
    await using _loop = running(w);
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
    await using _loop = running(w);
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
  await using _loop = running(w);
  await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  for (const fire_at of ["1h", "2h", "7h"]) await schedule(w, { fire_at });
  await w.clock.advance(3500);
  w.clock.step(8 * HOUR_MS);
  await w.clock.advance(1000);
  assert.equal(bob.of("notify").length, 3);
});
