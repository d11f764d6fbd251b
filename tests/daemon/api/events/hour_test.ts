/** Figures of the last hour. */

import assert from "node:assert/strict";
import { DeliveryTimes, Hour, MINUTES } from "../../../../daemon/api/events/hour.ts";
import { FakeClock } from "../../../support/clock.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

const MINUTE_MS = 60_000;

Deno.test("percentiles of delivery times are exact below 32 ms, and right to a sixteenth above", () => {
  const times = new DeliveryTimes();
  assert.equal(times.spread(), null);
  for (let ms = 1; ms <= 20; ms++) times.add(ms);
  assert.deepEqual(times.spread(), { p50: 10, p99: 20 });
  for (const ms of [100, 999, 12_345, 3_600_000]) {
    const single = new DeliveryTimes();
    single.add(ms);
    assert.ok(Math.abs((single.spread()?.p50 ?? 0) - ms) <= ms / 16, `${ms}`);
  }
});

Deno.test("an hour is kept, minute by minute, and no more", async () => {
  const clock = new FakeClock();
  const hour = new Hour(clock);
  for (let minute = 0; minute < MINUTES + 5; minute++) {
    hour.stepped("sent", minute);
    await clock.advance(MINUTE_MS);
  }
  const { minutes, sent_ms } = hour.figures();
  assert.deepEqual(minutes.map(({ sent }) => sent), [...Array(MINUTES - 1).fill(1), 0]);
  assert.equal(minutes[0]?.sent_ms?.p50, 6);
  assert.ok(Math.abs((sent_ms?.p50 ?? 0) - 35) <= 35 / 16);
});

Deno.test("a clock that is set back loses no figure", async () => {
  const clock = new FakeClock();
  const hour = new Hour(clock);
  hour.stepped("sent", 1);
  await clock.advance(-5 * MINUTE_MS);
  hour.stepped("seen", 2);
  assert.deepEqual(hour.figures().minutes.map(({ sent, seen }) => [sent, seen]), [[1, 1]]);
});

Deno.test("after the clock was set back, minutes go on, and have the times of the clock", async () => {
  const clock = new FakeClock();
  const hour = new Hour(clock);
  hour.stepped("sent", 1);
  clock.step(-120 * MINUTE_MS);
  await clock.advance(MINUTE_MS);
  hour.stepped("sent", 1);
  hour.stepped("seen", 2);
  const now = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
  const { minutes } = hour.figures();
  assert.deepEqual(minutes.map(({ at, sent }) => [at - now, sent]), [[-MINUTE_MS, 1], [0, 1]]);
});

Deno.test("the queue is sampled once a minute", async () => {
  const clock = new FakeClock();
  const hour = new Hour(clock);
  let samples = 0;
  for (let second = 0; second < 120; second++) {
    hour.tick(() => ++samples);
    await clock.advance(1000);
  }
  assert.ok(samples <= 3, `${samples}`);
  assert.equal(hour.figures().minutes[0]?.queued, 1);
});

Deno.test("GET /figures reports what was sent, what waits, and the size of the database", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await post(w, "/notify", { from_peer: "cli", to_peer: "ada", text: "Hello" });
  const figures = await get(w, "/figures");
  assert.equal(figures.queued, 1);
  assert.ok(figures.database_bytes > 10_000);
  assert.equal(figures.sent_ms, null);
});
