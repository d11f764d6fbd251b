import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  eventTypesSince,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

const RECORD = `peer_id name display_name path machine daemon_id tmux_session tmux_socket pane_id
  terminal backend model circle role status turn_state waits_for last_seen
  offline_since offline_reason description tags
  reminders queue_max pair_per_minute hook_messages wake wake_policy
  metadata agent_pid mesh_session_id
  source parent_peer_id ephemeral addressable transport ws_connected inbound_status
  last_delivery_at last_delivery_failure_at pending_ask_count oldest_pending_age_seconds
  registered_at`.split(/\s+/);

/** Fields that only `GET /peers/:id` adds to the record. */
const ADDED: ReadonlySet<string> = new Set(["restart", "children", "children_count"]);

Deno.test("a peer's record has every field, null when unknown, and no other [4.peers.get] [4.peers.register] [c2.peer.fields]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  const { status: _, ...peer } = await get(w, `/peers/${peer_id}`);
  const found = Object.keys({ ...peer, status: "online" }).filter((key) => !ADDED.has(key));
  assert.deepEqual(found.sort(), RECORD.toSorted());
  assert.equal(peer.name, peer.display_name);
  assert.deepEqual([peer.backend, peer.model, peer.transport], ["sdk", null, "none"]);
  assert.match(peer.registered_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

Deno.test("an unknown peer is 404 on every route, and the detail names it [c1.unknown-peer]", async () => {
  await using w = world();
  for (const path of ["touch", "offline", "turn", "provenance"]) {
    const answer = await post(w, `/peers/nobody/${path}`, {});
    assert.deepEqual([answer.status, answer.detail], [404, "Unknown peer: nobody"], path);
  }
  assert.equal((await get(w, "/peers/nobody")).detail, "Unknown peer: nobody");
  assert.equal((await post(w, "/peer/unregister", { peer_id: "nobody" })).status, 404);
  assert.equal((await w.fetch("/peers/nobody", { method: "DELETE" })).status, 404);
});

Deno.test("a name means the live peer before the offline one, and two live ones are ambiguous [2.peer.name-or-id] [c1.peer-argument.ambiguous]", async () => {
  await using w = world();
  const old = await addPeer(w, "ada");
  await post(w, `/peers/${old.peer_id}/offline`, {});
  const fresh = await addPeer(w, "ada", { path: "/elsewhere" });
  assert.equal((await get(w, "/peers/ada")).peer_id, fresh.peer_id);
  const there = await addPeer(w, "ada", { circle: "there" });
  const answer = await get(w, "/peers/ada");
  assert.deepEqual([answer.status, answer.error], [409, "ambiguous_peer"]);
  assert.deepEqual(answer.candidates, [
    { peer_id: fresh.peer_id, name: "ada", circle: "default" },
    { peer_id: there.peer_id, name: "ada", circle: "there" },
  ]);
  assert.equal((await get(w, "/peers/ada?circle=there")).peer_id, there.peer_id);
});

Deno.test("an id, and the name of a peer that serves all circles, is found from every circle [c1.peer-argument]", async () => {
  await using w = world();
  const boss = await addPeer(w, "boss", { circle: "there", role: "orchestrator" });
  const bob = await addPeer(w, "bob", { circle: "there" });
  await addPeer(w, "ada", { circle: "here" });
  const asked = { from_peer: "ada", text: "Ready?" };
  await addPeer(w, "bob", { circle: "elsewhere" });
  assert.equal((await post(w, "/ask", { ...asked, to_peer: "bob" })).error, "ambiguous_peer");
  for (
    const [more, peer_id] of [
      [{ to_peer: "boss" }, boss.peer_id],
      [{ to_peer: bob.peer_id }, bob.peer_id],
      [{ to_peer: "bob", circle: "there" }, bob.peer_id],
    ] as const
  ) {
    assert.equal((await post(w, "/ask", { ...asked, ...more })).to_peer_id, peer_id);
  }
});

Deno.test("a plain offline reports its cause once, and a touch brings the peer back [3.peer.offline] [6.offline-causes]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  const cause = { reason: "session_end", source: "hook", detail: "/exit" };
  await post(w, `/peers/${peer_id}/offline`, cause);
  await post(w, `/peers/${peer_id}/offline`, cause);
  assert.deepEqual(eventData(w, "peer_offline"), [{
    peer_id,
    name: "ada",
    ...cause,
    terminal: false,
  }]);
  assert.equal((w.daemon.records.mustGet(peer_id)).status, "offline");
  await post(w, `/peers/${peer_id}/touch`, {});
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
  assert.equal(w.events.at(-1)?.type, "peer_online");
});

Deno.test("a peer that returns to find its name taken gets the next one", async () => {
  await using w = world();
  const old = await addPeer(w, "ada");
  await post(w, `/peers/${old.peer_id}/offline`, {});
  await addPeer(w, "ada", { path: "/elsewhere" });
  await post(w, `/peers/${old.peer_id}/touch`, {});
  assert.equal(w.daemon.records.mustGet(old.peer_id).name, "ada-2");
});

Deno.test("a terminal offline retires the peer: its asks close, its queue is dropped, each asker is notified [3.peer.terminal.retires] [c1.peer-argument.retired] [c2.ask.retired]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  const { peer_id } = await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await notify(w, "ada", "bob");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true, reason: "agent_exited" });
  await w.clock.settle();
  const [ackFrame] = ada.of("ack");
  assert.deepEqual([ackFrame?.correlation_id, ackFrame?.close_reason, ackFrame?.outcome], [
    id,
    "peer_retired",
    "failed",
  ]);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { dropped: 2, sent: 1 });
  assert.equal((await get(w, `/peers/${peer_id}`)).name, "bob");
  for (const path of ["/ask", "/notify"]) {
    const refused = await post(w, path, { from_peer: "ada", to_peer: peer_id, text: "Hi" });
    assert.deepEqual([refused.status, refused.error], [409, "peer_retired"]);
  }
  assert.equal((await post(w, `/peers/${peer_id}/touch`)).error, "peer_retired");
  assert.equal((await post(w, `/peers/${peer_id}/offline`)).error, "peer_retired");
});

