/** Kills: which process is ended, and when the peer is retired. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, eventData, get, post } from "../../../support/daemon/peer_clients.ts";
import { FakePanes, SOCKET } from "../../../support/host/fake_panes.ts";

const PANE = { pane_id: "%3", tmux_socket: SOCKET };

/** An agent with its own process. */
async function agent(w: World, more: Record<string, unknown> = {}) {
  w.processes.start(7, 6);
  return await addPeer(w, "ada", { agent_pid: 7, ...more });
}

Deno.test("a kill sends SIGTERM to the peer's process, and retires the peer", async () => {
  await using w = world();
  const { peer_id } = await agent(w);
  const asked = await ask(w, "cli", "ada");
  const killed = await post(w, "/peers/ada/kill");
  assert.deepEqual(killed, { status: 200, ok: true, peer_id, agent_pid: 7, signal: "SIGTERM" });
  assert.deepEqual(w.processes.signals, [[7, "SIGTERM", "1"]]);
  assert.equal(w.daemon.records.mustGet(peer_id).status, "retired");
  assert.partialDeepStrictEqual(eventData(w, "peer_offline").at(-1), {
    reason: "killed",
    source: "operator",
    detail: "SIGTERM",
    terminal: true,
  });
  assert.equal((await get(w, `/asks/${asked}`)).close_reason, "peer_retired");
});

Deno.test("a process that ignores SIGTERM gets SIGKILL after a grace period", async () => {
  await using w = world();
  const { peer_id } = await agent(w);
  w.processes.killOnly.add(7);
  const killing = post(w, "/peers/ada/kill");
  await w.clock.advance(4_900);
  assert.deepEqual(w.processes.signals, [[7, "SIGTERM", "1"]]);
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
  await w.clock.advance(200);
  assert.equal((await killing).signal, "SIGKILL");
  assert.equal(w.daemon.records.mustGet(peer_id).status, "retired");
});

Deno.test("a kill of an unproved process is refused, and the peer is not retired [c3.peer.kill]", async () => {
  await using w = world();
  w.processes.start(1);
  const cases: [string, Record<string, unknown>, () => void][] = [
    ["no_process", {}, () => undefined],
    ["process_unproved", { agent_pid: 99 }, () => undefined],
    ["other_host", { agent_pid: 7, machine: "elsewhere" }, () => undefined],
    ["not_running", { agent_pid: 7 }, () => w.processes.end(7)],
    ["pid_reused", { agent_pid: 8 }, () => (w.processes.end(8), w.processes.start(8))],
    ["process_protected", { agent_pid: 1 }, () => undefined],
  ];
  for (const [reason, more, then] of cases) {
    w.processes.start(7);
    w.processes.start(8);
    const { peer_id } = await addPeer(w, "ada", { ...more, runtime_session_id: reason });
    then();
    const refused = await post(w, `/peers/${peer_id}/kill`);
    const { status, error } = refused;
    assert.deepEqual([status, error, refused.reason], [409, "kill_refused", reason]);
    assert.notEqual(w.daemon.records.mustGet(peer_id).status, "retired", reason);
  }
  assert.deepEqual(w.processes.signals, []);
});

Deno.test("a kill refuses a process outside its pane, a tmux server and a shared process", async () => {
  const paneObserver = new FakePanes();
  await using w = world({ paneObserver });
  w.processes.start(6);
  w.processes.start(100, 6); // The pane's process, a child of the tmux server.
  w.processes.start(9);
  paneObserver.open("%3");
  await agent(w, PANE);
  assert.equal((await post(w, "/peers/ada/kill")).reason, "agent_elsewhere");
  paneObserver.within.set("%3", 7);
  const eve = await addPeer(w, "eve", { agent_pid: 7, backend: "codex" });
  assert.equal((await post(w, "/peers/ada/kill")).reason, "process_shared");
  await post(w, `/peers/${eve.peer_id}/offline`);
  await addPeer(w, "bob", { agent_pid: 6 });
  assert.equal((await post(w, "/peers/bob/kill")).reason, "process_protected");
  assert.deepEqual(w.processes.signals, []);
  assert.equal((await post(w, "/peers/ada/kill")).ok, true);
  await addPeer(w, "joe", { agent_pid: 9, pane_id: "%4", tmux_socket: SOCKET });
  assert.equal((await post(w, "/peers/joe/kill")).ok, true, "the process outlived its pane");
});

Deno.test("a peer that comes back in another process during a kill is not retired", async () => {
  await using w = world();
  const { peer_id } = await agent(w);
  w.processes.killOnly.add(7);
  const killing = post(w, "/peers/ada/kill");
  await w.clock.advance(1000);
  w.processes.start(9);
  await addPeer(w, "ada", { peer_id, agent_pid: 9 });
  await w.clock.advance(5000);
  assert.equal((await killing).reason, "replaced");
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
});

Deno.test("a peer that is closed during a kill stays closed", async () => {
  await using w = world();
  const { peer_id } = await agent(w);
  w.processes.killOnly.add(7);
  const killing = post(w, "/peers/ada/kill");
  await w.clock.advance(1000);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.clock.advance(5000);
  assert.equal((await killing).ok, true);
  assert.equal((await get(w, `/peers/${peer_id}`)).error, "unknown_peer");
});
