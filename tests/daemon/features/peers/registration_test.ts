import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { Registration } from "protocol/peers/record.ts";
import { nameOf } from "../../../../daemon/features/peers/identity/naming.ts";
import { FakeSockets, world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";

const body = { path: "/work/api", backend: "claude-code" };

Deno.test("a registration returns the identity, with a certificate to prove it later", async () => {
  await using w = world();
  const { status, birth_certificate, ...answer } = await post(w, "/peers", body);
  assert.equal(status, 200);
  assert.deepEqual(answer, {
    ok: true,
    peer_id: answer.peer_id,
    display_name: "api-claude-code",
    circle: "default",
    role: "agent",
    mesh_session_id: answer.mesh_session_id,
  });
  assert.match(birth_certificate, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  assert.match(answer.peer_id, /^peer-[0-9a-f]{12}$/);
  assert.match(answer.mesh_session_id, /^ms-[0-9a-f]{12}$/);
});

Deno.test("a name gets a suffix only while a live peer of the circle has it [c1.name-suffix]", async () => {
  await using w = world();
  const names = [];
  for (const circle of ["here", "here", "here", "there"]) {
    names.push((await addPeer(w, "ada", { circle })).display_name);
  }
  assert.deepEqual(names, ["ada", "ada-2", "ada-3", "ada"]);
});

Deno.test("a suffix shortens a name of the maximal length", async () => {
  await using w = world();
  const long = "n".repeat(64);
  assert.equal((await addPeer(w, long)).display_name, long);
  assert.equal((await addPeer(w, long)).display_name, `${"n".repeat(62)}-2`);
});

Deno.test("without a name, a peer is named by its folder and backend [c1.name-default]", () => {
  const named = (path: string) => nameOf(Registration.parse({ path, backend: "codex" }));
  assert.equal(named("/work/web"), "web-codex");
  assert.equal(named("/work/my app (new)"), "my-app-new-codex");
  assert.equal(named("/"), "root-codex");
  assert.equal(named("/work/mcp-server"), "mcp_server-codex");
  assert.equal(named(`/work/${"d".repeat(100)}`).length, 64);
});

Deno.test("the circle is the given one, else the tmux session's, else default [c1.circle]", async () => {
  await using w = world();
  const circleOf = async (more: object) => (await post(w, "/peers", { ...body, ...more })).circle;
  assert.equal(await circleOf({ circle: "main", tmux_session: "work" }), "main");
  assert.equal(await circleOf({ tmux_session: "work" }), "work");
  assert.equal(await circleOf({ tmux_session: "my work" }), "my-work");
  assert.equal(await circleOf({}), "default");
});

Deno.test("the human's aliases and the relay's prefix are no names for peers [c2.human.aliases]", async () => {
  await using w = world();
  for (const name of ["dashboard", "telegram", "mcp-", "mcp-0123456789ab"]) {
    const answer = await post(w, "/peers", { ...body, name });
    assert.deepEqual([answer.status, answer.error], [422, "reserved_name"], name);
  }
  assert.equal((await get(w, "/peers")).peers.length, 0);
});

Deno.test("with circle_boundary machine, every peer that names no circle is in default [c1.circle]", async () => {
  await using w = world({ settings: { "daemon.circle_boundary": "machine" } });
  const pane = { tmux_session: "work", pane_id: "%3", tmux_socket: "/missing/none" };
  assert.equal((await addPeer(w, "ada", { tmux_session: "work" })).circle, "default");
  assert.equal((await addPeer(w, "bob", { ...pane, tmux_socket: undefined })).circle, "default");
  assert.equal((await addPeer(w, "eve", { tmux_session: "work", circle: "red" })).circle, "red");
  assert.equal((await get(w, "/spawn/config")).circle_boundary, "machine");
});

Deno.test("names and circles are letters, digits, dots, underscores and hyphens, 1 to 64 [c1.names]", async () => {
  await using w = world();
  for (const name of ["", "a b", "ä", "a/b", "n".repeat(65), "a\u0000", "a\n"]) {
    assert.equal((await post(w, "/peers", { ...body, name })).status, 422, JSON.stringify(name));
    assert.equal((await post(w, "/peers", { ...body, circle: name })).status, 422);
  }
});

Deno.test("the same process or the same session is the same peer", async () => {
  await using w = world();
  w.processes.start(7);
  const first = await addPeer(w, "ada", { agent_pid: 7, runtime_session_id: "s-1" });
  const byProcess = await addPeer(w, "ada", { agent_pid: 7 });
  const bySession = await addPeer(w, "ada", { runtime_session_id: "s-1" });
  const ids = [first, byProcess, bySession].map(({ peer_id }) => peer_id);
  assert.equal(new Set(ids).size, 1);
  w.processes.end(7);
  w.processes.start(7);
  assert.notEqual((await addPeer(w, "ada", { agent_pid: 7 })).peer_id, first.peer_id);
});

Deno.test("another session of the same agent is another mesh session of the same peer", async () => {
  await using w = world();
  w.processes.start(7);
  const first = await addPeer(w, "ada", { agent_pid: 7, runtime_session_id: "s-1" });
  const same = await addPeer(w, "ada", { agent_pid: 7, runtime_session_id: "s-1" });
  const next = await addPeer(w, "ada", { agent_pid: 7, runtime_session_id: "s-2" });
  assert.equal(same.mesh_session_id, first.mesh_session_id);
  assert.notEqual(next.mesh_session_id, first.mesh_session_id);
});

Deno.test("given fields replace known ones, and omitted fields stay [2.peer.provenance-given] [2.peer.provenance-kept]", async () => {
  await using w = world();
  const known = { model: "m-1", role: "orchestrator", metadata: { team: "a" } };
  const { peer_id } = await addPeer(w, "ada", { ...known, provenance: { initiator: "agent" } });
  await addPeer(w, "ada", { peer_id, model: "m-2" });
  const peer = await get(w, "/peers/ada");
  assert.deepEqual([peer.model, peer.role, peer.metadata, peer.initiator], [
    "m-2",
    "orchestrator",
    { team: "a" },
    "agent",
  ]);
  await addPeer(w, "ada", { peer_id, provenance: {} });
  assert.equal("initiator" in await get(w, "/peers/ada"), false);
});

Deno.test("only an unknown source is inferred from the runtime's own report [2.peer.source] [2.peer.source-inferred]", async () => {
  await using w = world();
  const cases = [
    [{ transport: "codex-app-server" }, {}, "backend-app-server"],
    [{ hook_version: "3" }, {}, "hook"],
    [{ transport: "app-server", hook_version: "3" }, { source: "unknown" }, "backend-app-server"],
    [{ transport: "app-server" }, { source: "hook" }, "hook"],
    [{ transport: "stdio" }, {}, "unknown"],
  ] as const;
  for (const [metadata, provenance, source] of cases) {
    const { peer_id } = await addPeer(w, "ada", { metadata, provenance });
    assert.equal((await get(w, `/peers/${peer_id}`)).source, source);
  }
  const { peer_id } = await addPeer(w, "late");
  await addPeer(w, "late", { peer_id, metadata: { hook_version: "3" } });
  assert.equal((await get(w, "/peers/late")).source, "hook");
});

Deno.test("a live peer's id is claimed by its certificate or its process, else refused", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets });
  w.processes.start(7);
  const socket = await connectPeer(w, "bob", { agent_pid: 7 });
  const { peer_id } = w.daemon.directory.find("bob");
  const claim = { name: "bob", path: "/work", backend: "sdk", peer_id };
  sockets.holders = [8];
  for (const named of [{}, { agent_pid: 7 }, { agent_pid: 8 }]) {
    const refused = await post(w, "/peers", { ...claim, ...named });
    assert.equal(refused.error, "identity_not_proven", JSON.stringify(named));
  }
  sockets.holders = [7];
  const proven = await post(w, "/peers", { ...claim, agent_pid: 7 });
  assert.equal(proven.peer_id, peer_id);
  const { birth_certificate } = proven;
  assert.equal((await post(w, "/peers", { ...claim, birth_certificate })).peer_id, peer_id);
  const { peer_id: _, ...anonymous } = claim;
  assert.equal((await post(w, "/peers", { ...anonymous, birth_certificate })).peer_id, peer_id);
  assert.equal(socket.closed, undefined);
});