Deno.test("a live agent_pid reclaims a retired peer, and nothing reclaims a closed one [3.peer.terminal.rejects] [3.peer.terminal.live-pid] [3.peer.delete.removes] [3.peer.delete.tombstone] [7.peer-retired.http] [7.peer-retired.ws]", async () => {
  await using w = world();
  w.processes.start(77);
  const { peer_id } = await addPeer(w, "bob");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  const claim = { name: "bob", path: "/work", backend: "sdk", peer_id };
  assert.equal((await post(w, "/peers", claim)).error, "peer_retired");
  assert.equal((await post(w, "/peers", { ...claim, agent_pid: 78 })).error, "peer_retired");
  assert.equal((await post(w, "/peers", { ...claim, agent_pid: 77 })).peer_id, peer_id);
  const removed = await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  assert.deepEqual(await removed.json(), { ok: true });
  assert.equal((await get(w, `/peers/${peer_id}`)).status, 404);
  assert.equal((await post(w, "/peers", { ...claim, agent_pid: 77 })).error, "peer_retired");
  const socket = await connectPeer(w, "bob", { peer_id, agent_pid: 77 });
  assert.deepEqual(socket.closed, { code: 4004, reason: "peer_retired" });
});

Deno.test("a retired peer's socket is closed, and its messages without receipt are not queued again [3.peer.terminal.severs]", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const { peer_id } = w.daemon.directory.find("bob");
  await notify(w, "cli", "bob");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  await w.clock.settle();
  assert.equal(bob.closed?.code, 4004);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { sent: 1 });
});

Deno.test("unregister drops the registration and closes the socket, and the peer may return [3.peer.unregister] [4.peers.unregister]", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const { peer_id } = w.daemon.directory.find("bob");
  assert.equal((await post(w, "/peer/unregister", { peer_id: "bob" })).ok, true);
  await w.clock.settle();
  assert.equal(bob.closed?.code, 1001);
  assert.equal((await get(w, "/peers")).peers.length, 0);
  await connectPeer(w, "bob");
  assert.equal(w.daemon.directory.find("bob").peer_id, peer_id);
});

