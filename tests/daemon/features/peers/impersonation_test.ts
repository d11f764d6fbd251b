/** The kernel or a certificate proves which peer a caller is; the caller's own claim does not. */

import assert from "node:assert/strict";
import { FakeProcesses, FakeSockets, type World, world } from "../../../support/world.ts";
import { addPeer, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes, SOCKET } from "../../../support/host/fake_panes.ts";
import type { Peer } from "protocol/peers/record.ts";
import { agentInPane, registerRelaunched } from "../../../support/daemon/restarts.ts";
import {
  advanceUntilSettled,
  FakeTerminals,
  spawningWorld,
} from "../../../support/daemon/spawns.ts";

const SESSION_START = { event: "SessionStart", cwd: "/work", source: "startup" };
const CLAIM = { path: "/work", backend: "sdk" };

/** A world whose requests come from process 666, which no peer has registered. */
function untrustedCallers() {
  const sockets = new FakeSockets();
  sockets.holders = [666];
  const w = world({ sockets });
  return {
    w,
    /** Runs `work` as process `pid`. */
    async as<T>(pid: number, work: () => Promise<T>): Promise<T> {
      sockets.holders = [pid];
      try {
        return await work();
      } finally {
        sockets.holders = [666];
      }
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

const recordOf = (w: World, peer_id: string) => get(w, `/peers/${peer_id}`);

Deno.test("an offline peer with a process or a session is not taken over by its id", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  w.processes.start(7);
  const named = [{ agent_pid: 7 }, { runtime_session_id: "s-1" }];
  for (const [index, facts] of named.entries()) {
    const name = `worker-${index}`;
    const { peer_id } = await as(7, () => addPeer(w, name, facts));
    await post(w, `/peers/${peer_id}/offline`);
    for (const guess of [{}, { name }, { name, agent_pid: 7 }, { name, agent_pid: 666 }]) {
      const taken = await post(w, "/peers", { ...CLAIM, ...guess, peer_id });
      assert.deepEqual(
        [taken.status, taken.error],
        [409, "identity_not_proven"],
        JSON.stringify(guess),
      );
      assert.equal(taken.birth_certificate, undefined);
    }
    const thief = await connectPeer(w, name, { peer_id });
    assert.equal(thief.closed?.code, 4003);
    assert.equal((await recordOf(w, peer_id)).status, "offline");
  }
});

Deno.test("a live peer is not taken over by naming its pid or its session", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  w.processes.start(7);
  const facts = { agent_pid: 7, runtime_session_id: "s-1" };
  const { peer_id } = await as(7, () => addPeer(w, "worker", facts));
  for (const guess of [{ agent_pid: 7 }, { runtime_session_id: "s-1" }, facts]) {
    const other = await post(w, "/peers", { ...CLAIM, path: "/evil", ...guess });
    assert.notEqual(other.peer_id, peer_id, JSON.stringify(guess));
  }
  const { path, name } = await recordOf(w, peer_id);
  assert.deepEqual([path, name], ["/work", "worker"]);
});

Deno.test("only a new peer, or one that has proved its identity, gets a certificate", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  w.processes.start(7);
  const first = await as(7, () => addPeer(w, "worker", { agent_pid: 7 }));
  assert.equal(typeof first.birth_certificate, "string");
  const again = await as(7, () => addPeer(w, "worker", { agent_pid: 7 }));
  assert.deepEqual([again.peer_id, typeof again.birth_certificate], [first.peer_id, "string"]);
  const shown = await addPeer(w, "worker", { birth_certificate: again.birth_certificate });
  assert.deepEqual([shown.peer_id, typeof shown.birth_certificate], [first.peer_id, "string"]);
  const plain = await addPeer(w, "poller");
  await post(w, "/peers/poller/offline");
  const back = await addPeer(w, "poller");
  assert.deepEqual([back.peer_id, back.birth_certificate], [plain.peer_id, null]);
});

Deno.test("a retired peer returns with a live process, and gets no certificate without a proof", async () => {
  await using at = untrustedCallers();
  const { w } = at;
  w.processes.start(8);
  const { peer_id } = await addPeer(w, "worker");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  const back = await post(w, "/peers", { ...CLAIM, peer_id, agent_pid: 8 });
  assert.deepEqual([back.status, back.peer_id, back.birth_certificate], [200, peer_id, null]);
});

Deno.test("a peer that names a process of another program cannot have it killed", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  w.processes.start(7);
  w.processes.start(9);
  await addPeer(w, "evil", { agent_pid: 7, backend: "generic" });
  const refused = await post(w, "/peers/evil/kill");
  assert.deepEqual([refused.status, refused.reason], [409, "process_unproved"]);
  assert.equal(w.processes.signals.length, 0);
  await as(9, () => addPeer(w, "worker", { agent_pid: 9 }));
  assert.equal((await post(w, "/peers/worker/kill")).ok, true);
  assert.deepEqual(w.processes.signals.map(([pid]) => pid), [9]);
});

Deno.test("a process in a pane is not killed because a peer names that pane as its own", async () => {
  const [paneObserver, sockets] = [new FakePanes(), new FakeSockets()];
  await using w = world({ paneObserver, sockets });
  paneObserver.open("%3");
  w.processes.start(7); // A person's editor.
  paneObserver.within.set("%3", 7);
  sockets.holders = [666];
  const location = { pane_id: "%3", tmux_socket: SOCKET, agent_pid: 7 };
  await addPeer(w, "evil", { ...location, backend: "generic" });
  const refused = await post(w, "/peers/evil/kill");
  assert.deepEqual([refused.status, refused.reason], [409, "process_unproved"]);
  assert.equal(w.processes.signals.length, 0);
});

