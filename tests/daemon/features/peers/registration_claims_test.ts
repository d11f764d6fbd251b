/** A registration is proved by a certificate or a process, or claims nothing. */

import assert from "node:assert/strict";
import { FakeSockets, LOOPBACK, type World, world } from "../../../support/world.ts";
import { addPeer, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { connect } from "../../../support/daemon/mcp_server.ts";
import { SOCKET, spawningWorld } from "../../../support/daemon/spawns.ts";

/** A session of a program in process 7. */
async function session(w: World, more: Record<string, unknown> = {}) {
  if (!w.processes.isAlive(7)) w.processes.start(7);
  const known = { runtime_session_id: "s-1", agent_pid: 7, pane_id: "%3" };
  return await addPeer(w, "ada", { ...known, ...more });
}

interface Registration {
  readonly peer_id: string;
  readonly birth_certificate: string | null;
}

/** The identity of a caller, as the tools see it. */
async function identifyCaller(w: World, headers: Record<string, string>) {
  const send = (request: Request) => w.daemon.fetch(request, LOOPBACK);
  await using at = await connect(send, { protocolVersion: "2026-07-28", headers });
  const { data } = await at.call("whoami");
  return data["error"] ?? `${data["name"]} by ${data["proof"]}`;
}

const certificateHeaders = ({ peer_id, birth_certificate }: Registration) => ({
  "x-mesh-peer": peer_id,
  "x-mesh-certificate": birth_certificate ?? "",
});

const CLAIM = { path: "/work", backend: "sdk" };

Deno.test("a registration with a certificate is refused where it contradicts the certificate", async () => {
  await using w = world();
  w.processes.start(8);
  const { peer_id, birth_certificate } = await session(w);
  const bob = await addPeer(w, "bob");
  for (
    const [other, what] of [
      [{ backend: "codex" }, "backend"],
      [{ path: "/elsewhere" }, "path"],
      [{ pane_id: "%4" }, "pane_id"],
      [{ agent_pid: 8 }, "agent_pid"],
      [{ runtime_session_id: "s-2" }, "runtime_session_id"],
      [{ peer_id: bob.peer_id }, "peer_id"],
    ] as const
  ) {
    const refused = await post(w, "/peers", { ...CLAIM, birth_certificate, ...other });
    assert.deepEqual([refused.status, refused.error, refused.reason], [
      ...[409, "certificate_mismatch", `it names a different ${what}`],
    ]);
  }
  assert.equal((await post(w, "/peers", { ...CLAIM, birth_certificate })).peer_id, peer_id);
  const { backend, path } = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([backend, path], ["sdk", "/work"]);
});

Deno.test("a certificate of an earlier session proves nothing on any route", async () => {
  await using w = world();
  const old = await session(w);
  const fresh = await session(w, { runtime_session_id: "s-2" });
  assert.equal(fresh.peer_id, old.peer_id);
  const { birth_certificate, peer_id } = old;
  const refused = await post(w, "/peers", { ...CLAIM, birth_certificate });
  assert.deepEqual([refused.status, refused.error], [409, "certificate_mismatch"]);
  const socket = await connectPeer(w, "ada", { peer_id, birth_certificate });
  assert.equal(socket.closed?.code, 4003);
  assert.equal(await identifyCaller(w, certificateHeaders(fresh)), "ada by certificate");
  assert.equal(await identifyCaller(w, certificateHeaders(old)), "certificate_mismatch");
});

Deno.test("a peer with a new path gets a new certificate, and the old one proves nothing", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await addPeer(w, "ada");
  await addPeer(w, "ada", { peer_id, path: "/other" });
  const asked = { birth_certificate, backend: "sdk", path: "/work" };
  const refused = await post(w, "/peers/identity/validate", asked);
  assert.deepEqual([refused.status, refused.reason], [409, "the peer's path has changed"]);
});

Deno.test("a retired peer's certificate calls no tool", async () => {
  await using w = world();
  const known = await addPeer(w, "ada");
  await post(w, "/peers/ada/offline", { terminal: true });
  assert.equal(await identifyCaller(w, certificateHeaders(known)), "mcp-http by none");
});

Deno.test("a process may be several peers, each with a name of its own", async () => {
  await using w = world();
  w.processes.start(7);
  const ada = await addPeer(w, "ada", { agent_pid: 7 });
  const bob = await addPeer(w, "bob", { agent_pid: 7 });
  assert.notEqual(ada.peer_id, bob.peer_id);
  assert.deepEqual((await get(w, "/peers")).peers.map(({ name }: { name: string }) => name), [
    ...["ada", "bob"],
  ]);
  assert.equal((await addPeer(w, "bob", { agent_pid: 7 })).peer_id, bob.peer_id);
  assert.equal(await identifyCaller(w, { "x-mesh-pid": "7" }), "mcp-http by none");
});

