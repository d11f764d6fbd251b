import assert from "node:assert/strict";
import { VERSION } from "kit/core/version.ts";
import { FRAME_BYTES_MAX } from "../../../../daemon/features/messages/websocket/frames.ts";
import { upgrade } from "../../../../daemon/api/ws/protocol_session.ts";
import { FakeSockets, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

Deno.test("the handshake answers who the connection is [c4.greeting]", async () => {
  await using w = world();
  const bob = w.socket();
  const greeting = await bob.connect({ display_name: "bob", circle: "main", model: "m-1" });
  const peer = await get(w, "/peers/bob");
  assert.deepEqual(greeting, {
    type: "connected",
    peer_id: peer.peer_id,
    session_id: peer.peer_id,
    display_name: "bob",
    mesh_session_id: peer.mesh_session_id,
    server_version: VERSION,
  });
  assert.deepEqual(
    [peer.transport, peer.ws_connected, peer.status, peer.circle, peer.model],
    ["websocket", true, "online", "main", "m-1"],
  );
});

Deno.test("a first frame other than connect is answered, and the socket closes with 4000 [c4.not-connect]", async () => {
  await using w = world();
  for (const first of [{ type: "ping" }, "not json", "[]", "null", '"connect"']) {
    const socket = w.socket();
    await socket.send(first);
    assert.equal(socket.closed?.code, 4000);
    const [error] = socket.of("error");
    assert.deepEqual(Object.keys(error ?? {}).sort(), ["detail", "error", "type"]);
  }
});

Deno.test("an invalid field of connect closes with 4002 [c4.bad-field]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const bad = [
    { display_name: "a b" },
    { display_name: 5 },
    { display_name: "bob", backend: "emacs" },
    { display_name: "bob", circle: "a b" },
    { display_name: "bob", agent_pid: "7" },
    { display_name: "mcp-1" },
    { display_name: "tom", role: "human" },
  ];
  for (const fields of bad) {
    const socket = w.socket();
    await socket.connect(fields);
    assert.equal(socket.closed?.code, 4002, JSON.stringify(fields));
  }
});

Deno.test("with a token configured, connect carries it or the socket closes with 4001 [c4.token]", async () => {
  const token = "a token of 16 letters";
  await using w = world({ settings: { "daemon.auth_token": token } });
  for (const given of [{}, { auth_token: "another token, not ours" }]) {
    const socket = w.socket();
    await socket.connect({ display_name: "bob", ...given });
    assert.equal(socket.closed?.code, 4001);
    assert.equal(socket.of("error")[0]?.error, "unauthorized");
  }
  const bob = await connectPeer(w, "bob", { auth_token: token });
  assert.equal(bob.closed, undefined);
});

Deno.test("a live socket's peer_id is claimed with its certificate or its process, else 4003 [c4.identity] [c4.superseded]", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets });
  w.processes.start(7);
  const { peer_id, birth_certificate } = await addPeer(w, "bob", { agent_pid: 7 });
  const first = await connectPeer(w, "bob", { peer_id, agent_pid: 7 });
  sockets.holders = [8];
  for (const named of [{}, { agent_pid: 7 }]) {
    const thief = await connectPeer(w, "bob", { peer_id, ...named });
    assert.deepEqual([thief.closed?.code, first.closed], [4003, undefined]);
  }
  sockets.holders = [7];
  const second = await connectPeer(w, "bob", { peer_id, agent_pid: 7 });
  assert.deepEqual([first.closed?.code, second.closed], [4009, undefined]);
  await connectPeer(w, "bob", { peer_id, birth_certificate });
  assert.equal(second.closed?.code, 4009);
  const forged = await connectPeer(w, "bob", { peer_id, birth_certificate: "forged" });
  assert.equal(forged.closed?.code, 4003);
  assert.equal((await get(w, "/peers")).peers.length, 1);
});

Deno.test("without a live socket a peer_id is claimed by a connect that agrees with its record", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  assert.equal((await connectPeer(w, "eve", { peer_id })).closed?.code, 4003);
  assert.equal((await connectPeer(w, "bob", { peer_id, backend: "codex" })).closed?.code, 4003);
  assert.equal((await connectPeer(w, "bob", { peer_id })).closed, undefined);
});

