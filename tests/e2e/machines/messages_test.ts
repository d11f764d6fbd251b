/** Messages between three daemons on a real nats-server, by the command line and by sockets. */

import assert from "node:assert/strict";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { listDeliveries } from "protocol/messages/contract.ts";
import { broadcast, notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { AnsweringPeer } from "../../support/real_machines/answering_peer.ts";
import type { RealMachine } from "../../support/real_machines/real_machine.ts";
import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { until } from "../../support/waiting.ts";

async function isSettled(machine: RealMachine): Promise<boolean> {
  const { counts, unaccounted } = await machine.call(listDeliveries, { query: {} });
  assert.deepEqual(unaccounted, []);
  return ["queued", "attempting", "sent"].every((state) => (counts[state] ?? 0) === 0);
}

natsTest("asks, notes, broadcasts and files reach the peers of three machines", async () => {
  await using network = await RealNetwork.start();
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  const cloud = await network.join("cloud", { at_leaf: true });
  await using web = await AnsweringPeer.connect(laptop, "web");
  await using api = await AnsweringPeer.connect(buildbox, "api", "8377");
  await using db = await AnsweringPeer.connect(cloud, "db", "5432");
  for (const name of ["api@buildbox", "db@cloud"]) await network.sees(laptop, name);

  // A blocking ask, by the name with its machine and by the bare one.
  const asked = await laptop.mesh("ask", "api@buildbox", "Which port?", "--wait");
  assert.deepEqual([asked.code, asked.err], [0, ""]);
  assert.match(asked.out, /8377/);
  assert.match((await laptop.mesh("ask", "db", "Which port?", "--wait")).out, /5432/);
  assert.equal(api.frames[0]?.from_peer, "cli@laptop");

  // An ask over the socket's machine, whose answer is pushed to the asker once.
  const { correlation_id } = await laptop.call(openAsk, {
    body: { from_peer: web.id, to_peer: "api@buildbox", text: "And now?" },
  });
  await until("the answer", () => web.client.appliedContents.includes(`end of ${correlation_id}`));

  const file = `${laptop.state}/notes.bin`;
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  Deno.writeFileSync(file, bytes);
  const noted = await laptop.mesh("notify", "db@cloud", "See the file", "--attach", file);
  assert.equal(noted.code, 0, noted.err);
  const frame = await until(
    "the note",
    () => db.frames.find(({ text }) => text === "See the file"),
  );
  const [attachment] = frame.attachments ?? [];
  assert.equal(attachment?.filename, "notes.bin");
  assert.deepEqual(Deno.readFileSync(attachment.path), bytes);

  const { sent_to } = await laptop.call(broadcast, {
    body: { from_peer: web.id, text: "main is green", circle: "storm" },
  });
  assert.deepEqual(sent_to.map(({ name }) => name).sort(), ["api@buildbox", "db@cloud"]);
  for (const peer of [api, db]) {
    await until("the broadcast", () => peer.texts.includes("main is green"));
  }
  for (const machine of network.machines) {
    await until(`${machine.name} to be settled`, () => isSettled(machine));
  }
});

natsTest("peers and machines are listed with where they are", async () => {
  await using network = await RealNetwork.start();
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  await using _web = await AnsweringPeer.connect(laptop, "web");
  await using api = await AnsweringPeer.connect(buildbox, "api");
  await network.sees(laptop, "api@buildbox");
  await network.sees(buildbox, "web@laptop");

  const { peers } = await laptop.call(listPeers, { query: {} });
  const { name, machine, daemon_id, transport } = peers.find(({ peer_id }) => peer_id === api.id) ??
    assert.fail("api is not listed");
  assert.deepEqual({ name, machine, daemon_id, transport }, {
    name: "api",
    machine: "buildbox",
    daemon_id: buildbox.id,
    transport: "bus",
  });
  const { out } = await laptop.mesh("machines");
  assert.match(out, new RegExp(`^this machine +laptop, ${laptop.id}$`, "m"));
  assert.match(out, /^bus +connected, nats:/m);
  assert.match(out, new RegExp(`^buildbox +online.* 1 .*${buildbox.id}$`, "m"));

  await buildbox.stop();
  await network.sees(laptop, "api@buildbox", "offline");
  assert.match((await laptop.mesh("machines")).out, /^buildbox +offline/m);
});

natsTest(
  "messages sent while the machine or the server is off arrive once",
  async () => {
    await using network = await RealNetwork.start();
    const laptop = await network.join("laptop");
    const buildbox = await network.join("buildbox");
    await using web = await AnsweringPeer.connect(laptop, "web");
    await using api = await AnsweringPeer.connect(buildbox, "api", "8377");
    await network.sees(laptop, "api@buildbox");
    const notify = (text: string) =>
      laptop.call(notifyPeer, { body: { from_peer: web.id, to_peer: "api@buildbox", text } });

    await buildbox.stop();
    await notify("while buildbox is off");
    const { correlation_id } = await laptop.call(openAsk, {
      body: { from_peer: web.id, to_peer: "api@buildbox", text: "Which port?" },
    });
    await network.server.stop();
    await until("the loss", async () => /^why not/m.test((await laptop.mesh("machines")).out));
    const { delivery_id, delivery_state } = await notify("while the server is off, too");
    assert.equal(delivery_state, "queued");
    const waiting = await laptop.call(listDeliveries, { query: { state: "queued" } });
    const { reason } =
      waiting.deliveries.find((delivery) => delivery.delivery_id === delivery_id) ??
        assert.fail("It does not wait");
    assert.equal(reason, "bus_unreachable");

    await buildbox.start();
    await network.server.restart();
    await api.reconnect();
    await until("all three", () => api.texts.length === 3);
    assert.deepEqual(api.texts, [
      "while buildbox is off",
      "Which port?",
      "while the server is off, too",
    ]);
    const id = correlation_id ?? "";
    const answered = await until("the answer", async () => {
      const ask = await laptop.call(getAsk, { params: { id } });
      return ask.state === "closed" && ask;
    });
    assert.deepEqual([answered.reply, answered.responder], ["8377", "api@buildbox"]);
    for (const machine of network.machines) {
      await until(`${machine.name} to be settled`, () => isSettled(machine));
    }
    assert.equal(api.texts.length, 3);
  },
);

natsTest("machines talk to each other over TLS", async () => {
  await using network = await RealNetwork.start({ tls: true });
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  await using _api = await AnsweringPeer.connect(buildbox, "api", "8377");
  await network.sees(laptop, "api@buildbox");
  assert.match((await laptop.mesh("machines")).out, /^bus +connected, tls:/m);
  assert.match((await laptop.mesh("ask", "api", "Which port?", "--wait")).out, /8377/);
});