Deno.test("a description expires after 15 minutes, and a touch does not renew it [c2.peer.description]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  const ackFrame = await post(w, `/peers/${peer_id}/description`, { description: "Writes tests" });
  assert.equal(ackFrame.description, "Writes tests");
  await w.clock.advance(15 * 60_000);
  assert.equal((await get(w, "/peers/ada")).description, "Writes tests");
  await w.clock.advance(1);
  await post(w, `/peers/${peer_id}/touch`);
  assert.equal((await get(w, "/peers/ada")).description, null);
});

Deno.test("a renamed peer is found by its new name, which no live peer of its circle may have", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  assert.equal((await post(w, "/peers/bob/name", { name: "ada" })).name, "ada-2");
  assert.equal((await get(w, "/peers/bob")).status, 404);
  const reserved = await post(w, "/peers/ada/name", { name: "mcp-1" });
  assert.deepEqual([reserved.status, reserved.error], [422, "reserved_name"]);
});

Deno.test("an unreachable peer goes offline ten minutes after its last sign of life [c2.peer.unseen]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  await addPeer(w, "bob");
  await w.tick(300);
  await ask(w, "ada", "bob");
  await w.fetch("/deliveries/pending?peer_id=bob");
  await w.tick(600);
  assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
  await w.tick(1);
  assert.equal(w.daemon.records.mustGet(peer_id).status, "offline");
  assert.deepEqual(eventData(w, "peer_offline").map(({ reason }) => reason), [
    "not_seen",
    "not_seen",
  ]);
});

Deno.test("a turn makes a peer busy and idle again, and its prompt proves the messages in it [2.peer.model]", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  const { delivery_id } = await notify(w, "cli", "bob");
  const prompt = `[mesh] <peer-message type="notify" id="${delivery_id}" …`;
  await post(w, "/peers/bob/turn", { turn_state: "working", model: "m-1", prompt });
  const { status, turn_state, model } = w.daemon.records.mustGet(
    w.daemon.directory.find("bob").peer_id,
  );
  assert.deepEqual([status, turn_state, model], ["busy", "working", "m-1"]);
  assert.equal(w.daemon.delivery.findMessage(delivery_id)?.state, "seen");
  await post(w, "/peers/bob/turn", { turn_state: "awaiting_input" });
  assert.equal(w.daemon.directory.find("bob").status, "online");
});

Deno.test("losing addressability closes asks and drops the queue, in one event with the counts [3.peer.lose.updated] [3.peer.lose.closes-asks] [3.peer.lose.drops-queue] [3.peer.lose.tells-askers] [3.peer.lose.one-event] [3.ask.not-addressable] [6.peer-updated] [6.peer-not-addressable] [2.peer.addressable-reason] [7.not-addressable.ask]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await notify(w, "ada", "bob");
  const since = w.events.length;
  const body = { addressable: false, addressable_reason: "subagent", parent_runtime_id: "s-1" };
  const { peer_id, ...peer } = await post(w, "/peers/bob/provenance", body);
  await w.clock.settle();
  assert.deepEqual([peer.addressable, peer.addressable_reason], [false, "subagent"]);
  assert.deepEqual(eventTypesSince(w, since), [
    "peer_updated",
    "deliveries_dropped",
    "ack",
    "peer_not_addressable",
  ]);
  assert.deepEqual(w.events.at(-1)?.data, {
    peer_id,
    closed_asks: 1,
    dropped_deliveries: 2,
    addressable_reason: "subagent",
  });
  assert.equal(ada.of("ack")[0]?.close_reason, "peer_not_addressable");
  const refused = await post(w, "/ask", { from_peer: "ada", to_peer: "bob", text: "Hi" });
  const { status, error, parent_peer_id, hint } = refused;
  assert.deepEqual([status, error, refused.peer_id, parent_peer_id, typeof hint], [
    409,
    "peer_not_addressable",
    peer_id,
    null,
    "string",
  ]);
  assert.equal((await get(w, `/asks/${id}`)).close_reason, "peer_not_addressable");
  assert.equal((await get(w, "/deliveries/pending?peer_id=bob")).dropped_not_addressable, 0);
  const all = await post(w, "/broadcast", { from_peer: "ada", text: "All" });
  assert.deepEqual(all.skipped, [{ peer_id, reason: "peer_not_addressable" }]);
});