Deno.test("bad frames are answered, and the twentieth in a minute closes with 4008 [c4.bad-frames]", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const bad = [
    "{",
    "[]",
    { type: "nonsense" },
    { type: "pong", ping_id: 1 },
    "x".repeat(FRAME_BYTES_MAX + 1),
  ];
  for (let n = 1; n < 20; n++) await bob.send(bad[n % bad.length] ?? "{");
  assert.equal(bob.of("error").length, 19);
  await w.clock.advance(60_001);
  await bob.send("{");
  assert.equal(bob.of("error").length, 20);
  for (let n = 2; n < 20; n++) await bob.send("{");
  assert.equal(bob.of("error").length, 38);
  await bob.send("{");
  assert.equal(bob.closed?.code, 4008);
});

Deno.test("pings are sent every 20 s, and two unanswered ones close with 4010 [c4.pings]", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const eve = await connectPeer(w, "eve");
  for (const ping_id of ["1", "2", "3"]) {
    await w.tick(19);
    assert.equal(eve.of("ping").length, Number(ping_id) - 1);
    await w.tick(1);
    await eve.send({ type: "pong", ping_id });
  }
  assert.equal(bob.of("ping").length, 2);
  assert.equal(bob.closed?.code, 4010);
  assert.deepEqual([eve.of("ping").length, eve.closed], [3, undefined]);
  assert.equal(w.daemon.directory.find("bob").status, "offline");
});

Deno.test("a client that does not read is closed with 4013, and its messages stay queued [c4.too-slow]", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  bob.buffered = 17 * 1024 * 1024;
  const { delivery_state } = await notify(w, "ada", "bob");
  await w.tick();
  assert.deepEqual([delivery_state, bob.closed], ["queued", undefined]);
  await w.tick();
  assert.equal(bob.closed?.code, 4013);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { queued: 1 });
});

Deno.test("frames have exactly the fields of the contract [c4.frames]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada"), bob = await connectPeer(w, "bob");
  const first = await ask(w, "bob", "ada");
  const id = await ask(w, "ada", "bob", "Which?", { reply_to: first });
  await notify(w, "ada", "bob");
  await post(w, "/broadcast", { from_peer: "ada", text: "All" });
  await bob.send({ type: "ack", request_id: "1", correlation_id: id });
  const from = ["from_peer", "from_peer_id", "voice"];
  const common = [...from, "delivery_id", "text", "to_peer", "to_peer_id"];
  const keys = (frame: object | undefined) => Object.keys(frame ?? {}).sort();
  const expected = [...common, "traceparent", "type"];
  assert.deepEqual(keys(bob.of("ask")[0]), ["correlation_id", ...expected, "reply_to"].sort());
  assert.deepEqual(keys(bob.of("notify")[0]), expected.sort());
  assert.deepEqual(keys(bob.of("broadcast")[0]), expected.sort());
  const { delivery_id, traceparent, ...ended } = ada.of("ack")[0] ?? { delivery_id: "" };
  assert.match(traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.match(delivery_id, /^qd-[0-9a-f]{12}$/);
  assert.deepEqual(ended, {
    type: "ack",
    from_peer: "bob",
    from_peer_id: w.daemon.directory.find("bob").peer_id,
    voice: "peer",
    correlation_id: id,
    close_reason: "ack",
    outcome: "acknowledged",
    text: null,
  });
});

Deno.test("queued messages are replayed oldest first, before anything new [c4.replay]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (let n = 1; n <= 250; n++) await notify(w, "ada", "bob", String(n));
  const bob = w.socket();
  const connecting = bob.connect({
    display_name: "bob",
    peer_id: w.daemon.directory.find("bob").peer_id,
  });
  await notify(w, "ada", "bob", "251");
  await connecting;
  await w.clock.settle();
  const texts = bob.of("notify").map(({ text }) => Number(text));
  assert.deepEqual(texts, Array.from({ length: 251 }, (_, index) => index + 1));
});

