/** A shutdown while an agent's transport never comes back: bounded, and nothing is lost. */

import assert from "node:assert/strict";
import type { Adapter } from "../../../daemon/features/agents/adapter.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";

const frozen: Adapter = {
  backend: "generic",
  transports: () => [{
    name: "native",
    check: () => Promise.resolve({ ready: true }),
    deliver: () => new Promise(() => undefined),
  }],
  transport: () => "native",
  observe: () => Promise.resolve({ alive: true, turn_state: "idle", source: "registry" }),
};

Deno.test("a daemon shuts down within 4 s while a delivery hangs, and is shut down once", async () => {
  const w = await world({ adapters: [frozen], log_level: "error" });
  w.processes.start(7);
  await addPeer(w, "bot", { backend: "generic", agent_pid: 7 });
  await addPeer(w, "web");
  await w.post("/notify", { from_peer: "web", to_peer: "bot", text: "Hello" });
  await w.clock.advance(2000);
  let isDown = false;
  const down = w.daemon.shutDown().then(() => isDown = true);
  await w.clock.advance(3999);
  assert.equal(isDown, false);
  await w.clock.advance(1);
  await down;
  // The second shutdown, of the disposal, does not wait again.
  await w.daemon.shutDown();
  assert.deepEqual(w.logged, []);
  await w[Symbol.asyncDispose]();
});
