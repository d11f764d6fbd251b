/** A copied state directory: two real daemons with one id on one bus. */

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { listMachines } from "../../../daemon/features/federation/contract.ts";
import { getMessage } from "../../../daemon/features/messages/log/contract.ts";
import { notifyPeer } from "../../../daemon/features/notifications/contract.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { AnsweringPeer } from "../../support/real_machines/answering_peer.ts";
import { RealMachine } from "../../support/real_machines/real_machine.ts";
import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { temporary } from "../../support/programs/child.ts";
import { until } from "../../support/waiting.ts";

const NOTES = 20;

/** A laptop with `docs`, and a build box with `api`, whose state directory was copied. */
async function withCopy() {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await RealNetwork.start());
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  const docs = stack.use(await AnsweringPeer.connect(laptop, "docs"));
  const api = await AnsweringPeer.connect(buildbox, "api");
  await network.sees(laptop, "api@buildbox");
  await network.sees(buildbox, "docs@laptop");
  await buildbox.stop();
  const state = `${stack.use(temporary()).path}/copy`;
  cpSync(buildbox.state, state, { recursive: true });
  const copy = stack.use(new RealMachine("buildbox", state));
  await buildbox.start();
  await buildbox.connected();
  await api.reconnect();
  stack.use(api);
  await copy.start();
  const copied = stack.use(await AnsweringPeer.connect(copy, "api2"));
  const owned = stack.move();
  return {
    network,
    laptop,
    buildbox,
    copy,
    docs,
    api,
    copied,
    /** Sends numbered notes; returns their ids. */
    async send(from: RealMachine, from_peer: string, to_peer: string, mark: string) {
      const ids: string[] = [];
      for (let at = 0; at < NOTES; at++) {
        const body = { from_peer, to_peer, text: `${mark} ${at}` };
        ids.push((await from.call(notifyPeer, { body })).delivery_id ?? "");
      }
      return ids;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const busOf = async (machine: RealMachine) => (await machine.call(listMachines, {})).bus;

natsTest(
  "a copy of a machine is refused, both say so, and every message arrives once",
  async () => {
    await using at = await withCopy();
    const { laptop, buildbox, copy, docs, api, copied } = at;
    const bus = await until("the copy to be refused", async () => {
      const found = await busOf(copy);
      return found.identity_in_use ? found : undefined;
    });
    assert.deepEqual([bus.status, bus.identity_in_use?.this_one], ["down", "refused"]);
    assert.equal((await busOf(buildbox)).identity_in_use?.this_one, "connected");
    assert.match((await copy.mesh("machines")).out, /renew-identity/);
    assert.match((await copy.mesh("doctor")).out, /another daemon has the identity/);
    assert.match((await buildbox.mesh("doctor")).out, /second daemon/);

    const down = await at.send(laptop, docs.id, "api@buildbox", "down");
    const up = await at.send(buildbox, api.id, "docs@laptop", "up");
    const waiting = await at.send(copy, copied.id, "docs@laptop", "copy");
    await until("all notes", () => api.texts.length === NOTES && docs.texts.length === NOTES);
    await buildbox.kill();
    await buildbox.start();
    await buildbox.connected();
    await api.reconnect();
    await at.send(laptop, docs.id, "api@buildbox", "again");
    await until("the notes after the restart", () => api.texts.length === 2 * NOTES);

    assert.equal(new Set(api.texts).size, 2 * NOTES);
    assert.equal(new Set(docs.texts).size, NOTES);
    assert.equal(docs.texts.length, NOTES);
    assert.deepEqual(copied.texts, []);
    for (const message_id of waiting) {
      const { state, reason } = await copy.call(getMessage, { params: { id: message_id } });
      assert.deepEqual([state, reason], ["queued", "bus_unreachable"]);
    }
    assert.equal(new Set([...down, ...up]).size, 2 * NOTES);
  },
);

natsTest(
  "a machine that is stopped gives way to its copy, and delivers nothing on waking",
  async () => {
    await using at = await withCopy();
    const { laptop, buildbox, copy, docs, api, copied } = at;
    await until("the copy to be refused", async () => (await busOf(copy)).identity_in_use);
    await copy.stop();
    Deno.kill(buildbox.pid, "SIGSTOP");
    const sent = at.send(laptop, docs.id, "api@buildbox", "down");
    await copy.start();
    await copied.reconnect();
    await using twin = await AnsweringPeer.connect(copy, "api");
    await until(
      "the copy to take part",
      async () => (await busOf(copy)).status === "connected",
      20_000,
    );
    await sent;
    await until("the notes at the copy", () => twin.texts.length === NOTES);
    Deno.kill(buildbox.pid, "SIGCONT");
    const bus = await until("the first one to learn it", async () => {
      const found = await busOf(buildbox);
      return found.identity_in_use?.this_one === "refused" ? found : undefined;
    });
    assert.equal(bus.status, "down");
    assert.deepEqual(api.texts, []);
    assert.equal(new Set(twin.texts).size, NOTES);
  },
);

natsTest(
  "a copy that gets a new identity is a machine of its own, and sends what it accepted",
  async () => {
    await using at = await withCopy();
    const { network, laptop, buildbox, copy, docs, copied } = at;
    await until("the copy to be refused", async () => (await busOf(copy)).identity_in_use);
    const [id] = await at.send(copy, copied.id, "docs@laptop", "copy");
    assert.match((await buildbox.mesh("machines", "renew-identity")).err, /was connected first/);
    const { code, out, err } = await copy.mesh("machines", "renew-identity", "--name", "twin");
    assert.equal(code, 0, err);
    const [, key = "", daemon_id = ""] = /mesh machines allow (\S+) (\S+) twin/.exec(out) ?? [];
    assert.notEqual(daemon_id, buildbox.id);
    await network.server.allow(daemon_id, "twin", { seed: "", public_key: key });
    await until("all notes of the copy", () => docs.texts.length === NOTES);
    const { machines } = await laptop.call(listMachines, {});
    assert.deepEqual(machines.map(({ name, status }) => `${name} ${status}`), [
      "buildbox online",
      "twin online",
    ]);
    assert.equal(new Set(docs.texts).size, NOTES);
    assert.ok(id);
  },
);
