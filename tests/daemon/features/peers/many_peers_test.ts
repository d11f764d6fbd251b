/** Names and look-ups among thousands of peers, and the limits on peers. */

import assert from "node:assert/strict";
import { freeName, isSuffixed } from "../../../../daemon/features/peers/identity/naming.ts";
import { LIVE_PEERS_MAX, PEER_RECORDS_MAX } from "protocol/peers/record.ts";
import { addPeer, connectPeer, post } from "../../../support/daemon/peer_clients.ts";
import { copyPeer } from "../../../support/daemon/many_peers.ts";
import { type World, world } from "../../../support/world.ts";

/** The number of SQLite statements that the work runs, with all that follows from it. */
async function statementsOf(w: World, work: () => unknown): Promise<number> {
  const { db } = w.daemon.ctx;
  await w.clock.settle();
  const reads = ["get", "all", "values"] as const;
  let count = 0;
  for (const read of reads) {
    const original: (...given: never[]) => unknown = db[read].bind(db);
    Object.defineProperty(db, read, {
      configurable: true,
      value: (...given: never[]) => (count++, original(...given)),
    });
  }
  try {
    await work();
    await w.clock.settle();
  } finally {
    for (const read of reads) Reflect.deleteProperty(db, read);
  }
  return count;
}

const nameFor = (w: World, name: string, circle = "default") =>
  freeName(w.daemon.ctx.db, { name, circle, peer_id: "peer-new" });

Deno.test("a peer among 3,000 of its folder is named with as many statements as the third", async () => {
  await using w = world();
  const first = await addPeer(w, "app-sdk");
  const register = () => post(w, "/peers", { path: "/work/app", backend: "sdk" });
  assert.equal((await register()).display_name, "app-sdk-2");
  const few = await statementsOf(w, register);
  copyPeer(w.daemon.ctx.db, first.peer_id, 3000, { name: "name || '-' || (i + 3)" });
  const many = await statementsOf(w, async () => {
    assert.equal((await register()).display_name, "app-sdk-3004");
  });
  assert.equal(many, few);
});

Deno.test("the first free number is given, whatever else looks like one", async () => {
  await using w = world();
  const names = ["app", "app-2", "app-4", "app-03", "app-x-3", "app-3x", "app--3", "app2", "app-1"];
  for (const name of names) await addPeer(w, name);
  assert.equal(nameFor(w, "app"), "app-3");
  await addPeer(w, "app-3", { circle: "elsewhere" });
  assert.equal(nameFor(w, "app"), "app-3");
  assert.equal(nameFor(w, "app", "third"), "app");
  await addPeer(w, "app-3", { circle: "elsewhere", role: "service" });
  assert.equal(nameFor(w, "app"), "app-3", "the service is app-3-2");
  await addPeer(w, "app-3", { circle: "other", role: "service" });
  assert.equal(nameFor(w, "app"), "app-5");
});

Deno.test("a name of any length up to 64 gets numbers, and keeps its own when it comes back", async () => {
  await using w = world();
  for (const length of [1, 57, 58, 59, 60, 62, 63, 64]) {
    const name = "n".repeat(length - 1) + "z";
    for (let number = 1; number <= 11; number++) {
      const { display_name } = await addPeer(w, name, { circle: `c${length}` });
      assert.ok(display_name.length <= 64);
      assert.equal(display_name.endsWith(`-${number}`), number > 1, display_name);
      assert.ok(isSuffixed(display_name, name), display_name);
    }
  }
  assert.equal(isSuffixed("app-03", "app"), false);
  assert.equal(isSuffixed("app-1", "app"), false);
  assert.equal(isSuffixed(`${"n".repeat(60)}-2`, "n".repeat(61)), false);
});

Deno.test("a peer is found by process or name among thousands that share it, without reading them all", async () => {
  await using w = world();
  w.processes.start(7);
  const { db } = w.daemon.ctx;
  const own = await addPeer(w, "bot", { agent_pid: 7 });
  copyPeer(db, own.peer_id, 2000, { name: "'worker-' || i" });
  assert.equal((await addPeer(w, "bot", { agent_pid: 7 })).peer_id, own.peer_id);
  const other = await addPeer(w, "other", { agent_pid: 7 });
  assert.equal(other.display_name, "other");

  const left = await addPeer(w, "api", { runtime_session_id: "session-1" });
  await post(w, `/peers/${left.peer_id}/offline`, {});
  copyPeer(db, left.peer_id, 2000, { runtime_session_id: "'session-1' || i" });
  const fresh = await addPeer(w, "api");
  await post(w, `/peers/${fresh.peer_id}/offline`, {});
  assert.equal((await addPeer(w, "api")).peer_id, fresh.peer_id);
});

Deno.test("peers beyond the limits are refused, and a place that is given back can be taken", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const { db } = w.daemon.ctx;
  const first = await addPeer(w, "first");
  copyPeer(db, first.peer_id, LIVE_PEERS_MAX - 3, { name: "name || i" });
  const last = await addPeer(w, "last"); // The human and `first` are live, too.
  const refused = await post(w, "/peers", { name: "more", path: "/work", backend: "sdk" });
  assert.deepEqual(
    [refused.status, refused.error, refused.peers, refused.kind],
    [429, "peers_full", LIVE_PEERS_MAX, "live"],
  );
  assert.match(String(refused.hint), /mesh peers --prune/);
  const socket = await connectPeer(w, "more");
  assert.equal(socket.frames.some((frame) => JSON.stringify(frame).includes("peers_full")), true);
  assert.equal((await addPeer(w, "last", { peer_id: last.peer_id })).peer_id, last.peer_id);
  await post(w, `/peers/${last.peer_id}/offline`, {});
  assert.equal((await addPeer(w, "more")).display_name, "more");
  assert.equal((await post(w, "/peers/last/touch", {})).ok, true, "a known peer is seen again");
});

Deno.test("records beyond the limit are refused, and one that was closed makes room", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const { db } = w.daemon.ctx;
  const { peer_id } = w.daemon.directory.mustHuman();
  const offline = { role: "'agent'", backend: "'sdk'", status: "'offline'", path: "'/work'" };
  copyPeer(db, peer_id, PEER_RECORDS_MAX - 2, { ...offline, name: "'old-' || i" });
  const last = await addPeer(w, "last");
  await post(w, "/peers/last/offline", {});
  const full = await post(w, "/peers", { name: "new", path: "/work", backend: "sdk" });
  assert.deepEqual([full.status, full.error, full.peers, full.kind], [
    429,
    "peers_full",
    PEER_RECORDS_MAX,
    "known",
  ]);
  assert.equal((await addPeer(w, "last")).peer_id, last.peer_id, "a known peer comes back");
  assert.equal((await w.fetch(`/peers/${peer_id}-1`, { method: "DELETE" })).status, 200);
  assert.equal((await addPeer(w, "new")).display_name, "new");
});
