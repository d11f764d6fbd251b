/** Records of peers on other machines, and the routes that only their own machine serves. */

import assert from "node:assert/strict";
import { world } from "../../../../support/world.ts";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { announce, BUILDBOX, sharedPeer } from "../../../../support/machines/remote_peers.ts";

Deno.test("a peer of another machine has a record with its machine", async () => {
  await using w = world();
  const seen = w.clock.now() - 5000;
  announce(w, BUILDBOX, [
    sharedPeer("api", "a1", { description: "Builds", last_seen: seen, turn_state: "working" }),
  ]);
  const { restart, ...peer } = await get(w, "/peers/api@buildbox");
  assert.deepEqual(
    [peer.name, peer.display_name, peer.machine, peer.daemon_id, peer.transport, peer.path],
    ["api", "api@buildbox", "buildbox", BUILDBOX.daemon_id, "bus", "work"],
  );
  assert.deepEqual([peer.inbound_status, peer.description, peer.turn_state], [
    "ok",
    "Builds",
    "working",
  ]);
  assert.equal(Date.parse(peer.last_seen), seen);
  assert.deepEqual([restart.restartable, restart.reason], [false, "peer_elsewhere"]);
  for (const argument of ["api", "peer-a10000000000"]) {
    assert.equal((await get(w, `/peers/${argument}`)).display_name, "api@buildbox");
  }
});

Deno.test("a list of peers has those of other machines after those of this one", async () => {
  await using w = world();
  announce(w, BUILDBOX, [
    sharedPeer("api", "a1", { circle: "team" }),
    sharedPeer("old", "b2", { status: "offline", last_seen: w.clock.now() - 8 * 86_400_000 }),
  ]);
  await addPeer(w, "web", { circle: "team" });
  const names = async (query: string) =>
    (await get(w, `/peers?${query}`)).peers.map((peer: { display_name: string }) =>
      peer.display_name
    );
  assert.deepEqual(await names(""), ["web", "api@buildbox", "old@buildbox"]);
  assert.deepEqual(await names("circle=team"), ["web", "api@buildbox"]);
  assert.deepEqual(await names("status=offline"), ["old@buildbox"]);
  assert.deepEqual(await names("live=true"), ["web", "api@buildbox"]);
  assert.deepEqual(await names("listed=true&circle=team"), ["web", "api@buildbox"]);
  for (const query of ["listed=false", "addressable=false", "source=hook"]) {
    assert.deepEqual(await names(query), [], query);
  }
});

Deno.test("an act that only the peer's own machine can do is refused with the machine's name", async () => {
  await using w = world();
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  const bodies: Record<string, unknown> = {
    kill: {},
    restart: {},
    rehook: {},
    link: {},
    touch: {},
    name: { name: "web" },
    role: { role: "service" },
    description: { description: "Mine" },
    offline: { reason: "gone" },
    turn: { turn_state: "idle" },
  };
  for (const [verb, body] of Object.entries(bodies)) {
    const refused = await post(w, `/peers/api@buildbox/${verb}`, body);
    assert.deepEqual([refused.status, refused.error], [409, "peer_elsewhere"], verb);
    assert.equal(refused.detail, "api@buildbox runs on buildbox");
    assert.deepEqual([refused.machine, refused.daemon_id], ["buildbox", BUILDBOX.daemon_id]);
  }
  const closed = await w.fetch("/peers/api", { method: "DELETE" });
  assert.equal((await closed.json()).error, "peer_elsewhere");
  assert.equal((await get(w, "/peers/api/doctor")).error, "peer_elsewhere");
  assert.equal((await get(w, "/peers/web@buildbox/doctor")).error, "unknown_peer");
  assert.equal((await get(w, "/peers/api")).name, "api");
});
