/** Attacks by a member of the network on data of others, with all permissions of its user. */

import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import { Base64UrlPaddedCodec } from "@nats-io/obj";
import { headers, type MsgHdrs } from "@nats-io/transport-node";
import { prepareStore } from "../../../../daemon/machines/nats/store.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { TEST_LIMITS } from "../../../support/nats/nats_server.ts";
import { ALPHA, BETA, GAMMA, Network } from "../../../support/nats/network.ts";

const STREAMS = ["mesh", "KV_mesh_directory", "OBJ_mesh_files"];
const FILE = `${GAMMA}.00aa`;
const utf8 = new TextEncoder();

/** A network in which gamma has stored a batch for beta, its entry and a file; and a thief. */
async function withStored() {
  const network = await Network.start();
  const gamma = await network.machine(GAMMA);
  await network.server.allow(BETA);
  await gamma.publish(BETA, "for beta", "0a");
  await gamma.announce("gamma's entry");
  await gamma.bus.putFile(FILE, utf8.encode("gamma's file"));
  const thief = await network.connect(await network.server.allow(ALPHA));
  const admin = await network.connect({ seed: network.server.admin.seed });
  const { streams } = await jetstreamManager(admin);
  return {
    network,
    gamma,
    admin,
    streams,
    /** Publishes on each subject of its own, and waits until the server has answered. */
    async send(options: { readonly headers?: MsgHdrs; readonly reply?: string }) {
      const subjects = [
        `mesh.batch.${BETA}.${ALPHA}`,
        `$KV.mesh_directory.${ALPHA}`,
        `$O.mesh_files.C.${ALPHA}.00`,
        "$O.mesh_files.M.00",
      ];
      for (const subject of subjects) thief.publish(subject, "x", options);
      await thief.flush();
      await admin.flush();
      // The server handles a stream's answers only after it has answered the ping.
      for (const name of STREAMS) await streams.info(name);
    },
    thief,
    /** The data of gamma that is still there. */
    async remainingData(): Promise<string[]> {
      const found: string[] = [];
      for (const stream of STREAMS) {
        const { state } = await streams.info(stream, { subjects_filter: ">" });
        for (const subject of Object.keys(state.subjects ?? {})) {
          if (subject.includes(GAMMA)) found.push(subject.replace(/[0-9a-f]{16}/, "ID"));
        }
      }
      return found.sort();
    },
    [Symbol.asyncDispose]: () => network[Symbol.asyncDispose](),
  };
}

const STORED = [
  `$KV.mesh_directory.${GAMMA}`,
  `$O.mesh_files.C.${FILE}`,
  `$O.mesh_files.C.${GAMMA}.ID-0`,
  `mesh.batch.${BETA}.${GAMMA}`,
].sort();

for (const scope of ["all", "sub"]) {
  natsTest(`a message with \`Nats-Rollup: ${scope}\` removes nothing of others`, async () => {
    await using at = await withStored();
    assert.deepEqual(await at.remainingData(), STORED);
    const rollup = headers();
    rollup.set("Nats-Rollup", scope);
    await at.send({ headers: rollup });
    assert.deepEqual(await at.remainingData(), STORED);
  });
}

natsTest("the answer to a publication is no request to the API of the store", async () => {
  await using at = await withStored();
  const requests = STREAMS.flatMap((stream) =>
    ["PURGE", "MSG.DELETE", "DELETE", "UPDATE"].map((verb) => `STREAM.${verb}.${stream}`)
  );
  for (const request of [...requests, `CONSUMER.DELETE.mesh.${BETA}`, "CONSUMER.CREATE.mesh"]) {
    for (let time = 0; time < 3; time++) await at.send({ reply: `$JS.API.${request}` });
    assert.deepEqual(await at.remainingData(), STORED, request);
  }
});

natsTest(
  "a member that takes a file's name in the list changes neither the file nor its end",
  async () => {
    await using at = await withStored();
    const record = {
      name: FILE,
      bucket: "mesh_files",
      nuid: ALPHA,
      size: 1,
      chunks: 1,
      deleted: true,
    };
    const subject = `$O.mesh_files.M.${Base64UrlPaddedCodec.encode(FILE)}`;
    await at.thief.request(subject, JSON.stringify(record));
    const beta = await at.network.machine(BETA);
    assert.deepEqual(await beta.bus.getFile(FILE, 1000), utf8.encode("gamma's file"));
  },
);

natsTest(
  "conditions on a sequence, and a time to live, hold for their own message alone",
  async () => {
    await using at = await withStored();
    for (
      const [name, value] of [
        ["Nats-Expected-Last-Sequence", "9999"],
        ["Nats-Expected-Last-Subject-Sequence", "0"],
        ["Nats-TTL", "1s"],
        ["KV-Operation", "PURGE"],
      ] as const
    ) {
      const given = headers();
      given.set(name, value);
      await at.send({ headers: given });
      assert.deepEqual(await at.remainingData(), STORED, name);
    }
  },
);

natsTest(
  "a message that is larger than the server takes ends the thief's connection alone",
  async () => {
    await using at = await withStored();
    assert.throws(() => at.thief.publish(`mesh.batch.${BETA}.${ALPHA}`, new Uint8Array(3 << 20)));
    const entry = new Uint8Array((512 << 10) + 1);
    const answer = await at.thief.request(`$KV.mesh_directory.${ALPHA}`, entry);
    assert.match(answer.string(), /maximum/);
    assert.deepEqual(await at.remainingData(), STORED);
  },
);

natsTest(
  "the store of an earlier version is protected at the next start, and keeps files",
  async () => {
    await using network = await Network.start();
    const admin = await network.connect({ seed: network.server.admin.seed });
    const { streams } = await jetstreamManager(admin);
    const earlier = { allow_rollup_hdrs: true, max_msgs_per_subject: -1 };
    for (const name of STREAMS) {
      const { config } = await streams.info(name);
      await streams.delete(name);
      const { deny_delete: _, deny_purge: __, ...rest } = config;
      await streams.add({ ...rest, ...(name === "mesh" ? {} : earlier) });
    }
    for (const part of ["one", "two"]) await admin.request(`$O.mesh_files.C.${ALPHA}.aa`, part);
    const limits = async () => (await streams.info("OBJ_mesh_files")).config.max_msgs_per_subject;
    await prepareStore(admin, TEST_LIMITS);
    for (const name of STREAMS) {
      const { config } = await streams.info(name);
      assert.deepEqual(
        [config.allow_rollup_hdrs ?? false, config.deny_purge, config.deny_delete],
        [false, true, true],
        name,
      );
    }
    assert.equal(await limits(), -1);
    const messages = async () => (await streams.info("OBJ_mesh_files")).state.messages;
    assert.equal(await messages(), 2);
  },
);
