/** Names of peers on other machines: which peer a message goes to. */

import assert from "node:assert/strict";
import { Refusal } from "kit/core/problem.ts";
import type { Scope } from "../../../../../daemon/features/peers/identity/name_lookup.ts";
import { type World, world } from "../../../../support/world.ts";
import { addPeer, get } from "../../../../support/daemon/peer_clients.ts";
import {
  announce,
  BUILDBOX,
  sharedPeer,
  TOWER,
} from "../../../../support/machines/remote_peers.ts";

/** The name of the recipient, or the code of the refusal. */
function targetOf(w: World, argument: string, scope: Scope = {}): string {
  try {
    return w.daemon.directory.target(argument, scope).name;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

Deno.test("a peer on another machine is found by its id, its name and machine, and its name alone", async () => {
  await using w = world();
  assert.equal(targetOf(w, "api"), "unknown_peer");
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  for (const argument of ["peer-a10000000000", "api@buildbox", "api@BuildBox", "api"]) {
    assert.equal(targetOf(w, argument), "api@buildbox", argument);
  }
  assert.equal(targetOf(w, `api@${BUILDBOX.daemon_id}`), "api@buildbox");
  for (const argument of ["api@tower", "web@buildbox", "x@api@buildbox", "@buildbox", "api@"]) {
    assert.equal(targetOf(w, argument), "unknown_peer", argument);
  }
  const { daemon_id, addressable } = w.daemon.directory.target("api", {});
  assert.deepEqual([daemon_id, addressable], [BUILDBOX.daemon_id, 1]);
});

Deno.test("a peer on this machine comes before one of the same name on another machine", async () => {
  await using w = world();
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  const { peer_id } = await addPeer(w, "api", { circle: "far" });
  const found = w.daemon.directory.target("api", {
    caller: { peer_id: null, circle: "default", role: "agent" },
  });
  assert.deepEqual([found.peer_id, found.daemon_id], [peer_id, null]);
  await w.post(`/peers/${peer_id}/offline`, { reason: "gone" });
  assert.equal(targetOf(w, "api"), "api");
  assert.equal(targetOf(w, "api@buildbox"), "api@buildbox");
});

Deno.test("the name of this machine after a peer's name means the peer here", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const { daemon_id } = w.daemon.identity;
  for (const argument of ["api@here", "api@HERE", `api@${daemon_id}`]) {
    assert.equal(w.daemon.directory.resolve(argument).peer_id, peer_id, argument);
  }
  assert.equal(targetOf(w, "web@here"), "unknown_peer");
});

Deno.test("a name that peers of several machines have is ambiguous, even if one is offline", async () => {
  await using w = world();
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  announce(w, TOWER, [sharedPeer("api", "b2", { status: "offline", circle: "far" })]);
  assert.throws(
    () => w.daemon.directory.target("api", {}),
    (error) => {
      assert.ok(error instanceof Refusal);
      const { candidates } = error.toBody();
      assert.deepEqual([error.code, candidates], ["ambiguous_peer", [
        { peer_id: "peer-a10000000000", name: "api@buildbox", circle: "default" },
        { peer_id: "peer-b20000000000", name: "api@tower", circle: "far" },
      ]]);
      return true;
    },
  );
  assert.equal(targetOf(w, "api@tower"), "api@tower");
  assert.equal(targetOf(w, "api", { circle: "far" }), "api@tower");
});

Deno.test("a name of two peers on one machine means the peer in the caller's circle", async () => {
  await using w = world();
  announce(w, BUILDBOX, [
    sharedPeer("api", "a1", { circle: "near" }),
    sharedPeer("api", "b2", { circle: "far" }),
  ]);
  const caller = { peer_id: null, circle: "near", role: "agent" } as const;
  assert.equal(w.daemon.directory.target("api@buildbox", { caller }).circle, "near");
  assert.equal(w.daemon.directory.target("api", { caller }).circle, "near");
  assert.equal(targetOf(w, "api", { caller, bypass_circle: true }), "ambiguous_peer");
  assert.equal(targetOf(w, "api", { circle: "elsewhere" }), "unknown_peer");
});

Deno.test("neither the human of another machine nor an alias of the human is found by name", async () => {
  await using w = world();
  const peers = [sharedPeer("api", "a1"), sharedPeer("dashboard", "b2")];
  announce(w, BUILDBOX, peers, { peer_id: "peer-c30000000000", name: "sam" });
  for (const argument of ["sam", "sam@buildbox", "peer-c30000000000", "dashboard"]) {
    assert.equal(targetOf(w, argument), "unknown_peer", argument);
  }
  const human = w.daemon.remotePeers.human(BUILDBOX.daemon_id);
  assert.deepEqual([human?.name, human?.role], ["sam@buildbox", "human"]);
  assert.equal((await get(w, "/peers")).peers.length, 1 + 1);
});

Deno.test("the members of a shared circle are those of all machines", async () => {
  await using w = world({ settings: { "mesh.bus.allow": '["default"]' } });
  await addPeer(w, "web");
  const names = () => w.daemon.directory.members("default").map(({ name }) => name);
  assert.deepEqual(names(), ["web"]);
  const lead = sharedPeer("lead", "b2", { role: "orchestrator", status: "offline" });
  const others = [
    sharedPeer("bot", "c3", { role: "service" }),
    sharedPeer("far", "d4", { circle: "far" }),
  ];
  announce(w, BUILDBOX, [sharedPeer("api", "a1"), lead, ...others]);
  assert.deepEqual(names(), ["web", "api@buildbox", "lead@buildbox"]);
  w.daemon.ctx.db.transact((tx) => w.daemon.remotePeers.forget(tx, BUILDBOX.daemon_id));
  assert.deepEqual(names(), ["web"]);
});

Deno.test("no request can name a peer of another machine as its sender", async () => {
  await using w = world();
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  await addPeer(w, "web");
  const body = { from_peer: "api@buildbox", to_peer: "web", text: "Hi" };
  assert.equal((await w.post("/notify", body)).status, 422);
  assert.equal(w.daemon.directory.sender("api").peer_id, null);
  assert.equal(w.daemon.directory.sender("peer-a10000000000").peer_id, null);
});
