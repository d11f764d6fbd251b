/**
 * Machines with different clocks, or clocks that are set, exchange messages and answers as usual.
 */

import assert from "node:assert/strict";
import { listMachines } from "protocol/machines.ts";
import { broadcast, notifyPeer } from "protocol/notifications.ts";
import { answer, ask, askOutcome, deliveryOf } from "../../../support/machines/asking.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const SKEWS_MS = {
  "2 days ahead": 2 * DAY_MS,
  "40 days behind": -40 * DAY_MS,
  "31 years behind, as one without a battery": -31 * 365 * DAY_MS,
};

for (const [name, ahead_ms] of Object.entries(SKEWS_MS)) {
  for (const wrong of ["laptop", "buildbox"] as const) {
    Deno.test(`with the clock of ${wrong} ${name}, an ask is answered`, async () => {
      await using two = await laptopAndBuildbox({ [wrong]: { ahead_ms } });
      const id = await ask(two);
      await two.pass(2);
      await answer(two, "8377");
      await two.pass(2);
      const { state, close_reason, reply } = await askOutcome(two, id);
      assert.deepEqual([state, close_reason, reply], ["closed", "ack_with_msg", "8377"]);
    });

    Deno.test(`with the clock of ${wrong} ${name}, notes and broadcasts arrive`, async () => {
      await using two = await laptopAndBuildbox({ [wrong]: { ahead_ms } });
      const note = { from_peer: "web", to_peer: "api@buildbox", text: "note" };
      await two.laptop.call(notifyPeer, { body: note });
      await two.buildbox.call(broadcast, {
        body: { from_peer: "api", text: "all", circle: "work" },
      });
      await two.pass(2);
      assert.deepEqual(two.api.of("notify").map(({ text }) => text), ["note"]);
      assert.deepEqual(two.web.of("broadcast").map(({ text }) => text), ["all"]);
    });
  }

  Deno.test(`a message that comes before the clock ${name} was measured arrives`, async () => {
    await using two = await laptopAndBuildbox({ buildbox: { ahead_ms } });
    two.network.bus.setReachable(two.buildbox.daemon_id, false);
    await two.pass(2);
    const id = await ask(two);
    two.laptop.daemon.calls?.pings.forget(two.buildbox.daemon_id);
    two.buildbox.daemon.calls?.pings.forget(two.laptop.daemon_id);
    two.network.bus.setReachable(two.buildbox.daemon_id, true);
    await two.pass(5);
    assert.equal((await deliveryOf(two, id)).state, "accepted");
    assert.equal(two.api.of("ask").length, 1);
  });
}

for (const ms of [-2 * HOUR_MS, 2 * HOUR_MS, -60_000]) {
  Deno.test(`a machine whose clock is set by ${ms} ms stays online, and can be called`, async () => {
    await using two = await laptopAndBuildbox({
      laptop: { settings: { "mesh.bus.allow_admin": '["buildbox"]' } },
      buildbox: { ahead_ms: 0, settings: { "mesh.bus.allow_admin": '["laptop"]' } },
    });
    await two.pass(40);
    two.buildbox.clock.step(ms);
    const id = await ask(two);
    await two.pass(2);
    await answer(two, "8377");
    await two.pass(2);
    assert.equal((await askOutcome(two, id)).reply, "8377");
    for (let minute = 0; minute < 5; minute++) {
      await two.pass(60);
      for (const machine of [two.laptop, two.buildbox]) {
        const { machines } = await machine.call(listMachines, {});
        assert.deepEqual(machines.map(({ status }) => status), ["online"]);
      }
    }
    const changes = [...two.laptop.events, ...two.buildbox.events];
    assert.deepEqual(changes.filter(({ type }) => type === "machine_changed").length, 2);
    const { machines } = await two.laptop.call(listMachines, {});
    assert.equal(machines[0]?.clock_ahead_ms, ms);
  });
}
