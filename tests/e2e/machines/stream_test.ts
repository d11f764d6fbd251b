/** A stream that is full, and one in which its operator repeats, forges and reorders batches. */

import assert from "node:assert/strict";
import { listDeliveries } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { TEST_LIMITS } from "../../support/nats/nats_server.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { AnsweringPeer } from "../../support/real_machines/answering_peer.ts";
import { Operator } from "../../support/real_machines/operator.ts";
import type { RealMachine } from "../../support/real_machines/real_machine.ts";
import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { until } from "../../support/waiting.ts";

const BATCHES_BYTES = 96 << 10;
const NOTE_BYTES = 20_000;
const NOTES = 12;

async function deliveriesOf(machine: RealMachine) {
  const { deliveries, unaccounted } = await machine.call(listDeliveries, {
    query: { limit: "500" },
  });
  assert.deepEqual(unaccounted, []);
  return deliveries;
}

/** Waits until the other machines have accepted all messages of a machine. */
async function waitForReports(machine: RealMachine): Promise<void> {
  let found: string[] = [];
  const isAccepted = async () => (found = await outcomes(machine)).join() === "accepted -";
  await until("the reports", isAccepted).catch((error) => {
    throw new Error(`The messages are: ${found.join(", ")}`, { cause: error });
  });
}

/** The states and reasons of a machine's messages, without repetition. */
async function outcomes(machine: RealMachine): Promise<string[]> {
  const deliveries = await deliveriesOf(machine);
  return [...new Set(deliveries.map(({ state, reason }) => `${state} ${reason ?? "-"}`))].sort();
}

natsTest(
  "while the stream is full messages wait with that reason, and then arrive in order",
  async () => {
    const limits = { ...TEST_LIMITS, batches_bytes: BATCHES_BYTES };
    await using network = await RealNetwork.start({ limits });
    const laptop = await network.join("laptop");
    const buildbox = await network.join("buildbox");
    await using web = await AnsweringPeer.connect(laptop, "web");
    await using docs = await AnsweringPeer.connect(laptop, "docs");
    await using api = await AnsweringPeer.connect(buildbox, "api");
    await network.sees(laptop, "api@buildbox");
    const notify = (to_peer: string, text: string) =>
      laptop.call(notifyPeer, { body: { from_peer: web.id, to_peer, text } });

    await buildbox.stop();
    const texts = Array.from({ length: NOTES }, (_, at) => `${at} `.padEnd(NOTE_BYTES, "x"));
    for (const text of texts) {
      const { delivery_id } = await notify("api@buildbox", text);
      await until("the bus to take it or not", async () => {
        const found = (await deliveriesOf(laptop)).find((delivery) =>
          delivery.delivery_id === delivery_id
        );
        return found && (found.state === "sent" || found.reason === "bus_full");
      });
    }
    assert.deepEqual(await outcomes(laptop), ["queued bus_full", "sent -"]);

    await notify("docs", "Local work goes on");
    await until("the local note", () => docs.texts.includes("Local work goes on"));
    const shown = async () => (await laptop.mesh("machines")).out;
    await until(
      "the offline machine",
      async () => /^buildbox +offline.* \d+, oldest /m.test(await shown()),
    );

    await buildbox.start();
    await api.reconnect();
    await until("all notes", () => api.texts.length === NOTES);
    assert.deepEqual(api.texts, texts);
    await waitForReports(laptop);
  },
);

natsTest(
  "batches that the operator repeats, forges and reorders change nothing, and order returns",
  async () => {
    await using network = await RealNetwork.start();
    const operator = await Operator.connect(network);
    await operator.unprotect();
    const laptop = await network.join("laptop");
    const buildbox = await network.join("buildbox");
    const cloud = await network.join("cloud");
    await using web = await AnsweringPeer.connect(laptop, "web");
    await using api = await AnsweringPeer.connect(buildbox, "api");
    await network.sees(laptop, "api@buildbox");
    const notify = async (text: string) => {
      const body = { from_peer: web.id, to_peer: "api@buildbox", text };
      const { delivery_id } = await laptop.call(notifyPeer, { body });
      await until("the bus to have it", async () => {
        const deliveries = await deliveriesOf(laptop);
        return deliveries.find((delivery) => delivery.delivery_id === delivery_id)?.state ===
          "sent";
      });
    };

    await buildbox.stop();
    for (const text of ["first", "second", "third"]) await notify(text);
    // A probe or a position may be among them.
    const [first, second, third] = await operator.waitingFor(buildbox);
    assert.ok(first && second && third, "Each note is a batch");
    // Forged: in the name of another machine, changed, and made up.
    await operator.put(cloud, buildbox, first.data);
    await operator.put(laptop, buildbox, first.data.map((byte, at) => at === 40 ? byte ^ 1 : byte));
    await operator.put(laptop, buildbox, crypto.getRandomValues(new Uint8Array(500)));
    await operator.put(laptop, buildbox, new Uint8Array());
    // Reordered: the first one comes last, and the second one is lost.
    await operator.remove(first);
    await operator.remove(second);
    await operator.put(laptop, buildbox, first.data);

    await buildbox.start();
    await api.reconnect();
    await until("all notes", () => api.texts.length === 3);
    assert.deepEqual(api.texts, ["first", "second", "third"]);

    // Replayed: old batches once more, after all was applied.
    for (const { data } of [first, third, second]) await operator.put(laptop, buildbox, data);
    await until("the stream to be empty", async () => await operator.bytes() === 0);
    const { delivery_id } = await laptop.call(notifyPeer, {
      body: { from_peer: web.id, to_peer: "api@buildbox", text: "fourth" },
    });
    await until("the last note", () => api.texts.includes("fourth"));
    await until("its report", async () => {
      const deliveries = await deliveriesOf(laptop);
      return deliveries.find((delivery) => delivery.delivery_id === delivery_id)?.state ===
        "accepted";
    });
    assert.deepEqual(api.texts, ["first", "second", "third", "fourth"]);
    assert.equal((await deliveriesOf(buildbox)).length, 4);
    assert.deepEqual(await outcomes(laptop), ["accepted -"]);
    assert.deepEqual(await deliveriesOf(cloud), []);
  },
);

natsTest("messages that a server lost with its store are sent again, and arrive once", async () => {
  await using network = await RealNetwork.start();
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  await using web = await AnsweringPeer.connect(laptop, "web");
  await using api = await AnsweringPeer.connect(buildbox, "api");
  await network.sees(laptop, "api@buildbox");
  const notify = (text: string) =>
    laptop.call(notifyPeer, { body: { from_peer: web.id, to_peer: "api@buildbox", text } });
  await notify("before");
  await until("the first note", () => api.texts.includes("before"));

  await buildbox.stop();
  await notify("lost");
  await until("the bus to have it", async () => (await outcomes(laptop)).includes("sent -"));
  await network.server.stop();
  await network.server.loseStore();
  await network.server.restart();
  await network.bus.prepareStore();
  await buildbox.start();
  await api.reconnect();
  await until("the second note", () => api.texts.includes("lost"));
  await notify("after");
  await until("the third note", () => api.texts.includes("after"));
  assert.deepEqual(api.texts, ["before", "lost", "after"]);
  await waitForReports(laptop);
});
