import assert from "node:assert/strict";
import { FakeClock } from "../../../support/clock.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, GAMMA, Network } from "../../../support/nats/network.ts";
import { until } from "../../../support/waiting.ts";

natsTest("entries of the others are announced: existing entries, and each change", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  await alpha.announce("first");
  const beta = await network.machine(BETA);
  await until("the first entry", () => beta.announced.length === 1);
  await alpha.announce("second");
  await beta.announce("own");
  await until("the second entry", () => beta.announced.length === 2);
  await alpha.bus.withdraw();
  await until("the end", () => beta.announced.length === 3);
  assert.deepEqual(beta.announced, [`${ALPHA} first`, `${ALPHA} second`, `${ALPHA} -`]);
  await until("beta's entry", () => alpha.announced.length > 0);
  assert.deepEqual(alpha.announced, [`${BETA} own`]);
});

natsTest("an entry lapses 60 s after it was written last, on the clock of the reader", async () => {
  await using network = await Network.start();
  const clock = new FakeClock();
  const alpha = await network.machine(ALPHA);
  const gamma = await network.machine(GAMMA);
  const beta = await network.machine(BETA, { clock });
  await alpha.announce("one");
  await gamma.announce("one");
  await until("both entries", () => beta.announced.length === 2);
  await clock.advance(40_000);
  await alpha.announce("two");
  await until("the renewal", () => beta.announced.length === 3);
  beta.announced.length = 0;
  await clock.advance(19_999);
  assert.deepEqual(beta.announced, []);
  await clock.advance(1);
  assert.deepEqual(beta.announced, [`${GAMMA} -`]);
  await clock.advance(40_000);
  assert.deepEqual(beta.announced, [`${GAMMA} -`, `${ALPHA} -`]);
});

natsTest("an old entry that is read again after a reconnection is not prolonged", async () => {
  await using network = await Network.start();
  const clock = new FakeClock();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA, { clock });
  await alpha.announce("one");
  await until("the entry", () => beta.announced.length === 1);
  await clock.advance(40_000);
  await network.server.stop();
  await beta.down();
  await network.server.restart();
  await until("beta to connect", async () => {
    await clock.advance(100);
    return beta.bus.status().status === "connected";
  });
  await beta.bus.roundTrip();
  await clock.advance(20_000);
  assert.deepEqual(beta.announced, [`${ALPHA} one`, `${ALPHA} -`]);
});

natsTest(
  "heartbeats reach the others and are not stored; a machine does not hear its own",
  async () => {
    await using network = await Network.start();
    const alpha = await network.machine(ALPHA);
    const beta = await network.machine(BETA);
    await alpha.bus.beat(new TextEncoder().encode("alive"));
    await until("the heartbeat", () => beta.beats.length > 0);
    await alpha.bus.roundTrip();
    assert.deepEqual([alpha.beats, beta.beats], [[], [`${ALPHA} alive`]]);
    assert.equal(alpha.bus.canBeat(), true);
  },
);

natsTest(
  "a server with the permissions of an earlier version has no heartbeats, and all else",
  async () => {
    const edit = (config: string) => config.replaceAll(/.*"mesh\.beat\..*\n/g, "");
    await using network = await Network.start({ edit });
    const alpha = await network.machine(ALPHA);
    const beta = await network.machine(BETA);
    await alpha.bus.roundTrip();
    assert.deepEqual([alpha.bus.canBeat(), beta.bus.canBeat()], [false, false]);
    await alpha.announce("entry");
    await alpha.publish(beta, "batch", "0a");
    await until("both", () => beta.announced.length + beta.batches.length === 2);
  },
);