Deno.test("a process that registers again is the same peer: without a name, in its pane, or by its name", async () => {
  await using w = world();
  w.processes.start(7);
  await addPeer(w, "ada");
  const { peer_id, display_name } = await addPeer(w, "ada", { agent_pid: 7, pane_id: "%3" });
  assert.equal(display_name, "ada-2");
  for (const fields of [{}, { name: "ada" }, { name: "eve", pane_id: "%3" }]) {
    assert.equal((await post(w, "/peers", { ...CLAIM, agent_pid: 7, ...fields })).peer_id, peer_id);
  }
  const long = "n".repeat(64);
  w.processes.start(8);
  await addPeer(w, long);
  const second = await addPeer(w, long, { agent_pid: 8 });
  assert.equal((await addPeer(w, long, { agent_pid: 8 })).peer_id, second.peer_id);
});

Deno.test("a socket that gives no path leaves the peer's path as it is", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob", { path: "/work" });
  await bob.drop();
  const client = bob.of("connected")[0]?.peer_id;
  for (
    const [name, proof, expected] of [
      ["ada", { peer_id }, peer_id],
      ["ada", { birth_certificate }, peer_id],
      ["bob", {}, client],
    ] as const
  ) {
    const socket = await connectPeer(w, name, { ...proof, path: undefined });
    assert.equal(socket.of("connected")[0]?.peer_id, expected);
    assert.equal((await get(w, `/peers/${expected}`)).path, "/work");
    await socket.drop();
  }
});

Deno.test("a hook version of null counts as none", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada", { metadata: { hook_version: null } });
  assert.equal((await get(w, `/peers/${peer_id}`)).source, "unknown");
});

Deno.test("where windows are circles, a new peer's circle is its pane's window unless it names one [c1.circle]", async () => {
  await using fixture = await spawningWorld({ settings: { "daemon.circle_boundary": "window" } });
  const { w, terminals } = fixture;
  const location = { pane_id: terminals.userPane().pane_id, tmux_socket: SOCKET };
  const { peer_id, circle } = await addPeer(w, "ada", { ...location, tmux_session: "office" });
  assert.equal(circle, "window-4");
  terminals.panes.set(location.pane_id, { ...terminals.userPane(), ...location, window: "@9" });
  await addPeer(w, "ada", { peer_id, ...location });
  assert.equal((await get(w, `/peers/${peer_id}`)).circle, "window-4", "once, for good");
  assert.equal((await addPeer(w, "bob", { ...location, circle: "red" })).circle, "red");
  assert.equal((await addPeer(w, "eve", { ...location, machine: "there" })).circle, "default");
  assert.equal((await addPeer(w, "joe", { ...location, pane_id: "%77" })).circle, "default");
  await connectPeer(w, "kim", location);
  assert.equal((await get(w, "/peers/kim")).circle, "window-9");
});

Deno.test("a circle distinguishes two peers of the same name, on every route of a peer [c1.peer-argument]", async () => {
  await using w = world();
  const red = await addPeer(w, "ada", { circle: "red" });
  const blue = await addPeer(w, "ada", { circle: "blue" });
  for (
    const [verb, body] of [
      ["touch", {}],
      ["description", { description: "Building" }],
      ["provenance", { source: "hook" }],
      ["turn", { turn_state: "idle" }],
      ["offline", {}],
      ["name", { name: "eve" }],
    ] as const
  ) {
    assert.equal((await post(w, `/peers/ada/${verb}`, body)).error, "ambiguous_peer", verb);
    const { error } = await post(w, `/peers/ada/${verb}?circle=blue`, body);
    assert.equal(error, undefined, verb);
    if (verb === "offline") await post(w, `/peers/${blue.peer_id}/touch`);
  }
  assert.equal((await get(w, `/peers/${blue.peer_id}`)).name, "eve");
  assert.equal((await get(w, `/peers/${red.peer_id}`)).turn_state, null);
});

Deno.test("a pid in a header proves its peer only from that process, or from one below it", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets });
  w.processes.start(7);
  await addPeer(w, "boss", { agent_pid: 7, role: "orchestrator" });
  assert.equal(await identifyCaller(w, { "x-mesh-pid": "7" }), "boss by process");
  sockets.holders = [666];
  assert.equal(await identifyCaller(w, { "x-mesh-pid": "7" }), "mcp-http by none");
});