Deno.test("a proved process stays proved until another one is named", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  for (const pid of [7, 8]) w.processes.start(pid);
  const { peer_id, birth_certificate } = await as(7, () => addPeer(w, "worker", { agent_pid: 7 }));
  await addPeer(w, "worker", { peer_id, birth_certificate });
  assert.equal((await post(w, "/peers/worker/kill")).ok, true);
});

Deno.test("the processes that a hook names count only if the hook runs below them", async () => {
  let sessions = 0;
  const sockets = new FakeSockets();
  await using w = world({
    sockets,
    hooks: {
      "claude-code": {
        read: () => ({ ...SESSION_START, session_id: `s-${sessions++}` }),
        answer: () => ({}),
      },
    },
  });
  w.processes.start(7);
  w.processes.start(71, 7);
  const hook = (agent: number, own: number) =>
    post(w, "/hooks/claude-code", { n: 1 }, {
      "x-mesh-agent-pid": String(agent),
      "x-mesh-hook-pid": String(own),
    });
  sockets.holders = [666];
  await hook(7, 71);
  sockets.holders = [71];
  await hook(7, 71);
  const { peers } = await get(w, "/peers");
  assert.deepEqual(peers.map(({ agent_pid }: Peer) => agent_pid), [null, 7]);
});

Deno.test("a retired peer is not reclaimed with the pid of an unrelated process", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  for (const pid of [7, 8]) w.processes.start(pid);
  const registration = { agent_pid: 7, role: "orchestrator", runtime_session_id: "s-1" };
  const { peer_id } = await as(7, () => addPeer(w, "boss", registration));
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  for (const agent_pid of [7, 8]) {
    const refused = await post(w, "/peers", { ...CLAIM, peer_id, agent_pid });
    assert.deepEqual([refused.status, refused.error], [409, "identity_not_proven"]);
    const socket = await connectPeer(w, "boss", { peer_id, agent_pid });
    assert.equal(socket.closed?.code, 4003);
  }
  assert.equal((await recordOf(w, peer_id)).status, "retired");
  const back = await as(7, () => post(w, "/peers", { ...CLAIM, peer_id, agent_pid: 7 }));
  assert.deepEqual([back.status, back.role], [200, "orchestrator"]);
});

Deno.test("a retired peer returns with another live process of the caller, and gets no certificate", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  for (const pid of [7, 8]) w.processes.start(pid);
  const { peer_id } = await as(7, () => addPeer(w, "worker", { agent_pid: 7 }));
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  const back = await as(8, () => post(w, "/peers", { ...CLAIM, peer_id, agent_pid: 8 }));
  assert.deepEqual([back.status, back.peer_id, back.birth_certificate], [200, peer_id, null]);
});

Deno.test("a process that reuses the pid of a proved one is not proved", async () => {
  await using at = untrustedCallers();
  const { w, as } = at;
  w.processes.start(7);
  const { birth_certificate } = await as(7, () => addPeer(w, "evil", { agent_pid: 7 }));
  w.processes.end(7);
  w.processes.start(7); // Another program has the pid now.
  const back = await post(w, "/peers", { ...CLAIM, birth_certificate, agent_pid: 7 });
  assert.equal(back.status, 200);
  const refused = await post(w, "/peers/evil/kill");
  assert.deepEqual([refused.status, refused.reason], [409, "process_unproved"]);
  assert.equal(w.processes.signals.length, 0);
});

Deno.test("a peer that was linked by its pane is not taken over by naming its pane and its pid", async () => {
  const [paneObserver, sockets] = [new FakePanes(), new FakeSockets()];
  const terminals = new FakeTerminals(new FakeProcesses());
  await using w = world({ paneObserver, sockets, terminals, adapters: [new FakeAgents()] });
  w.processes.start(7);
  paneObserver.open("%3", { foreground: { pid: 7, started: "1", args: ["claude"] } });
  const { peer_id } = await post(w, "/panes/%253/link", { backend: "claude-code", name: "ada" });
  const location = { pane_id: "%3", tmux_socket: SOCKET, agent_pid: 7 };
  const session = { ...location, path: "/work", backend: "claude-code", runtime_session_id: "s-1" };
  sockets.holders = [666];
  const other = await post(w, "/peers", session);
  assert.notEqual(other.peer_id, peer_id);
  assert.equal((await recordOf(w, other.peer_id)).role, "agent");
  await w.fetch(`/peers/${other.peer_id}`, { method: "DELETE" });
  await post(w, "/panes/%253/link", { backend: "claude-code", name: "ada" });
  const linked = w.daemon.directory.find("ada").peer_id;
  sockets.holders = [7];
  assert.equal((await post(w, "/peers", session)).peer_id, linked, "its own process is it");
});

Deno.test("a peer that restarts is not taken over by naming its pane meanwhile", async () => {
  const sockets = new FakeSockets();
  await using fixture = await spawningWorld({ sockets });
  const { w, terminals } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture);
  sockets.holders = [agent_pid, 666];
  w.processes.start(666);
  const answer = post(w, "/peers/api/restart");
  while (terminals.launches.length === 0) await w.clock.advance(250);
  await w.clock.settle();
  const pane = [...terminals.panes.values()].at(-1);
  const location = { pane_id: pane?.pane_id, tmux_socket: terminals.socket, backend: "codex" };
  const thief = { ...location, path: "/", agent_pid: 666, runtime_session_id: "s-9" };
  const stranger = await post(w, "/peers", thief);
  assert.notEqual(stranger.peer_id, peer_id);
  sockets.holders = [pane?.pane_pid ?? 0];
  assert.equal((await registerRelaunched(fixture)).peer_id, peer_id);
  assert.equal((await advanceUntilSettled(w, answer)).outcome, "restarted");
});