Deno.test("a registration can lose addressability, with the same effects", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  const id = await ask(w, "cli", "bob");
  await addPeer(w, "bob", { peer_id, provenance: { addressable: false } });
  assert.equal((await get(w, `/asks/${id}`)).close_reason, "peer_not_addressable");
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { dropped: 1 });
});

Deno.test("a reply to a peer that accepts no messages is dropped and recorded, and stays on the ask [7.dropped-recorded] [6.dropped-rows] [3.peer.lose.inbound-only]", async () => {
  await using w = world();
  await addPeer(w, "ada", { provenance: { addressable: false } });
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  assert.equal(eventData(w, "deliveries_dropped").length, 1);
  assert.equal((await get(w, `/asks/${id}`)).reply, "Yes");
});

Deno.test("only a live peer has its provenance set, and a new one replaces the whole [4.peers.provenance]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada", {
    provenance: { initiator: "agent", ephemeral: true },
  });
  const replaced = await post(w, "/peers/ada/provenance", { source: "hook" });
  assert.deepEqual([replaced.source, replaced.ephemeral, "initiator" in replaced], [
    "hook",
    false,
    false,
  ]);
  await post(w, `/peers/${peer_id}/offline`);
  const refused = await post(w, "/peers/ada/provenance", {});
  assert.deepEqual([refused.status, refused.detail], [404, "Unknown peer: ada"]);
});

Deno.test("the inventory is complete, and each filter narrows it [4.peers.list] [4.peers.list-source] [4.peers.list-addressable] [4.peers.list-listed]", async () => {
  await using w = world();
  await addPeer(w, "ada", { runtime_session_id: "s-1" });
  await addPeer(w, "sub", { provenance: { parent_runtime_id: "s-1", source: "hook" } });
  await addPeer(w, "lost", { provenance: { parent_runtime_id: "s-9" } });
  await addPeer(w, "own", { provenance: { initiator: "system" }, circle: "there" });
  await addPeer(w, "mute", { provenance: { addressable: false } });
  const gone = await addPeer(w, "gone");
  await post(w, `/peers/${gone.peer_id}/offline`, { terminal: true });
  const names = async (query: string) =>
    (await get(w, `/peers${query}`)).peers.map(({ name }: { name: string }) => name);
  assert.deepEqual(await names(""), ["ada", "sub", "lost", "own", "mute", "gone"]);
  assert.deepEqual(await names("?listed=true"), ["ada", "sub", "gone"]);
  assert.deepEqual(await names("?addressable=false"), ["mute"]);
  assert.deepEqual(await names("?source=hook"), ["sub"]);
  assert.deepEqual(await names("?circle=there"), ["own"]);
  assert.deepEqual(await names("?status=retired"), ["gone"]);
});

Deno.test("a peer is found by its pane on the named tmux server", async () => {
  await using w = world();
  const here = await addPeer(w, "ada", { pane_id: "%3", tmux_socket: "/missing/a" });
  await addPeer(w, "bob", { pane_id: "%3", tmux_socket: "/missing/b" });
  const found = await get(w, "/peers/by-pane/%253?tmux_socket=/missing/a");
  assert.equal(found.peer_id, here.peer_id);
  assert.equal((await get(w, "/peers/by-pane/%254")).status, 404);
  await addPeer(w, "eve", { pane_id: "%3", tmux_socket: "/missing/a" });
  const [taken] = eventData(w, "peer_offline");
  assert.deepEqual([taken?.["name"], taken?.["reason"]], ["ada", "pane_takeover"]);
});
