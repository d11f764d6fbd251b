import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, GAMMA, Network } from "../../../support/nats/network.ts";
import { until } from "../../../support/waiting.ts";

/** A network, and a stolen machine that publishes and subscribes as it likes. */
async function withThief() {
  const network = await Network.start();
  const beta = await network.machine(BETA);
  const allowed = await network.server.allow(ALPHA);
  const thief = await network.connect(allowed);
  return { network, beta, thief, [Symbol.asyncDispose]: () => network[Symbol.asyncDispose]() };
}

/** The server's refusals of an act, once it has processed all that the connection sent. */
async function refusals(connection: NatsConnection, act: () => void): Promise<string[]> {
  const found: string[] = [];
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === "error") found.push(status.error.message);
    }
  })();
  act();
  await connection.flush();
  // The client hands out what it has read in a later turn of the loop.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return found;
}

async function assertPublishRefused(thief: NatsConnection, subjects: readonly string[]) {
  for (const subject of subjects) {
    const found = await refusals(thief, () => thief.publish(subject, "x"));
    assert.equal(found.length, 1, `${subject} is permitted`);
    assert.match(found[0] ?? "", /Permissions Violation for Publish to/);
  }
}

natsTest("a machine cannot publish a batch, a call or an answer as another machine", async () => {
  await using at = await withThief();
  assert.deepEqual(
    await refusals(at.thief, () => at.thief.publish(`mesh.batch.${BETA}.${ALPHA}`, "own")),
    [],
  );
  await assertPublishRefused(at.thief, [
    `mesh.batch.${BETA}.${GAMMA}`,
    `mesh.call.${BETA}.${GAMMA}`,
    `mesh.answer.${BETA}.${GAMMA}.00`,
    `_INBOX_${BETA}.x`,
  ]);
  await until("the batch of its own", () => at.beta.batches.length > 0);
  assert.deepEqual(at.beta.batches, [`${ALPHA} own`]);
});

natsTest("a machine cannot listen to batches, calls, answers or inboxes of others", async () => {
  await using at = await withThief();
  for (
    const subject of [
      ">",
      "mesh.>",
      "mesh.batch.>",
      `mesh.batch.${BETA}.*`,
      `mesh.call.${BETA}.*`,
      "mesh.call.*.*",
      `mesh.answer.${BETA}.*.*`,
      `_INBOX_${BETA}.>`,
      "_INBOX.>",
      "$KV.mesh_directory.>",
      "$JS.EVENT.>",
    ]
  ) {
    const found = await refusals(at.thief, () => {
      at.thief.subscribe(subject, { callback: () => undefined });
    });
    assert.match(found.join(), /Permissions Violation for Subscription to/, subject);
  }
});

natsTest("a machine cannot read, take or remove batches of another one", async () => {
  await using at = await withThief();
  await assertPublishRefused(at.thief, [
    `$JS.API.CONSUMER.CREATE.mesh.${BETA}.mesh.batch.${BETA}.*`,
    `$JS.API.CONSUMER.CREATE.mesh.${ALPHA}.mesh.batch.${BETA}.*`,
    `$JS.API.CONSUMER.CREATE.mesh.${ALPHA}`,
    "$JS.API.CONSUMER.CREATE.mesh",
    `$JS.API.CONSUMER.DURABLE.CREATE.mesh.${ALPHA}`,
    `$JS.API.CONSUMER.MSG.NEXT.mesh.${BETA}`,
    `$JS.API.CONSUMER.DELETE.mesh.${BETA}`,
    `$JS.ACK.mesh.${BETA}.1.1.1.1.0`,
    "$JS.API.STREAM.MSG.GET.mesh",
    "$JS.API.DIRECT.GET.mesh",
    "$JS.API.STREAM.INFO.mesh",
  ]);
});

