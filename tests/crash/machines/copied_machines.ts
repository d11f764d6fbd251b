/** Longer tests of copied machines: one is stopped and wakes up, one gets a new identity. */

import assert from "node:assert/strict";
import { listMachines } from "protocol/machines.ts";
import { AnsweringPeer } from "../../support/real_machines/answering_peer.ts";
import { busOf, NOTES, withCopy } from "../../support/real_machines/copied_machine.ts";
import { until } from "../../support/waiting.ts";

/** Time limit for an entry that came before its machine was known. */
const PROBE_MS_MAX = 60_000;

/** A machine whose process is stopped yields to its copy, and delivers nothing when it wakes. */
export async function stopFirst(): Promise<void> {
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
}

/** A copy with a new identity is a machine of its own, and sends the messages that it accepted. */
export async function renewCopy(): Promise<void> {
  await using at = await withCopy();
  const { network, laptop, buildbox, copy, docs, copied } = at;
  await until("the copy to be refused", async () => (await busOf(copy)).identity_in_use);
  const [id] = await at.send(copy, copied.id, "docs@laptop", "copy");
  assert.match((await buildbox.mesh("machines", "renew-identity")).err, /was connected first/);
  const { code, out, err } = await copy.mesh(
    "machines",
    "renew-identity",
    "--name",
    "twin",
    "--no-restart",
  );
  assert.equal(code, 0, err);
  const [, key = "", daemon_id = ""] = /mesh machines allow (\S+) (\S+) twin/.exec(out) ?? [];
  assert.notEqual(daemon_id, buildbox.id);
  await network.server.allow(daemon_id, "twin", { seed: "", public_key: key });
  await copy.stop();
  await copy.start();
  await until("all notes of the copy", () => docs.texts.length === NOTES, PROBE_MS_MAX);
  const { machines } = await laptop.call(listMachines, {});
  assert.deepEqual(machines.map(({ name, status }) => `${name} ${status}`), [
    "buildbox online",
    "twin online",
  ]);
  assert.equal(new Set(docs.texts).size, NOTES);
  assert.ok(id);
}
