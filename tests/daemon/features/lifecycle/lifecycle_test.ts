/** The lifecycle of peers: pane takeovers, superseded executions, observations and roles. */

import assert from "node:assert/strict";
import { FakeProcesses, type World, world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  eventTypesSince,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, SOCKET } from "../../../support/host/fake_panes.ts";

const PANE = { pane_id: "%3", tmux_socket: SOCKET };

const statusOf = async (w: World, peer_id: string) => (await get(w, `/peers/${peer_id}`)).status;

Deno.test("a registration on an occupied pane takes the other peer offline, with the cause [c2.peer.takeover]", async () => {
  await using w = world();
  const old = await addPeer(w, "ada", PANE);
  const fresh = await addPeer(w, "bob", PANE);
  assert.deepEqual(eventData(w, "peer_offline"), [{
    peer_id: old.peer_id,
    name: "ada",
    reason: "pane_takeover",
    source: "registration",
    detail: fresh.peer_id,
    terminal: false,
  }]);
  await post(w, `/peers/${old.peer_id}/touch`);
  assert.equal(w.daemon.records.mustGet(old.peer_id).status, "online");
  assert.equal(w.daemon.records.mustGet(old.peer_id).pane_id, null);
  const found = await get(w, `/peers/by-pane/%253?tmux_socket=${SOCKET}`);
  assert.equal(found.peer_id, fresh.peer_id);
});

Deno.test("a pane with the same number on another tmux server is not taken over", async () => {
  await using w = world();
  const here = await addPeer(w, "ada", PANE);
  const there = await addPeer(w, "bob", { ...PANE, machine: "elsewhere" });
  const other = await addPeer(w, "eve", { ...PANE, tmux_socket: "/missing/other" });
  const unknown = await addPeer(w, "joe", { pane_id: "%3" });
  for (const { peer_id } of [here, there, other, unknown]) {
    const { status, pane_id } = w.daemon.records.mustGet(peer_id);
    assert.deepEqual([status, pane_id], ["online", "%3"]);
  }
});

Deno.test("an offline peer loses its pane to a takeover without an event", async () => {
  await using w = world();
  const old = await addPeer(w, "ada", PANE);
  await post(w, `/peers/${old.peer_id}/offline`);
  const since = w.events.length;
  await addPeer(w, "bob", PANE);
  assert.deepEqual(eventTypesSince(w, since), ["peer_registered"]);
  assert.equal(w.daemon.records.mustGet(old.peer_id).pane_id, null);
});

Deno.test("a peer that comes back does not reclaim a pane that another peer took", async () => {
  await using w = world();
  w.processes.start(7);
  const dropped = await addPeer(w, "ada", { ...PANE, runtime_session_id: "s-1" });
  await post(w, "/peer/unregister", { peer_id: dropped.peer_id });
  const retired = await addPeer(w, "bob", PANE);
  await post(w, `/peers/${retired.peer_id}/offline`, { terminal: true });
  const { peer_id } = await addPeer(w, "eve", PANE);
  await addPeer(w, "ada", { runtime_session_id: "s-1" });
  await addPeer(w, "bob", { peer_id: retired.peer_id, agent_pid: 7 });
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
  for (const back of [dropped, retired]) {
    const { status, pane_id } = w.daemon.records.mustGet(back.peer_id);
    assert.deepEqual([status, pane_id], ["online", null]);
  }
});

