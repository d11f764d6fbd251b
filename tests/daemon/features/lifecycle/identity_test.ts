/** Birth certificates: validation brings a peer back, renewal exchanges one for a fresh one. */

import assert from "node:assert/strict";
import { SignJWT } from "jose";
import { FakeProcesses, type World, world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes } from "../../../support/host/fake_panes.ts";

const DAY_MS = 24 * 3_600_000;
const CERTIFICATE_FACTS = { backend: "claude-code", path: "/work" };

/** A session of Claude Code in process 7. */
async function session(w: World, more: Record<string, unknown> = {}) {
  if (!w.processes.isAlive(7)) w.processes.start(7);
  const known = { runtime_session_id: "s-1", agent_pid: 7, pane_id: "%3", ...CERTIFICATE_FACTS };
  return await addPeer(w, "ada", { ...known, ...more });
}

function validate(w: World, birth_certificate: string | null, more: Record<string, unknown> = {}) {
  return post(w, "/peers/identity/validate", { birth_certificate, ...CERTIFICATE_FACTS, ...more });
}

function renew(w: World, birth_certificate: string | null, more: Record<string, unknown> = {}) {
  return post(w, "/peers/identity/renew", { birth_certificate, ...CERTIFICATE_FACTS, ...more });
}

Deno.test("a certificate brings its peer back under the same id and name [4.peers.validate]", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await session(w);
  await post(w, `/peers/${peer_id}/offline`, { reason: "session_end" });
  const found = await validate(w, birth_certificate, { pane_id: "%3", agent_pid: 7 });
  assert.deepEqual([found.status, found.ok, found.peer_id, found.display_name], [
    200,
    true,
    peer_id,
    "ada",
  ]);
  assert.deepEqual([found.peer.status, found.peer.mesh_session_id], [
    "online",
    (await get(w, "/peers/ada")).mesh_session_id,
  ]);
});

Deno.test("a certificate brings an unregistered peer back, and only touches a live one", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await session(w);
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "working" });
  assert.equal((await validate(w, birth_certificate)).peer.turn_state, "working");
  await post(w, "/peer/unregister", { peer_id });
  assert.equal((await validate(w, birth_certificate)).peer_id, peer_id);
  assert.equal((await get(w, "/peers")).peers.length, 1);
});

Deno.test("a certificate is valid only for its backend, path, pane and process", async () => {
  await using w = world();
  const { birth_certificate } = await session(w);
  for (
    const [wrong, what] of [
      [{ backend: "codex" }, "backend"],
      [{ path: "/elsewhere" }, "path"],
      [{ pane_id: "%4" }, "pane_id"],
      [{ agent_pid: 8 }, "agent_pid"],
    ] as const
  ) {
    const { status, error, reason } = await validate(w, birth_certificate, wrong);
    assert.deepEqual([status, error, reason], [
      409,
      "certificate_mismatch",
      `it names a different ${what}`,
    ]);
  }
});

Deno.test("a certificate becomes invalid when its process ends, even if the pid is reused", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await session(w);
  w.processes.end(7);
  w.processes.start(7);
  const refused = await validate(w, birth_certificate, { agent_pid: 7 });
  assert.deepEqual([refused.status, refused.reason], [409, "its process has ended"]);
  await w.tick();
  assert.equal((await get(w, `/peers/${peer_id}`)).status, "offline");
});

Deno.test("a certificate becomes invalid when its peer changes session or pane", async () => {
  await using w = world();
  const first = await session(w);
  await session(w, { peer_id: first.peer_id, runtime_session_id: "s-2" });
  const moved = await validate(w, first.birth_certificate);
  assert.equal(moved.reason, "the peer's runtime_session_id has changed");
  const second = await session(w, { peer_id: first.peer_id });
  await session(w, { peer_id: first.peer_id, pane_id: "%4" });
  assert.equal(
    (await validate(w, second.birth_certificate)).reason,
    "the peer's pane_id has changed",
  );
});

Deno.test("an expired or forged certificate, or one of a removed peer, is refused", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await session(w);
  const forged = await new SignJWT({ peer_id }).setProtectedHeader({
    alg: "HS256",
    typ: "mesh-birth",
  })
    .sign(new TextEncoder().encode("a key of somebody else's, long enough"));
  for (const wrong of [forged, "", "a.b.c", `${birth_certificate}x`]) {
    const { status, reason } = await validate(w, wrong);
    assert.deepEqual([status, reason], [409, "this daemon did not issue it"]);
  }
  await w.clock.advance(DAY_MS + 1000);
  assert.equal((await validate(w, birth_certificate)).reason, "it has expired");
});

