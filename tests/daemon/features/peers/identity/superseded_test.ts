/** While a restart replaces an execution: reports of the old one, and messages to its peer. */

import assert from "node:assert/strict";
import {
  addPeer,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  get,
  notify,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import {
  agentInPane,
  registerRelaunched,
  type SpawningWorld,
} from "../../../../support/daemon/restarts.ts";
import {
  advanceUntilSettled,
  codex,
  generic,
  SOCKET,
  spawningWorld,
} from "../../../../support/daemon/spawns.ts";
import { type World, world } from "../../../../support/world.ts";

/** The restart first checks files on a real disk. */
async function waitForSigterm(w: World): Promise<void> {
  while ((await get(w, "/peers/api")).status !== "offline") await w.clock.advance(100);
}

/** An agent that was told to end, and takes its time. */
async function startRestart(fixture: SpawningWorld) {
  const { w, terminals, folder } = fixture;
  const { peer_id, pane_id, agent_pid } = await agentInPane(fixture);
  terminals.deaf = ["SIGTERM", "SIGKILL"];
  const answer = post(w, "/peers/api/restart");
  await waitForSigterm(w);
  const location = { pane_id, tmux_socket: SOCKET, agent_pid, path: folder, backend: "codex" };
  return { peer_id, answer, old: { ...location, runtime_session_id: "s-1" } };
}

Deno.test("reports of the old execution while it is stopped do not bring its peer back [3.peer.restart.relaunch]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  const { peer_id, answer, old } = await startRestart(fixture);
  const status = async () => (await get(w, `/peers/${peer_id}`)).status;
  assert.equal(await status(), "offline");
  const { birth_certificate } = await post(w, "/peers", old);
  const { backend, path } = old;
  for (
    const [where, body] of [
      ["/peers/api/turn", { turn_state: "working", prompt: "Go on" }],
      ["/peers/api/touch", {}],
      ["/peers", old],
      ["/peers", { path, backend, runtime_session_id: "s-1" }],
      ["/peers/identity/validate", { birth_certificate, backend, path }],
      ["/events/chat", { peer_id, role: "user", text: "Go on" }],
    ] as const
  ) {
    const { status: answered } = await post(w, where, body);
    assert.deepEqual([answered, await status()], [200, "offline"], where);
  }
  const socket = await connectPeer(w, "api", { ...old, peer_id });
  assert.equal((await notify(w, "ada", "api")).delivery_state, "queued");
  await w.tick();
  assert.deepEqual([socket.of("notify").length, await status()], [0, "offline"]);
  terminals.deaf = [];
  while (terminals.launches.length === 0) await w.clock.advance(250);
  await w.clock.settle();
  await post(w, "/peers/api/turn", { turn_state: "idle" });
  assert.equal(await status(), "offline", "nothing of the new execution has registered");
  assert.equal((await registerRelaunched(fixture)).peer_id, peer_id);
  assert.equal((await advanceUntilSettled(w, answer)).outcome, "restarted");
  assert.equal(await status(), "online");
  assert.equal(eventData(w, "peer_offline").length, 1);
});

Deno.test("an agent that does not end stays live, and its queue reaches it", async () => {
  await using fixture = await spawningWorld({ adapters: [codex, generic], hooks: {} });
  const { w } = fixture;
  const { peer_id, pane_id, agent_pid } = await agentInPane(fixture);
  fixture.terminals.deaf = ["SIGTERM", "SIGKILL"];
  const proof = { peer_id, agent_pid, backend: "codex", path: undefined };
  const socket = await connectPeerWithReceipts(w, "api", proof);
  const answer = post(w, "/peers/api/restart");
  await waitForSigterm(w);
  assert.equal((await notify(w, "ada", "api")).delivery_state, "queued");
  const { failed } = await advanceUntilSettled(w, answer);
  assert.deepEqual([failed.stage, failed.reason], ["stop", "did_not_stop"]);
  const peer = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([peer.status, peer.pane_id, peer.transport], ["online", pane_id, "websocket"]);
  assert.equal(socket.of("notify").length, 1);
});

Deno.test("an offline peer gets nothing on its open socket until it is heard of again", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  const socket = await connectPeerWithReceipts(w, "bob", { peer_id });
  const lateReports = [
    () => post(w, "/peers/bob/touch"),
    () => socket.send({ type: "status", status: "online" }),
    () => socket.send({ type: "notify", request_id: "1", to_peer: "eve", text: "Hello" }),
    () => post(w, "/peers/bob/rehook", { apply: true }),
  ];
  await addPeer(w, "eve");
  for (const [at, back] of lateReports.entries()) {
    await post(w, "/peers/bob/offline", { reason: "session_end" });
    assert.equal((await notify(w, "ada", "bob")).delivery_state, "queued");
    await w.tick();
    const gone = await get(w, "/peers/bob");
    assert.deepEqual([gone.transport, gone.ws_connected, gone.inbound_status], [
      ...["none", true, "offline"],
    ]);
    assert.equal(socket.of("notify").length, at);
    await back();
    await w.clock.settle();
    assert.equal(socket.of("notify").length, at + 1);
    assert.equal((await get(w, "/peers/bob")).transport, "websocket");
  }
});

Deno.test("a rehook of an offline peer reports its open socket, and changes nothing by default", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  await connectPeer(w, "bob", { peer_id });
  await post(w, "/peers/bob/offline", { reason: "session_end" });
  const looked = await post(w, "/peers/bob/rehook");
  assert.deepEqual([looked.acted, looked.healthy, looked.would_do, looked.reason], [
    ...[false, false, "bring it back online: its socket is open", "session_end"],
  ]);
  assert.equal((await get(w, "/peers/bob")).status, "offline");
  const done = await post(w, "/peers/bob/rehook", { apply: true });
  assert.deepEqual([done.acted, done.healthy, done.transport], [true, true, "websocket"]);
});