Deno.test("an offline post of a replaced execution is ignored, until the daemon restarts [3.peer.restart.ignores-offline] [3.peer.restart.ignores-in-memory]", async () => {
  const dir = Deno.makeTempDirSync();
  const options = { db_path: `${dir}/mesh.db`, processes: new FakeProcesses() };
  options.processes.start(7);
  options.processes.start(8);
  const stale = { reason: "agent_exited", pane_id: "%3", agent_pid: 7 };
  let peer_id = "";
  {
    await using w = world(options);
    ({ peer_id } = await addPeer(w, "ada", { ...PANE, agent_pid: 7, runtime_session_id: "s-1" }));
    w.daemon.superseded.add({ peer_id, pane_id: "%3", agent_pid: 7, restart_id: "restart-1" });
    await addPeer(w, "ada", { peer_id, ...PANE, agent_pid: 8 });
    for (const terminal of [false, true]) {
      const answer = await post(w, `/peers/${peer_id}/offline`, { ...stale, terminal });
      assert.deepEqual(answer, { status: 200, ok: true });
      assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
    }
    const ignored = { restart_id: "restart-1", peer_id };
    assert.deepEqual(eventData(w, "peer_restart_offline_ignored"), [ignored, ignored]);
    for (const half of [{ pane_id: "%3" }, { agent_pid: 7 }, { pane_id: "%3", agent_pid: 8 }]) {
      await post(w, `/peers/${peer_id}/touch`);
      await post(w, `/peers/${peer_id}/offline`, { reason: "agent_exited", ...half });
      assert.equal(w.daemon.records.mustGet(peer_id).status, "offline");
    }
  }
  {
    await using w = world(options);
    await post(w, `/peers/${peer_id}/touch`);
    await post(w, `/peers/${peer_id}/offline`, stale);
    assert.equal(w.daemon.records.mustGet(peer_id).status, "offline");
  }
  Deno.removeSync(dir, { recursive: true });
});

Deno.test("replaced executions are forgotten with their peer, and beyond a limit", async () => {
  await using w = world();
  const { superseded } = w.daemon;
  const { peer_id } = await addPeer(w, "ada", PANE);
  for (let agent_pid = 1; agent_pid <= 40; agent_pid++) {
    superseded.add({ peer_id, pane_id: "%3", agent_pid, restart_id: `restart-${agent_pid}` });
  }
  assert.equal(superseded.size, 16);
  assert.equal(superseded.findRestart({ pane_id: "%3", agent_pid: 40 }), "restart-40");
  assert.equal(superseded.findRestart({ pane_id: "%3", agent_pid: 24 }), undefined);
  superseded.add({ peer_id: "peer-other", pane_id: "%4", agent_pid: 1, restart_id: "restart-0" });
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.clock.settle();
  assert.equal(superseded.size, 1);
});

Deno.test("a peer that reconnects by socket is online although its old process ended", async () => {
  await using w = world();
  w.processes.start(7);
  const { peer_id, birth_certificate } = await addPeer(w, "ada", { agent_pid: 7 });
  w.processes.end(7);
  await w.tick();
  assert.equal(w.daemon.records.mustGet(peer_id).status, "offline");
  const socket = await connectPeer(w, "ada", { peer_id, birth_certificate });
  for (let tick = 0; tick < 3; tick++) await w.tick();
  const { status, agent_pid } = w.daemon.records.mustGet(peer_id);
  assert.deepEqual([status, agent_pid, socket.closed], ["online", null, undefined]);
});

Deno.test("a retired peer stays retired, even after a late offline post", async () => {
  await using w = world();
  w.processes.start(7);
  const { peer_id } = await addPeer(w, "ada", { agent_pid: 7 });
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  w.daemon.peers.offline(peer_id, { terminal: true });
  const claim = { name: "ada", path: "/work", backend: "sdk", peer_id, agent_pid: 7 };
  assert.equal((await post(w, "/peers", claim)).error, "peer_retired");
  assert.equal((await get(w, `/peers/${peer_id}`)).error, "unknown_peer");
});

