/** Messages between two machines after the receiver's database was restored from a backup. */

import assert from "node:assert/strict";
import { cancelAsk } from "protocol/asks/contract.ts";
import { listMachines } from "protocol/machines.ts";
import { closePeer } from "protocol/peers/contract.ts";
import {
  type MachineName,
  type RestorableMachines,
  restorableMachines,
} from "../../../support/machines/restored_machines.ts";

Deno.test("an ask that was read before its machine was restored is there again, and answered once", async () => {
  await using mesh = await restorableMachines();
  await mesh.backUp("buildbox");
  const id = await mesh.ask("laptop", "Which port?");
  await mesh.pass(2);
  assert.deepEqual(mesh.got("buildbox", "ask"), ["Which port?"]);
  await mesh.restore("buildbox");
  await mesh.pass(3);
  assert.deepEqual(mesh.got("buildbox", "ask"), ["Which port?"]);
  assert.match(await mesh.stages("laptop", id), /sent_again buildbox went back/);
  const { machines } = await mesh.machine("laptop").world.call(listMachines, {});
  assert.deepEqual(machines.map(({ went_back }) => went_back?.sent_again), [1]);
  await mesh.answer("buildbox", "Which port?", "8377");
  await mesh.pass(2);
  assert.equal((await mesh.readAsk("laptop", id)).reply, "8377");
});

Deno.test("messages that waited at a restored machine arrive, and messages that it still has arrive once", async () => {
  await using mesh = await restorableMachines();
  await mesh.notify("laptop", "before the backup");
  const kept = await mesh.ask("laptop", "kept");
  await mesh.pass(2);
  await mesh.backUp("buildbox");
  mesh.machine("buildbox").socket.frames.length = 0;
  await mesh.notify("laptop", "after it");
  await mesh.ask("laptop", "lost");
  await mesh.pass(2);
  await mesh.restore("buildbox");
  await mesh.pass(3);
  assert.deepEqual(mesh.got("buildbox", "ask"), ["lost"]);
  assert.deepEqual(mesh.got("buildbox", "notify"), ["after it"]);
  assert.equal((await mesh.readAsk("laptop", kept)).state, "open");
});

Deno.test("an answer that the asker's machine lost is sent to it again", async () => {
  await using mesh = await restorableMachines();
  const id = await mesh.ask("laptop", "Which port?");
  await mesh.pass(2);
  await mesh.backUp("laptop");
  await mesh.answer("buildbox", "Which port?", "8377");
  await mesh.pass(2);
  await mesh.restore("laptop");
  await mesh.pass(2);
  assert.equal((await mesh.readAsk("laptop", id)).reply, "8377");
  assert.doesNotMatch(JSON.stringify(mesh.got("buildbox", "notify")), /not delivered/);
});

Deno.test("a peer whose answer was refused is notified again after both machines went back", async () => {
  await using mesh = await restorableMachines();
  await mesh.backUp("laptop");
  await mesh.ask("laptop", "Which port?");
  await mesh.pass(2);
  mesh.network.bus.setReachable(mesh.machine("buildbox").world.daemon_id, false);
  await mesh.answer("buildbox", "Which port?", "8377");
  await mesh.backUp("buildbox"); // The answer is on its way.
  await mesh.restore("laptop"); // The ask is gone.
  mesh.network.bus.setReachable(mesh.machine("buildbox").world.daemon_id, true);
  await mesh.pass(40);
  assert.match(JSON.stringify(mesh.got("buildbox", "notify")), /8377|not delivered/);
  await mesh.restore("buildbox");
  await mesh.pass(40);
  assert.match(JSON.stringify(mesh.got("buildbox", "notify")), /not delivered/);
});

Deno.test("a message that was refused ends as failed also after its sender went back", async () => {
  await using mesh = await restorableMachines();
  mesh.network.bus.setReachable(mesh.machine("buildbox").world.daemon_id, false);
  const id = await mesh.notify("laptop", "for a peer that leaves");
  await mesh.backUp("laptop");
  const { world } = mesh.machine("buildbox");
  await world.call(closePeer, { params: { id: "api" }, query: {} });
  mesh.network.bus.setReachable(world.daemon_id, true);
  await mesh.pass(5);
  assert.equal(await mesh.stateOf("laptop", id), "failed unknown_peer");
  await mesh.restore("laptop");
  await mesh.pass(5);
  assert.equal(await mesh.stateOf("laptop", id), "failed unknown_peer");
});