Deno.test("a certificate of another daemon, or an expired one, proves nothing", async () => {
  await using w = world();
  await using other = world({ ids: randomIds });
  const claim = { name: "bob", path: "/work", backend: "sdk" };
  const foreign = await addPeer(other, "bob");
  const forged = await post(w, "/peers", {
    ...claim,
    birth_certificate: foreign.birth_certificate,
  });
  const own = await addPeer(w, "bob");
  await w.clock.advance(25 * 3_600_000);
  const late = await post(w, "/peers", { ...claim, birth_certificate: own.birth_certificate });
  assert.deepEqual([forged.status, forged.error], [409, "certificate_mismatch"]);
  assert.equal(late.error, "certificate_mismatch");
});

Deno.test("without a live socket, name, backend and circle must agree with the record", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob", { circle: "main" });
  const claim = { name: "bob", path: "/work", backend: "sdk", circle: "main", peer_id };
  for (const wrong of [{ name: "eve" }, { backend: "codex" }, { circle: "other" }]) {
    assert.equal((await post(w, "/peers", { ...claim, ...wrong })).error, "identity_not_proven");
  }
  assert.equal((await post(w, "/peers", claim)).peer_id, peer_id);
});

Deno.test("a registration is reported once, and a repeated one is an update", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  await addPeer(w, "ada", { peer_id });
  assert.deepEqual(w.events.map(({ type }) => type), ["peer_registered", "peer_updated"]);
  assert.deepEqual(eventData(w, "peer_registered"), [
    { peer_id, name: "ada", circle: "default", backend: "sdk", role: "agent" },
  ]);
});

