import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";
import { FakeProcesses, type World, world, type WorldOptions } from "../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  get,
  notify,
  post,
} from "../../support/daemon/peer_clients.ts";

/** A daemon that can stop and start again on the same database. */
function fixture(settings: WorldOptions["settings"] = {}) {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  const db_path = pathOf(directory, "mesh.db");
  return {
    ...shared,
    start: (): World => world({ ...shared, db_path, settings }),
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}

async function restartOn(w: World, start: () => World): Promise<World> {
  await w[Symbol.asyncDispose]();
  return start();
}

Deno.test("after a start every peer is offline until there is evidence of it [c2.peer.restart]", async () => {
  using at = fixture({ "human.name": "sam" });
  at.processes.start(7);
  let w = at.start();
  const ada = await addPeer(w, "ada");
  await addPeer(w, "live", { agent_pid: 7 });
  const gone = await addPeer(w, "gone");
  await post(w, `/peers/${gone.peer_id}/offline`, { terminal: true });
  const { human_peer_id } = await get(w, "/inbox");
  w = await restartOn(w, at.start);
  await using _ = w;
  const states = (await get(w, "/peers")).peers.map((peer: Record<string, string>) => {
    return [peer["name"], peer["status"]];
  });
  assert.deepEqual(
    new Map(states),
    new Map([
      ["sam", "online"],
      ["ada", "offline"],
      ["live", "online"],
      ["gone", "retired"],
    ]),
  );
  const reasons = (await get(w, "/events?type=peer_offline")).events
    .map(({ name, reason }: { name: string; reason: string }) => `${name}: ${reason}`);
  assert.ok(reasons.includes("ada: daemon_restart"));
  assert.equal((await get(w, "/inbox")).human_peer_id, human_peer_id);
  await post(w, "/peers/ada/touch");
  assert.equal((await get(w, `/peers/${ada.peer_id}`)).status, "online");
});

Deno.test("asks, replies, queues and events survive a restart", async () => {
  using at = fixture();
  let w = at.start();
  await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  const open = await ask(w, "ada", "bob", "Open");
  const answered = await ask(w, "ada", "bob", "Answered");
  await post(w, "/ack", { correlation_id: answered, message: "Yes" });
  await notify(w, "ada", "bob", "Waiting");
  const { events: before } = await get(w, "/events");
  w = await restartOn(w, at.start);
  await using _ = w;
  assert.equal((await get(w, `/asks/${open}`)).state, "open");
  assert.equal((await get(w, `/asks/${answered}`)).reply, "Yes");
  const { events } = await get(w, "/events");
  assert.deepEqual(events.slice(0, before.length), before);
  const client = await connectPeer(w, "bob", { peer_id: bob.peer_id });
  assert.equal(client.of("ask")[0]?.text, "Open");
  assert.equal(client.of("notify")[0]?.text, "Waiting");
});

Deno.test("after a restart, messages are sent again to a client with receipts, and never to one without", async () => {
  using at = fixture();
  let w = at.start();
  await connectPeerWithReceipts(w, "careful");
  await connectPeer(w, "plain");
  await notify(w, "ada", "careful");
  const { delivery_id } = await notify(w, "ada", "plain");
  await w.clock.settle();
  w = await restartOn(w, at.start);
  await using _ = w;
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { queued: 1, sent: 1 });
  assert.equal((await connectPeerWithReceipts(w, "careful")).of("notify").length, 1);
  assert.equal((await connectPeer(w, "plain")).of("notify").length, 0);
  await w.tick(31);
  const { stages } = await get(w, `/traces/${delivery_id}`);
  assert.equal(stages.at(-1).stage, "unproved");
});

Deno.test("a delivery in progress stays sent after a restart if a repeat could be read twice", async () => {
  using at = fixture();
  let w = at.start();
  await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => tx.run("update messages set state = 'attempting', rung = 'pane'"));
  w = await restartOn(w, at.start);
  await using _ = w;
  const held = w.daemon.delivery.findMessage(delivery_id);
  assert.deepEqual([held?.state, held?.reason], ["sent", "daemon_restart"]);
  await w.tick(31);
  const { stages } = await get(w, `/traces/${delivery_id}`);
  assert.equal(stages.at(-1).stage, "unproved");
});

Deno.test("a closed or retired peer stays so after a restart", async () => {
  using at = fixture();
  let w = at.start();
  const { peer_id } = await addPeer(w, "bob");
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  w = await restartOn(w, at.start);
  await using _ = w;
  const claim = { name: "bob", path: "/work", backend: "sdk", peer_id };
  assert.equal((await post(w, "/peers", claim)).error, "peer_retired");
  assert.equal(eventData(w, "peer_registered").length, 0);
});