Deno.test("a peer observed to be gone goes offline, with the source of the observation", async () => {
  const agents = new FakeAgents();
  await using w = world({ adapters: [agents] });
  const claude = { backend: "claude-code", pane_id: "%3" };
  const { peer_id } = await addPeer(w, "ada", claude);
  await addPeer(w, "far", { ...claude, machine: "elsewhere" });
  agents.observation = { alive: true, turn_state: "working", source: "session registry" };
  await w.tick(3);
  const { turn_state, status } = w.daemon.records.mustGet(peer_id);
  assert.deepEqual([turn_state, status], ["working", "busy"]);
  agents.observation = { alive: false, turn_state: null, source: "tmux" };
  await w.tick(3);
  assert.deepEqual(eventData(w, "peer_offline"), [{
    peer_id,
    name: "ada",
    reason: "agent_exited",
    source: "tmux",
    detail: null,
    terminal: false,
  }]);
  const far = w.daemon.records.mustGet(w.daemon.directory.find("far").peer_id);
  assert.deepEqual(
    [far.status, far.turn_state],
    ["online", null],
    "another machine is not observed",
  );
});

Deno.test("the age of a turn counts from the time that its observation names", async () => {
  const agents = new FakeAgents();
  await using w = world({ adapters: [agents] });
  const { peer_id } = await addPeer(w, "ada", { backend: "claude-code", pane_id: "%3" });
  const at = w.clock.now() - 400;
  agents.observation = { alive: true, turn_state: "awaiting_input", source: "session records", at };
  await w.tick(3);
  const record = w.daemon.agentPeers.reachable().find((peer) => peer.peer_id === peer_id);
  assert.deepEqual([record?.turn_state, record?.turn_at], ["awaiting_input", at]);
});

Deno.test("a late observation does not affect a newer agent or a connected peer", async () => {
  const agents = new FakeAgents();
  await using w = world({ adapters: [agents] });
  const claude = { backend: "claude-code", pane_id: "%3" };
  const { peer_id } = await addPeer(w, "ada", claude);
  agents.observation = { alive: false, turn_state: null, source: "tmux" };
  agents.onCheck = () => {
    w.daemon.peers.register({ peer_id, path: "/work", backend: "claude-code", pane_id: "%4" });
    agents.onCheck = () => (agents.observation = undefined);
  };
  await w.tick(3);
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
  const socket = await connectPeer(w, "bob", { backend: "claude-code" });
  agents.onCheck = () => undefined;
  agents.observation = { alive: false, turn_state: null, source: "tmux" };
  await w.tick(3);
  assert.equal(socket.closed, undefined);
  assert.equal(w.daemon.directory.find("bob").status, "online");
});

Deno.test("renaming an offline peer leaves it offline; its own report brings it online", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  await post(w, `/peers/${peer_id}/offline`);
  assert.equal((await post(w, `/peers/${peer_id}/name`, { name: "eva" })).status, "offline");
  await post(w, `/peers/${peer_id}/description`, { description: "Here again" });
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
  assert.equal(eventData(w, "peer_online").length, 1);
});

Deno.test("only force displaces a live orchestrator; an offline one is displaced without [c3.peer.role]", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  await addPeer(w, "eve", { circle: "there", role: "orchestrator" });
  const promote = (id: string, more = {}) =>
    post(w, `/peers/${id}/role`, { role: "orchestrator", ...more });
  assert.equal((await promote("ada")).role, "orchestrator");
  assert.equal((await promote("ada")).role, "orchestrator");
  const refused = await promote("bob");
  assert.deepEqual([refused.status, refused.error, refused.peer_id], [
    409,
    "orchestrator_present",
    ada.peer_id,
  ]);
  assert.equal((await promote("bob", { force: true })).role, "orchestrator");
  assert.equal((await get(w, "/peers/ada")).role, "agent");
  await post(w, `/peers/${bob.peer_id}/offline`);
  assert.equal((await promote("ada")).role, "orchestrator");
  assert.deepEqual([w.daemon.records.mustGet(bob.peer_id).role, await statusOf(w, bob.peer_id)], [
    "agent",
    "offline",
  ]);
  assert.equal((await post(w, "/peers/ada/role", { role: "agent" })).role, "agent");
});

Deno.test("the human keeps its role, and no peer can be given it", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  assert.equal((await post(w, "/peers/sam/role", { role: "agent" })).error, "role_fixed");
  assert.equal((await post(w, "/peers/ada/role", { role: "human" })).status, 422);
});