Deno.test("metadata is kept as it is, up to a bound", async () => {
  await using w = world();
  const metadata = { a: [1, { b: null }], constructor: "x" };
  const { peer_id } = await addPeer(w, "ada", { metadata });
  assert.deepEqual((await get(w, `/peers/${peer_id}`)).metadata, metadata);
  const large = { a: "x".repeat(70_000) };
  assert.equal((await post(w, "/peers", { ...body, metadata: large })).status, 422);
  const deep = `{"path":"/","backend":"sdk","metadata":{"a":${"[".repeat(50_000)}${
    "]".repeat(50_000)
  }}}`;
  const answer = await w.fetch("/peers", { method: "POST", body: deep });
  assert.equal(answer.status, 422);
});

Deno.test("there is one human: the configured one, or the first that registers [2.peer.role] [4.inbox.aliases] [c2.human.one]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const human = await get(w, "/peers/sam");
  assert.equal(human.path, null, "the human has no folder");
  assert.deepEqual([human.role, human.backend, human.transport, human.addressable], [
    "human",
    null,
    "none",
    true,
  ]);
  const second = await post(w, "/peers", { ...body, name: "tom", role: "human" });
  assert.deepEqual([second.status, second.error], [409, "human_exists"]);
  assert.equal((await get(w, "/peers/telegram")).peer_id, human.peer_id);
  assert.equal((await post(w, "/peers/sam/provenance", { addressable: false })).addressable, true);

  await using bare = world();
  assert.equal((await get(bare, "/peers/dashboard")).detail, "Unknown peer: dashboard");
  const tom = await addPeer(bare, "tom", { role: "human" });
  assert.equal((await get(bare, "/peers/dashboard")).peer_id, tom.peer_id);
});
