/** An error that ends the turn of an executor fails the fire that the turn was. */

import assert from "node:assert/strict";
import { world } from "../../../../support/world.ts";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { connectWorker, create, job, update } from "../../../../support/daemon/jobs.ts";

Deno.test("an error that ends the executor's turn fails its fire, and the next turn completes nothing", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const sam = await connectWorker(w, "sam");
  const asked = { title: "Mend", assigned_peer: "api", owner_peer: "sam" };
  const { job_id } = await create(w, asked);
  await api.beginTurn();
  const failure = { turn_state: "idle", error: "server_error", last_message: "Half of it" };
  await post(w, `/peers/${api.peer_id}/turn`, failure);
  const failed = await job(w, job_id);
  assert.deepEqual([failed.state, failed.state_reason], ["failed", "turn_failed"]);
  assert.equal(failed.error, "An error ended the executor's turn: server_error");
  assert.equal(failed.result_summary, null);
  assert.match(sam.reports()[0]?.text ?? "", /"Mend" failed \(turn_failed\)/);
  await api.endTurn("It is noon");
  assert.equal((await job(w, job_id)).state, "failed");
});

Deno.test("an error ends only a fire whose message was seen, unless its executor holds it open", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const delivered = await create(w, { title: "Delivered", assigned_peer: "api" });
  const held = await create(w, { title: "Held", assigned_peer: "api" });
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  const prompt = `[mesh ${deliveries[1].delivery_id}]`;
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "working", prompt });
  await update(w, held.job_id, { state: "awaiting_input" });
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "idle", error: "overloaded" });
  const states = [delivered, held].map(async ({ job_id }) => (await job(w, job_id)).state);
  assert.deepEqual(await Promise.all(states), ["delivered", "awaiting_input"]);
});
