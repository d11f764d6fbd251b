/** Subscriptions and starts of the daemon: what is told of the time in which it was down. */

import assert from "node:assert/strict";
import { formatInstant } from "kit/core/local_time.ts";
import { addPeer, post } from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { readSubscription, subscribe, turn } from "../../../support/daemon/schedules.ts";
import { FakeProcesses } from "../../../support/world.ts";

Deno.test("occurrences before the daemon was killed are reported once afterwards [4.when.durable]", async () => {
  using files = restartableWorld();
  await using first = files.start();
  await addPeer(first, "ada");
  await addPeer(first, "web");
  await turn(first, "web", "working");
  const { subscription_id: id } = await subscribe(first, "peer:web finished");
  await turn(first, "web", "idle");
  await using w = files.startFromCrash();
  await w.tick(1);
  await w.tick(300);
  const { state, fires, last_proof } = await readSubscription(w, id);
  assert.deepEqual([state, fires], ["fired", 1]);
  const since = formatInstant("2030-01-01T00:00:00.000Z");
  assert.equal(last_proof, `web is idle since ${since}, by its hook.`);
});

Deno.test("a start of the daemon is no occurrence: only later reports of peers are [4.when.durable]", async () => {
  using files = restartableWorld();
  await using first = files.start();
  await addPeer(first, "ada");
  await addPeer(first, "web");
  await turn(first, "web", "working");
  const made = await Promise.all(
    ["idle", "offline", "finished"].map((state) => subscribe(first, `peer:web ${state}`)),
  );
  await first.tick(1);
  await using w = files.startFromCrash();
  const states = () =>
    Promise.all(made.map(async ({ subscription_id: id }) => (await readSubscription(w, id)).state));
  await w.tick(10);
  assert.deepEqual(await states(), ["active", "active", "active"]);
  // The turn ended while the daemon was down, which the next report shows.
  await turn(w, "web", "idle");
  await w.tick(1);
  assert.deepEqual(await states(), ["fired", "active", "fired"]);
  await post(w, "/peers/web/offline", { reason: "crashed" });
  await w.tick(1);
  assert.deepEqual(await states(), ["fired", "fired", "fired"]);
});

Deno.test("an agent that runs during a start of the daemon is reported after its next report [4.when.durable]", async () => {
  const processes = new FakeProcesses();
  using files = restartableWorld({ processes });
  processes.start(7);
  await using first = files.start();
  await addPeer(first, "ada");
  await addPeer(first, "web", { agent_pid: 7 });
  await turn(first, "web", "working");
  const made = await Promise.all(
    ["idle", "finished", "offline"].map((state) => subscribe(first, `peer:web ${state}`)),
  );
  await first.tick(1);
  await using w = files.startFromCrash();
  const states = () =>
    Promise.all(made.map(async ({ subscription_id: id }) => (await readSubscription(w, id)).state));
  await w.tick(300);
  assert.deepEqual(await states(), ["active", "active", "active"]);
  await turn(w, "web", "idle");
  await w.tick(1);
  assert.deepEqual(await states(), ["fired", "fired", "active"]);
});

Deno.test("a peer that does not come back after a start of the daemon is reported as offline [4.when.durable]", async () => {
  using files = restartableWorld();
  await using first = files.start();
  await addPeer(first, "ada");
  await addPeer(first, "web");
  const { subscription_id: id } = await subscribe(first, "peer:web offline");
  await first.tick(1);
  await using w = files.startFromCrash();
  await w.tick(59);
  assert.equal((await readSubscription(w, id)).state, "active");
  await w.tick(2);
  const { state, last_proof } = await readSubscription(w, id);
  assert.equal(state, "fired");
  assert.match(last_proof ?? "", /^web is offline \(daemon_restart\) since /);
});
