/** The tick of an idle daemon: it observes, and writes nothing. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { addPeer, ask, connectPeerWithReceipts, post } from "../../support/daemon/peer_clients.ts";
import { FakeAgents } from "../../support/host/fake_panes.ts";

Deno.test("the tick of an idle daemon writes nothing", async () => {
  const agents = new FakeAgents();
  agents.observation = { alive: true, turn_state: "idle", source: "screen" };
  await using w = world({ adapters: [agents] });
  w.processes.start(41);
  const seen = { backend: agents.backend, agent_pid: 41, pane_id: "%1", tmux_socket: "/t" };
  const { peer_id } = await addPeer(w, "seen", { ...seen, turn_state: "idle" });
  await addPeer(w, "told");
  await connectPeerWithReceipts(w, "connected");
  const correlation_id = await ask(w, "told", "connected");
  await post(w, "/ack", { correlation_id, from_peer: "connected", message: "Yes" });
  await w.tick(5);
  const { db } = w.daemon.ctx;
  await db.whenDurable();
  const before = db.commits;
  for (let second = 0; second < 20; second++) await w.tick();
  assert.equal(db.commits, before);
  w.processes.end(41);
  await w.tick();
  assert.ok(db.commits > before, "it looks all the same");
  assert.equal(w.daemon.records.mustGet(peer_id).status, "offline");
});

Deno.test("an observation without news does not undo a later report", async () => {
  const agents = new FakeAgents();
  await using w = world({ adapters: [agents] });
  w.processes.start(41);
  const location = { backend: agents.backend, agent_pid: 41, pane_id: "%1", tmux_socket: "/t" };
  const { peer_id } = await addPeer(w, "api", { ...location, turn_state: "idle" });
  const { turns } = w.daemon;
  const looked = w.daemon.agentPeers.reachable();
  turns.reportTurn(peer_id, { turn_state: "working" });
  const idle = { alive: true, turn_state: "idle", source: "screen" } as const;
  for (const peer of looked) turns.applyObservation(peer, idle);
  await w.clock.settle();
  assert.equal(w.daemon.records.mustGet(peer_id).turn_state, "working");
});