Deno.test("an ask that was cancelled is closed again at a machine that was restored to before that", async () => {
  await using mesh = await restorableMachines();
  const id = await mesh.ask("laptop", "Which port?");
  await mesh.pass(2);
  const [asked] = mesh.machine("buildbox").socket.of("ask");
  await mesh.backUp("buildbox");
  await mesh.machine("laptop").world.call(cancelAsk, { params: { id }, body: { peer_id: "web" } });
  await mesh.pass(2);
  await mesh.restore("buildbox");
  await mesh.pass(2);
  const received = await mesh.readAsk("buildbox", asked?.correlation_id ?? "");
  assert.deepEqual([received.state, received.close_reason], ["closed", "cancelled"]);
});

Deno.test("a machine that goes back without a start is noticed with the next message", async () => {
  await using mesh = await restorableMachines();
  await mesh.backUp("buildbox");
  mesh.network.bus.setReachable(mesh.machine("buildbox").world.daemon_id, true);
  const lost = await mesh.ask("laptop", "lost");
  await mesh.pass(2);
  // Its first batch of the run never arrives.
  mesh.network.bus.onPublish = (from) => from !== mesh.machine("buildbox").world.daemon_id;
  await mesh.restore("buildbox");
  mesh.network.bus.onPublish = () => true;
  const next = await mesh.ask("laptop", "next");
  await mesh.pass(70);
  assert.deepEqual(mesh.got("buildbox", "ask").toSorted(), ["lost", "next"]);
  assert.deepEqual(await Promise.all([lost, next].map((id) => mesh.stateOf("laptop", id))), [
    "accepted",
    "accepted",
  ]);
});

Deno.test("a machine that goes back is noticed by a sender that was started again, too", async () => {
  await using mesh = await restorableMachines();
  await mesh.backUp("buildbox");
  const lost = await mesh.ask("laptop", "lost");
  await mesh.pass(2);
  await restoreUnheard(mesh, { restarted: "laptop", restored: "buildbox" });
  const next = await mesh.ask("laptop", "next");
  await mesh.pass(70);
  assert.deepEqual(mesh.got("buildbox", "ask").toSorted(), ["lost", "next"]);
  for (const id of [lost, next]) assert.equal(await mesh.stateOf("laptop", id), "accepted");
});

Deno.test("a machine sends an answer again if it restarted before the asker's machine lost it", async () => {
  await using mesh = await restorableMachines();
  const id = await mesh.ask("laptop", "Which port?");
  await mesh.pass(2);
  await mesh.backUp("laptop");
  await mesh.answer("buildbox", "Which port?", "8377");
  await mesh.pass(2);
  await restoreUnheard(mesh, { restarted: "buildbox", restored: "laptop" });
  await mesh.notify("buildbox", "next");
  await mesh.pass(70);
  assert.equal((await mesh.readAsk("laptop", id)).reply, "8377");
});

Deno.test("a machine that is only started again gets nothing twice, and nothing is sent again", async () => {
  await using mesh = await restorableMachines();
  const id = await mesh.ask("laptop", "Which port?");
  await mesh.pass(2);
  await mesh.backUp("buildbox");
  await mesh.backUp("laptop");
  await mesh.pass(2);
  assert.doesNotMatch(await mesh.stages("laptop", id), /sent_again/);
});

/** Starts one machine again and restores the other one, whose first batches never arrive. */
async function restoreUnheard(
  mesh: RestorableMachines,
  { restarted, restored }: { restarted: MachineName; restored: MachineName },
): Promise<void> {
  await mesh.stop(restarted);
  await mesh.start(restarted);
  await mesh.pass(3);
  mesh.network.bus.onPublish = (from) => from !== mesh.machine(restored).world.daemon_id;
  await mesh.restore(restored);
  mesh.network.bus.onPublish = () => true;
}
