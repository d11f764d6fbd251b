/** A WebSocket client that connects again: by its `client_id`, or as an offline namesake. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { countingIds } from "../../../support/ids.ts";
import { tempFolder } from "../../../support/daemon/uploads.ts";
import { type FakeSocket, type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

const CLIENT_ID = "s3cret-of-this-client";
const KEPT = { metadata: { client_id: CLIENT_ID, version: 3 } };

const idOf = (socket: FakeSocket) => socket.of("connected")[0]?.peer_id ?? "";

async function peersNamed(w: World, name: string): Promise<string[]> {
  const { peers } = await get(w, "/peers");
  return peers.filter((peer: { name: string }) => peer.name.startsWith(name))
    .map(({ peer_id }: { peer_id: string }) => peer_id);
}

for (const [how, more] of [["with a client_id", KEPT], ["without one", {}]] as const) {
  Deno.test(`a client that connects three times ${how} is one peer [c4.client-id]`, async () => {
    await using w = world();
    const ids: string[] = [];
    for (const path of ["/one", "/two", "/three"]) {
      const socket = await connectPeer(w, "web", { ...more, path });
      ids.push(idOf(socket));
      await socket.drop();
    }
    assert.deepEqual(new Set(ids).size, 1);
    assert.deepEqual(await peersNamed(w, "web"), [ids[0]]);
  });
}

Deno.test("queued messages and asks for a client wait until it connects again", async () => {
  await using w = world();
  await addPeer(w, "ada");
  const first = await connectPeer(w, "web", KEPT);
  const open = await ask(w, "ada", "web", "Before");
  await first.drop();
  await notify(w, "ada", "web", "Meanwhile");
  const queued = await ask(w, "ada", "web", "Queued");
  const again = await connectPeer(w, "web", KEPT);
  assert.equal(idOf(again), idOf(first));
  assert.deepEqual(again.of("notify").map(({ text }) => text), ["Meanwhile"]);
  assert.deepEqual(again.of("ask").map(({ text }) => text), ["Queued"]);
  for (const correlation_id of [open, queued]) {
    await again.send({ type: "ack", request_id: correlation_id, correlation_id, message: "Yes" });
    assert.equal((await get(w, `/asks/${correlation_id}`)).reply, "Yes");
  }
});

Deno.test("a client is the same peer after a restart of the daemon, with its queued messages", async () => {
  using at = tempFolder();
  const options = { db_path: join(at.directory, "mesh.db"), ids: countingIds() };
  let peer_id;
  {
    await using w = world(options);
    peer_id = idOf(await connectPeer(w, "web", KEPT));
    await post(w, `/peers/${peer_id}/offline`, {});
    await notify(w, "cli", "web", "Kept");
  }
  await using w = world(options);
  const again = await connectPeer(w, "web", KEPT);
  assert.equal(idOf(again), peer_id);
  assert.deepEqual(again.of("notify").map(({ text }) => text), ["Kept"]);
});

Deno.test("a client is another peer with another name, backend, circle or client_id", async () => {
  await using w = world();
  const first = await connectPeer(w, "web", KEPT);
  await first.drop();
  await notify(w, "cli", "web", "For the client");
  const others: [name: string, more: Record<string, unknown>][] = [
    ["web", {}],
    ["web", { metadata: { client_id: "guessed" } }],
    ["web", { metadata: { client_id: "" } }],
    ["web", { metadata: { client_id: [CLIENT_ID] } }],
    ["web", { ...KEPT, backend: "generic" }],
    ["web", { ...KEPT, circle: "there" }],
    ["site", KEPT],
  ];
  for (const [name, more] of others) {
    const socket = await connectPeer(w, name, more);
    assert.notEqual(idOf(socket), idOf(first), JSON.stringify([name, more]));
    assert.deepEqual(socket.of("notify"), []);
    await socket.drop();
  }
  const claimed = await connectPeer(w, "web", { peer_id: idOf(first) });
  assert.equal(claimed.closed?.code, 4003);
  const again = await connectPeer(w, "web", { ...KEPT, peer_id: idOf(first) });
  assert.equal(idOf(again), idOf(first));
  assert.equal(again.of("notify").length, 1);
});

Deno.test("a client_id is shown in no record, event, frame or log, nor stored", async () => {
  await using w = world();
  const web = await connectPeer(w, "web", KEPT);
  const { peer_id } = await addPeer(w, "ada", KEPT);
  await post(w, "/peers/web/description", { description: "Working" });
  const guessed = await connectPeer(w, "web", { peer_id, metadata: { client_id: "guessed" } });
  const shown = JSON.stringify([
    await get(w, "/peers"),
    await get(w, `/peers/${idOf(web)}`),
    await get(w, "/events"),
    w.events,
    w.logged,
    web.frames,
    guessed.frames,
  ]);
  assert.doesNotMatch(shown, /client_id|client_key|certified|s3cret|guessed/);
  assert.deepEqual(w.daemon.records.mustGet(idOf(web)).metadata, { version: 3 });
});

Deno.test("the newer connection of a client supersedes the older one", async () => {
  await using w = world();
  const first = await connectPeer(w, "web", KEPT);
  const second = await connectPeer(w, "web", KEPT);
  assert.equal(idOf(second), idOf(first));
  assert.equal(first.closed?.code, 4009);
});

Deno.test("a client_id proves nothing for a peer with a running process or a session of its own", async () => {
  await using w = world();
  w.processes.start(7);
  w.processes.start(8);
  const first = await connectPeer(w, "web", { ...KEPT, agent_pid: 7 });
  const thief = await connectPeer(w, "web", { ...KEPT, agent_pid: 8 });
  assert.notEqual(idOf(thief), idOf(first));
  await thief.drop();
  await first.drop();
  w.processes.end(7);
  w.processes.start(9);
  assert.equal(idOf(await connectPeer(w, "web", { ...KEPT, agent_pid: 9 })), idOf(first));
  const session = { ...KEPT, runtime_session_id: "s-1" };
  const api = await connectPeer(w, "api", session);
  await api.drop();
  assert.notEqual(idOf(await connectPeer(w, "api", KEPT)), idOf(api));
});

Deno.test("a client without a client_id replaces no namesake that has a certificate, a pane or a client_id", async () => {
  await using w = world();
  const certified = await addPeer(w, "ada");
  const kept = await connectPeer(w, "web", KEPT);
  await post(w, `/peers/${certified.peer_id}/offline`, {});
  await kept.drop();
  assert.notEqual(idOf(await connectPeer(w, "ada")), certified.peer_id);
  assert.notEqual(idOf(await connectPeer(w, "web")), idOf(kept));
});

Deno.test("a closed client is a new peer when it connects again, and a renamed one keeps its name", async () => {
  await using w = world();
  const first = await connectPeer(w, "web", KEPT);
  await post(w, `/peers/${idOf(first)}/name`, { name: "site" });
  await first.drop();
  const renamed = await connectPeer(w, "web", KEPT);
  assert.equal(idOf(renamed), idOf(first));
  assert.equal(renamed.of("connected")[0]?.display_name, "site");
  await w.fetch(`/peers/${idOf(first)}`, { method: "DELETE" });
  const fresh = await connectPeer(w, "web", KEPT);
  assert.notEqual(idOf(fresh), idOf(first));
  await fresh.drop();
  assert.equal(idOf(await connectPeer(w, "web", KEPT)), idOf(fresh));
});