Deno.test("a retired or closed peer is not brought back by its certificate", async () => {
  await using w = world();
  const { peer_id, birth_certificate } = await session(w);
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  const refused = await validate(w, birth_certificate);
  assert.deepEqual([refused.status, refused.error], [409, "peer_retired"]);
  assert.equal((await validate(w, birth_certificate, { agent_pid: 7 })).peer_id, peer_id);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  const closed = await validate(w, birth_certificate, { agent_pid: 7 });
  assert.equal(closed.error, "peer_retired");
  assert.equal((await renew(w, birth_certificate)).error, "not_connected");
});

Deno.test("a connected peer exchanges its certificate for a fresh one, even after expiry [4.peers.renew]", async () => {
  await using w = world({ adapters: [new FakeAgents()] });
  const { peer_id, birth_certificate } = await session(w);
  await w.clock.advance(2 * DAY_MS);
  const renewed = await renew(w, birth_certificate);
  assert.equal(renewed.status, 200);
  assert.equal(Date.parse(renewed.expires_at), w.clock.now() + DAY_MS);
  assert.equal((await validate(w, renewed.birth_certificate)).peer_id, peer_id);
  assert.equal(
    (await renew(w, birth_certificate, { path: "/other" })).error,
    "certificate_mismatch",
  );
});

Deno.test("a peer that is not connected on the certificate's session cannot renew it [7.renew.not-connected]", async () => {
  const processes = new FakeProcesses();
  await using w = world({ adapters: [new FakeAgents()], processes });
  const { peer_id, birth_certificate } = await session(w);
  const refusal = async () => {
    const { status, error } = await renew(w, birth_certificate);
    return [status, error];
  };
  await post(w, `/peers/${peer_id}/offline`);
  assert.deepEqual(await refusal(), [409, "not_connected"]);
  await post(w, `/peers/${peer_id}/touch`);
  assert.equal((await renew(w, birth_certificate)).status, 200);
  w.processes.end(7);
  assert.deepEqual(await refusal(), [409, "not_connected"]);
  w.processes.start(7);
  const next = {
    ...CERTIFICATE_FACTS,
    backend: "claude-code",
    agent_pid: 7,
    runtime_session_id: "s-2",
  } as const;
  w.daemon.peers.register({ peer_id, ...next }, { proven_peer_id: peer_id });
  assert.deepEqual(await refusal(), [409, "not_connected"]);
});

Deno.test("a peer with a socket is connected; one that only polls is not", async () => {
  await using w = world();
  const claim = { backend: "sdk", path: "/work" };
  const { peer_id, birth_certificate } = await addPeer(w, "ada", { runtime_session_id: "s-1" });
  assert.equal((await renew(w, birth_certificate, claim)).error, "not_connected");
  const socket = await connectPeer(w, "ada", { peer_id, birth_certificate });
  assert.equal((await renew(w, birth_certificate, claim)).status, 200);
  await socket.drop();
  assert.equal((await renew(w, birth_certificate, claim)).error, "not_connected");
});

Deno.test("a peer without a known process is connected while its pane exists", async () => {
  const paneObserver = new FakePanes();
  await using w = world({ adapters: [new FakeAgents()], paneObserver });
  paneObserver.open("%3");
  const { birth_certificate } = await addPeer(w, "ada", {
    ...CERTIFICATE_FACTS,
    runtime_session_id: "s-1",
    pane_id: "%3",
  });
  assert.equal((await renew(w, birth_certificate)).status, 200);
  paneObserver.close("%3");
  assert.equal((await renew(w, birth_certificate)).error, "not_connected");
});

Deno.test("a certificate without a runtime session is not renewed", async () => {
  await using w = world();
  const { birth_certificate } = await addPeer(w, "ada");
  const { status, error } = await renew(w, birth_certificate, { backend: "sdk" });
  assert.deepEqual([status, error], [409, "no_runtime_session"]);
});

Deno.test("a certificate remains valid after a restart of the daemon", async () => {
  const dir = Deno.makeTempDirSync();
  const db_path = `${dir}/mesh.db`;
  const processes = new FakeProcesses();
  let known;
  {
    await using w = world({ db_path, processes });
    known = await session(w);
  }
  {
    await using w = world({ db_path, processes });
    const found = await validate(w, known.birth_certificate, { agent_pid: 7 });
    assert.deepEqual([found.peer_id, found.peer.status], [known.peer_id, "online"]);
    assert.deepEqual(eventData(w, "peer_registered"), []);
  }
  Deno.removeSync(dir, { recursive: true });
});
