import assert from "node:assert/strict";
import { daemonId, NAMESPACE, OTHER_SECRET, relayWorld, SECRET } from "./world.ts";

Deno.test("a daemon that dialled is listed with what it said of itself", async () => {
  await using r = relayWorld();
  await using _d = await r.daemon(1);
  assert.deepEqual(r.relay.machines.list(NAMESPACE), [{
    daemon_id: daemonId(1),
    machine: "here",
    connected_at: r.clock.now(),
    version: "0.1.0",
    capabilities: { ask_pull_delivery: true },
  }]);
});

Deno.test("a request through the tunnel is answered by the daemon's own route", async () => {
  await using r = relayWorld();
  await using d = await r.daemon(1);
  const answer = await r.ask(1, "/health");
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).daemon_id, d.daemon.identity.daemon_id);
});
