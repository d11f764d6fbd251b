import assert from "node:assert/strict";
import { BackgroundWork } from "kit/core/background.ts";
import { aheadBy } from "../../../../daemon/machines/calls/call_client.ts";
import type { ClockReading } from "../../../../daemon/machines/calls/call_client.ts";
import {
  LATENCY_MS_MAX,
  PING_EVERY_MS,
  Pings,
  PINGS_PER_TICK_MAX,
} from "../../../../daemon/machines/calls/pings.ts";
import { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { twoMachines } from "../../../support/machines/two_machines.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";

type Reading = ClockReading | Problem;

/** Pings of machines that answer with the given readings, in turn. */
function pingsOf({ machines = 1, readings = [] }: { machines?: number; readings?: Reading[] }) {
  const clock = new SwiftClock();
  const all = Array.from(
    { length: machines },
    (_, at) => ({ daemon_id: `dm-${at}`, name: `m${at}` }),
  );
  const pinged: string[] = [];
  const errors: string[] = [];
  const fail = (what: string) => void errors.push(what);
  const log = { debug: fail, info: fail, warn: fail, error: fail };
  const state = { online: all };
  const pings = new Pings({ clock, background: new BackgroundWork(log) }, {
    online: () => state.online,
    client: {
      ping({ daemon_id }) {
        pinged.push(daemon_id);
        const reading = readings.shift() ?? { sent_at: 0, received_at: 0, their_time: 0 };
        return reading instanceof Refusal ? Promise.reject(reading) : Promise.resolve(reading);
      },
    },
  });
  return {
    pings,
    pinged,
    errors,
    state,
    async tick(ms = 1000) {
      await clock.advance(ms);
      pings.tick(clock.monotonic());
      await clock.settle();
    },
  };
}

Deno.test("an online machine is pinged at once, and then every 30 s", async () => {
  const { pinged, tick } = pingsOf({});
  for (let seconds = 0; seconds < 61; seconds++) await tick();
  assert.equal(pinged.length, 3);
});

Deno.test("only machines that are online are pinged", async () => {
  const { pinged, state, tick } = pingsOf({ machines: 2 });
  state.online = state.online.slice(1);
  await tick();
  assert.deepEqual(pinged, ["dm-1"]);
});

Deno.test("many machines are pinged in turn, a few in each second", async () => {
  const seconds = 2 * PING_EVERY_MS / 1000;
  const machines = seconds * PINGS_PER_TICK_MAX;
  const { pinged, tick } = pingsOf({ machines });
  await tick();
  assert.equal(pinged.length, PINGS_PER_TICK_MAX);
  for (let second = 1; second < seconds; second++) await tick();
  assert.equal(new Set(pinged).size, machines);
});

Deno.test("latency and clock are the median of the last three measurements", async () => {
  const reading = (ms: number, ahead: number): ClockReading => ({
    sent_at: 1000,
    received_at: 1000 + ms,
    their_time: 1000 + ms / 2 + ahead,
  });
  const readings = [reading(10, 5), reading(900, 400), reading(20, 7), reading(30, 9)];
  const { pings, tick } = pingsOf({ readings });
  const seen: (number | null)[][] = [];
  const note = () => {
    const { latency_ms, clock_ahead_ms } = pings.of("dm-0");
    seen.push([latency_ms, clock_ahead_ms]);
  };
  note();
  for (let count = 0; count < 4; count++) {
    await tick(PING_EVERY_MS);
    note();
  }
  assert.deepEqual(seen, [[null, null], [10, 5], [900, 400], [20, 7], [30, 9]]);
  pings.forget("dm-0");
  assert.equal(pings.of("dm-0").latency_ms, null);
});

Deno.test("a machine that does not answer keeps its last measurement, and is pinged again", async () => {
  const lost = new Problem("machine_unreachable", {
    machine: "m0",
    reason: "it does not answer",
    may_have_been_delivered: true,
  });
  const good = { sent_at: 0, received_at: 10, their_time: 5 };
  const { errors, pings, pinged, tick } = pingsOf({ readings: [good, lost, good] });
  for (let count = 0; count < 3; count++) await tick(PING_EVERY_MS);
  assert.deepEqual([pings.of("dm-0").latency_ms, pinged.length, errors], [10, 3, []]);
});

Deno.test("the clock of the other machine is compared with the middle of the way there and back", () => {
  assert.equal(aheadBy({ sent_at: 100, received_at: 300, their_time: 1200 }), 1000);
});

Deno.test("a ping is answered to a machine that may not administer", async () => {
  await using two = await twoMachines({}, { allow_admin: [] });
  two.laptop.daemon.tick();
  await two.laptop.clock.settle();
  const measured = two.laptop.daemon.calls?.pings.of(two.buildbox.daemon_id);
  assert.deepEqual(measured, { latency_ms: 0, clock_ahead_ms: 0 });
});

Deno.test("a round trip that was measured long ago is not shown, and the clock's difference is", async () => {
  const reading = { sent_at: 0, received_at: 8, their_time: 5004 };
  const { pings, state, tick } = pingsOf({ readings: [reading] });
  await tick();
  assert.deepEqual(pings.of("dm-0"), { latency_ms: 8, clock_ahead_ms: 5000 });
  state.online = [];
  await tick(LATENCY_MS_MAX + 1000);
  assert.deepEqual(pings.of("dm-0"), { latency_ms: null, clock_ahead_ms: 5000 });
});
