import assert from "node:assert/strict";
import { failure } from "../../../support/nats/bus_machine.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, GAMMA, Network } from "../../../support/nats/network.ts";

natsTest("a call is answered by the machine that it names, which knows who asks", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  const texts = ["one", "two", "three"];
  const answers = await Promise.all(texts.map((text) => alpha.call(beta, text)));
  assert.deepEqual(answers, texts.map((text) => `${ALPHA} asked ${text}`));
});

natsTest(
  "a machine that is not connected is known at once, long before the time is over",
  async () => {
    await using network = await Network.start();
    const alpha = await network.machine(ALPHA);
    const from = performance.now();
    await assert.rejects(alpha.call(GAMMA, "ping", 60_000), failure("no_answer", "no"));
    assert.ok(performance.now() - from < 10_000);
  },
);

natsTest("a call that the other machine rejects, or answers too late, has no answer", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  const hold = Promise.withResolvers<string>();
  beta.onCall = (_, text) => text === "late" ? hold.promise : Promise.reject(new Error("no"));
  await assert.rejects(alpha.call(beta, "late", 50), failure("no_answer", "unknown"));
  await assert.rejects(alpha.call(beta, "bad", 50), failure("no_answer"));
  assert.deepEqual(beta.warnings, ["A call of another machine got no answer"]);
  hold.resolve("");
});

natsTest("a call ends with the connection", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  const asked = Promise.withResolvers<void>();
  const hold = Promise.withResolvers<string>();
  beta.onCall = () => {
    asked.resolve();
    return hold.promise;
  };
  const call = assert.rejects(alpha.call(beta, "ping", 60_000), failure("unreachable"));
  await asked.promise;
  await network.server.kill();
  await call;
  hold.resolve("");
});