natsTest("the consumer of a machine cannot be given the filter of another one", async () => {
  await using at = await withThief();
  const subject = `$JS.API.CONSUMER.CREATE.mesh.${ALPHA}.mesh.batch.${ALPHA}.*`;
  const config = {
    durable_name: ALPHA,
    name: ALPHA,
    ack_policy: "explicit",
    filter_subject: `mesh.batch.${BETA}.*`,
  };
  const answer = await at.thief.request(
    subject,
    JSON.stringify({ stream_name: "mesh", config, action: "create" }),
  );
  assert.match(JSON.stringify(answer.json()), /filter subject does not match|"error"/);
});

natsTest(
  "a machine cannot change or remove streams, nor the directory's other entries",
  async () => {
    await using at = await withThief();
    await assertPublishRefused(at.thief, [
      ...["mesh", "KV_mesh_directory", "OBJ_mesh_files"].flatMap((stream) => [
        `$JS.API.STREAM.DELETE.${stream}`,
        `$JS.API.STREAM.UPDATE.${stream}`,
        `$JS.API.STREAM.PURGE.${stream}`,
        `$JS.API.STREAM.CREATE.${stream}`,
        `$JS.API.STREAM.MSG.DELETE.${stream}`,
      ]),
      "$JS.API.STREAM.CREATE.other",
      `$KV.mesh_directory.${BETA}`,
      `$O.mesh_files.C.${BETA}.00`,
      "$SYS.REQ.SERVER.PING",
    ]);
  },
);

natsTest("a reply subject cannot make a machine publish where the caller may not", async () => {
  await using at = await withThief();
  at.beta.onCall = () => "answer";
  const gamma = await at.network.machine(GAMMA);
  for (const reply of [`mesh.batch.${GAMMA}.${BETA}`, `mesh.answer.${GAMMA}.${BETA}.00`]) {
    at.thief.publish(`mesh.call.${BETA}.${ALPHA}`, "x", { reply });
  }
  await at.thief.flush();
  // An honest call behind them: the ones before it have been handled.
  assert.equal(await gamma.call(at.beta, "ping"), "answer");
  await gamma.bus.roundTrip();
  assert.deepEqual(gamma.batches, []);
});

natsTest("a machine that calls itself gets no permission for the reply subject", async () => {
  await using at = await withThief();
  const reply = `mesh.batch.${BETA}.${GAMMA}`;
  const received = Promise.withResolvers<void>();
  at.thief.subscribe(`mesh.call.${ALPHA}.*`, { callback: () => received.resolve() });
  at.thief.publish(`mesh.call.${ALPHA}.${ALPHA}`, "x", { reply });
  await received.promise;
  await assertPublishRefused(at.thief, [reply]);
});

natsTest("a consumer that delivers to another subject forges no sender", async () => {
  await using at = await withThief();
  at.thief.publish(`$KV.mesh_directory.${ALPHA}`, "forged");
  for (const deliver_subject of [`mesh.batch.${BETA}.${GAMMA}`, `mesh.call.${BETA}.${GAMMA}`]) {
    const filter_subject = "$KV.mesh_directory.>";
    const name = deliver_subject.replaceAll(".", "_");
    const config = { name, filter_subject, deliver_subject, ack_policy: "none" };
    const subject = `$JS.API.CONSUMER.CREATE.KV_mesh_directory.${name}.${filter_subject}`;
    const stream_name = "KV_mesh_directory";
    const request = JSON.stringify({ stream_name, config, action: "create" });
    const answer = await at.thief.request(subject, request);
    assert.doesNotMatch(answer.string(), /"error"/);
  }
  const calls: string[] = [];
  at.beta.onCall = (from) => {
    calls.push(from);
    return "";
  };
  const gamma = await at.network.machine(GAMMA);
  await gamma.publish(at.beta, "honest");
  await gamma.call(at.beta, "honest");
  await until("the honest batch", () => at.beta.batches.length > 0);
  const manager = await jetstreamManager(
    await at.network.connect({ seed: at.network.server.admin.seed }),
  );
  await until("all of the stream to be read", async () => {
    const { num_pending } = await manager.consumers.info("mesh", BETA);
    return num_pending === 0;
  });
  assert.deepEqual(at.beta.batches, [`${GAMMA} honest`]);
  assert.deepEqual(calls, [GAMMA]);
});
