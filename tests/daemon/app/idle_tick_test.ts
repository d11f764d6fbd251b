/** What the heart does while nothing happens: it looks, and writes nothing. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { ask, enter, joinWithReceipts, post } from "../../support/daemon/peer_clients.ts";
import { FakeAgents } from "../../support/host/fake_panes.ts";

Deno.test("while nothing happens the heart writes nothing, whoever is here", async () => {
  const agents = new FakeAgents();
  agents.sighting = { alive: true, turn_state: "idle", source: "screen" };
  await using w = world({ adapters: [agents] });
  w.processes.start(41);
  const seen = { backend: agents.backend, agent_pid: 41, pane_id: "%1", tmux_socket: "/t" };
  const { peer_id } = await enter(w, "seen", { ...seen, turn_state: "idle" });
  await enter(w, "told");
  await joinWithReceipts(w, "connected");
  const correlation_id = await ask(w, "told", "connected");
  await post(w, "/ack", { correlation_id, from_peer: "connected", message: "Yes" });
  await w.beat(5);
  const { db } = w.daemon.ground;
  await db.durable();
  const before = db.commits;
  for (let second = 0; second < 20; second++) await w.beat();
  assert.equal(db.commits, before);
  w.processes.end(41);
  await w.beat();
  assert.ok(db.commits > before, "it looks all the same");
  assert.equal(w.daemon.directory.record(peer_id).status, "offline");
});

Deno.test("what a look has seen that is no news does not undo what was told since", async () => {
  const agents = new FakeAgents();
  await using w = world({ adapters: [agents] });
  w.processes.start(41);
  const place = { backend: agents.backend, agent_pid: 41, pane_id: "%1", tmux_socket: "/t" };
  const { peer_id } = await enter(w, "api", { ...place, turn_state: "idle" });
  const { peers } = w.daemon;
  const looked = w.daemon.directory.addressees();
  peers.turn(peer_id, { turn_state: "working" });
  const idle = { alive: true, turn_state: "idle", source: "screen" } as const;
  for (const peer of looked) peers.observed(peer, idle);
  await w.clock.settle();
  assert.equal(w.daemon.directory.record(peer_id).turn_state, "working");
});