Deno.test("without receipts the write settles a delivery; with them only the receipt does [c4.receipts]", async () => {
  await using w = world();
  for (const capabilities of [[], ["delivery_receipts"]]) {
    const name = `bob${capabilities.length}`;
    const bob = await connectPeer(w, name, { capabilities });
    await notify(w, "ada", name, "One");
    await notify(w, "ada", name, "Two");
    await w.clock.settle();
    const [frame] = bob.of("notify");
    const delivery_id = frame?.delivery_id ?? "";
    await bob.send({ type: "delivery_ack", delivery_id, status: "accepted" });
    await bob.drop();
    const again = await connectPeer(w, name, { capabilities });
    const expected = capabilities.length === 0 ? [] : ["Two"];
    assert.deepEqual(again.of("notify").map(({ text }) => text), expected);
  }
});

Deno.test("a receipt for another peer's message, or for none, has no effect", async () => {
  await using w = world();
  await connectPeerWithReceipts(w, "bob");
  const eve = await connectPeerWithReceipts(w, "eve");
  const { delivery_id } = await notify(w, "ada", "bob");
  for (const id of [delivery_id, "notif-ffffffffffff", "", "\u0000"]) {
    await eve.send({ type: "delivery_ack", delivery_id: id, status: "seen" });
  }
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { sent: 1 });
  assert.deepEqual([eve.of("error"), eve.closed], [[], undefined]);
});

Deno.test("a client's rejection fails the delivery, and the ask that it carried", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const id = await ask(w, "ada", "bob");
  const delivery_id = bob.of("ask")[0]?.delivery_id ?? "";
  await bob.send({ type: "delivery_ack", delivery_id, status: "failed", detail: "No room" });
  assert.equal((await get(w, `/asks/${id}`)).close_reason, "send_failed");
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { failed: 1 });
});

Deno.test("the verbs work on a socket, each with its own result, and the session is the sender [c4.verbs]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada"), bob = await connectPeer(w, "bob");
  await ada.send({
    type: "ask",
    request_id: "a",
    to_peer: "bob",
    text: "Ready?",
    from_peer: "bob",
  });
  const [asked] = bob.of("ask");
  assert.equal(asked?.from_peer, "ada");
  const correlation_id = asked?.correlation_id;
  await bob.send({ type: "decline", request_id: "b", correlation_id, reason: "Busy" });
  await bob.send({ type: "notify", request_id: "c", to_peer: "ada", text: "Later" });
  await bob.send({ type: "ask", request_id: "d", to_peer: "nobody", text: "Who?" });
  await bob.send({ type: "ask", request_id: "e" });
  const results = bob.of("result");
  const of = (id: string) => results.find(({ request_id }) => request_id === id);
  assert.equal(of("b")?.["close_reason"], "declined");
  assert.equal(of("c")?.["ok"], true);
  assert.deepEqual([of("d")?.["error"], of("e")?.["error"]], ["unknown_peer", "no_target"]);
  assert.equal(ada.of("ack")[0]?.text, "Busy");
  assert.equal(ada.of("notify")[0]?.text, "Later");
});

Deno.test("a status frame is evidence of a turn", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  await bob.send({ type: "status", status: "busy", turn_state: "working" });
  const peer = await get(w, "/peers/bob");
  assert.deepEqual([peer.status, peer.turn_state], ["busy", "working"]);
});

Deno.test("a lost socket takes its peer offline, and the next one brings it back", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const { peer_id } = w.daemon.directory.find("bob");
  await bob.drop();
  assert.equal(w.daemon.directory.find("bob").status, "offline");
  await connectPeer(w, "bob");
  assert.equal(w.daemon.directory.find("bob").peer_id, peer_id);
  assert.equal(w.daemon.directory.find("bob").status, "online");
});

Deno.test("a peer that takes no messages gets no replay when it connects [3.peer.inbound-only.connect]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  await post(w, "/peers/bob/provenance", { addressable: false });
  const bob = await connectPeer(w, "bob", { peer_id });
  assert.deepEqual(bob.of("notify"), []);
  assert.equal((await get(w, "/peers/bob")).addressable, false);
});

Deno.test("an incomplete upgrade request is refused as such, and is no internal error", () => {
  const asked = new Request("http://127.0.0.1/ws", { headers: { upgrade: "websocket" } });
  const wireOn = () => {
    throw new Error("There is no line");
  };
  assert.throws(() => upgrade(asked, wireOn), { code: "upgrade_required" });
});

Deno.test("a request to /ws without an upgrade is refused as such", async () => {
  await using w = world();
  const answer = await get(w, "/ws");
  assert.deepEqual([answer.status, answer.error], [426, "upgrade_required"]);
});
