import assert from "node:assert/strict";
import { failure } from "../../../support/nats/bus_machine.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, GAMMA, Network } from "../../../support/nats/network.ts";
import { TEST_LIMITS } from "../../../support/nats/nats_server.ts";
import { until } from "../../../support/waiting.ts";

natsTest("a published batch reaches the other machine once, with its sender", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  await alpha.publish(beta, "one");
  await alpha.publish(beta, "one");
  await alpha.publish(beta, "two");
  await until("the batches", () => beta.batches.length >= 2);
  assert.deepEqual(beta.batches, [`${ALPHA} one`, `${ALPHA} two`]);
  assert.deepEqual(alpha.batches, []);
});

natsTest("batches wait for a machine that is off, and come in their order", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const later = await network.server.allow(BETA);
  const sent = Array.from({ length: 50 }, (_, index) => `batch ${index}`);
  for (const text of sent) await alpha.publish(BETA, text);
  const beta = await network.join(later);
  await until("the batches", () => beta.batches.length >= sent.length);
  assert.deepEqual(beta.batches, sent.map((text) => `${ALPHA} ${text}`));
  await until("the bus to drop them", async () => (await beta.bus.backlog()).waiting === 0);
});

natsTest("batches are handled one at a time", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  const { promise, resolve } = Promise.withResolvers<void>();
  let running = 0;
  let running_max = 0;
  beta.onBatch = async () => {
    running_max = Math.max(running_max, ++running);
    await promise;
    running--;
  };
  for (const text of ["one", "two", "three"]) await alpha.publish(beta, text);
  await until("the first", () => running > 0);
  assert.equal((await beta.bus.backlog()).waiting, 3);
  resolve();
  await until("all", () => beta.batches.length === 3);
  assert.equal(running_max, 1);
});

natsTest("a rejected batch comes again, before the batches behind it", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  let rejections = 0;
  beta.onBatch = (text) => {
    if (text === "two" && rejections++ < 1) throw new Error("the disk is full");
  };
  for (const text of ["one", "two", "three"]) await alpha.publish(beta, text);
  await until("all batches", () => beta.batches.length >= 3);
  assert.deepEqual(beta.batches, [`${ALPHA} one`, `${ALPHA} two`, `${ALPHA} three`]);
  assert.equal(rejections, 2);
  assert.deepEqual(beta.warnings, ["A batch could not be taken; it comes again"]);
});

natsTest("a machine that ends before it acknowledges gets the batch again at once", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const allowed = await network.server.allow(BETA);
  const first = await network.join(allowed);
  const started = Promise.withResolvers<void>();
  const hold = Promise.withResolvers<void>();
  first.onBatch = async () => {
    started.resolve();
    await hold.promise;
  };
  await alpha.publish(BETA, "one");
  await alpha.publish(BETA, "two");
  await started.promise;
  await first.bus.close();
  hold.resolve();
  const from = performance.now();
  const second = await network.join(allowed);
  await until("the batches", () => second.batches.length >= 2);
  assert.deepEqual(second.batches, [`${ALPHA} one`, `${ALPHA} two`]);
  assert.ok(performance.now() - from < 15_000); // The server's own timer is 30 s.
});

natsTest("a batch for a machine that was never there is stored", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  await alpha.publish(GAMMA, "one");
  const gamma = await network.machine(GAMMA);
  await until("the batch", () => gamma.batches.length > 0);
  assert.deepEqual(gamma.batches, [`${ALPHA} one`]);
});

natsTest("a full stream refuses a batch, and has certainly not stored it", async () => {
  await using network = await Network.start({
    limits: { ...TEST_LIMITS, batches_bytes: 64 << 10 },
  });
  const alpha = await network.machine(ALPHA);
  const text = "x".repeat(30_000);
  await alpha.publish(BETA, text, "one");
  await alpha.publish(BETA, text, "two");
  await assert.rejects(alpha.publish(BETA, text, "three"), failure("full", "no"));
  const beta = await network.machine(BETA);
  await until("what was stored", () => beta.batches.length === 2);
  await until("room", async () => (await beta.bus.backlog()).waiting === 0);
  await alpha.publish(BETA, "four");
  await until("the batch after it", () => beta.batches.length === 3);
});

natsTest("a batch that is larger than the server takes is refused before it is sent", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const text = "x".repeat(2 << 20);
  await assert.rejects(alpha.publish(BETA, text, "one"), failure("too_large", "no"));
  assert.equal(alpha.bus.status().status, "connected");
});

natsTest("a batch of 512 KB passes", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  await alpha.publish(beta, "x".repeat(512 << 10), "large");
  await until("the batch", () => beta.batches.length === 1);
  assert.equal(beta.batches[0]?.length, ALPHA.length + 1 + (512 << 10));
});

natsTest(
  "the admin sees how full the stream is; a machine sees only the batches that wait for it",
  async () => {
    await using network = await Network.start();
    const admin = await network.join({ ...network.server.admin, daemon_id: GAMMA, name: "server" });
    const alpha = await network.machine(ALPHA);
    await alpha.publish(BETA, "one");
    for (let reads = 0; reads < 2; reads++) {
      assert.deepEqual(await alpha.bus.backlog(), { waiting: 0, bytes: null, max_bytes: null });
    }
    const { waiting, bytes, max_bytes } = await admin.bus.backlog();
    assert.deepEqual({ waiting, max_bytes }, { waiting: 0, max_bytes: TEST_LIMITS.batches_bytes });
    assert.ok(bytes !== null && bytes > 0);
  },
);
