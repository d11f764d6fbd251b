/** Looking up a peer of another circle by its name: on every verb that takes a peer. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { addPeer, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";

Deno.test("a name that the caller's circle lacks is found everywhere, unless the request fixes a circle [c1.peer-argument]", async () => {
  await using w = world();
  const bob = await addPeer(w, "bob", { circle: "there" });
  await addPeer(w, "eve", { circle: "here" });
  await addPeer(w, "ada", { circle: "here" });
  const body = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  for (const route of ["/ask", "/notify"]) {
    assert.equal((await post(w, route, body)).to_peer_id, bob.peer_id, route);
    const refused = await post(w, route, { ...body, circle: "here" });
    assert.deepEqual([refused.status, refused.error], [404, "unknown_peer"], route);
  }
  const many = await post(w, "/asks/many", { ...body, to_peers: ["bob", "eve"] });
  assert.equal(many.children.filter(({ correlation_id }: never) => correlation_id).length, 2);
  const fires = { ...body, fire_at: "1h" };
  assert.equal((await post(w, "/schedules", fires)).status, 200);
  assert.equal((await post(w, "/schedules", { ...fires, circle: "here" })).status, 404);
  const job = await post(w, "/jobs", { title: "Do", assigned_peer: "bob", created_by: "ada" });
  assert.equal(job.assigned_peer_id, bob.peer_id);
});

Deno.test("a name of two circles is that of the caller's circle, and ambiguous for a third one [c1.peer-argument.ambiguous]", async () => {
  await using w = world();
  const red = await addPeer(w, "bob", { circle: "red" });
  const blue = await addPeer(w, "bob", { circle: "blue" });
  for (const circle of ["red", "blue", "green"]) await addPeer(w, `ada-${circle}`, { circle });
  const askBob = (from_peer: string, more = {}) =>
    post(w, "/ask", { from_peer, to_peer: "bob", text: "Ready?", ...more });
  assert.equal((await askBob("ada-red")).to_peer_id, red.peer_id);
  assert.equal((await askBob("ada-blue")).to_peer_id, blue.peer_id);
  assert.equal((await askBob("ada-red", { circle: "blue" })).to_peer_id, blue.peer_id);
  const candidates = [
    { peer_id: red.peer_id, name: "bob", circle: "red" },
    { peer_id: blue.peer_id, name: "bob", circle: "blue" },
  ];
  for (
    const refused of [await askBob("ada-green"), await askBob("ada-red", { bypass_circle: true })]
  ) {
    assert.deepEqual([refused.status, refused.error], [409, "ambiguous_peer"]);
    assert.deepEqual(refused.candidates, candidates);
  }
});

Deno.test("an offline peer of the caller's circle comes before a live one elsewhere", async () => {
  await using w = world();
  const near = await addPeer(w, "bob", { circle: "red" });
  await post(w, `/peers/${near.peer_id}/offline`, {});
  await addPeer(w, "bob", { circle: "blue" });
  await addPeer(w, "ada", { circle: "red" });
  const asked = await post(w, "/ask", { from_peer: "ada", to_peer: "bob", text: "Ready?" });
  assert.deepEqual([asked.to_peer_id, asked.delivery_state], [near.peer_id, "queued"]);
});

Deno.test("a retired peer is found by no name, from no circle", async () => {
  await using w = world();
  const bob = await addPeer(w, "bob", { circle: "there" });
  await post(w, `/peers/${bob.peer_id}/offline`, { terminal: true });
  await addPeer(w, "ada", { circle: "here" });
  const asked = await post(w, "/ask", { from_peer: "ada", to_peer: "bob", text: "Ready?" });
  assert.equal(asked.error, "unknown_peer");
});

Deno.test("a verb on a socket finds a name in its own circle first, and then everywhere", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada", { circle: "red" });
  const near = await connectPeer(w, "bob", { circle: "red" });
  const far = await connectPeer(w, "bob", { circle: "blue" });
  const eve = await connectPeer(w, "eve", { circle: "blue" });
  await ada.send({ type: "ask", request_id: "1", to_peer: "bob", text: "Near?" });
  await ada.send({ type: "notify", request_id: "2", to_peer: "eve", text: "Far" });
  assert.deepEqual([near.of("ask").length, far.of("ask").length], [1, 0]);
  assert.equal(eve.of("notify").length, 1);
});

Deno.test("a route about one peer accepts the caller, and searches the caller's circle first", async () => {
  await using w = world();
  const red = await addPeer(w, "bob", { circle: "red" });
  await addPeer(w, "bob", { circle: "blue" });
  const ada = await addPeer(w, "ada", { circle: "red" });
  const seen = w.daemon.records.mustGet(ada.peer_id).last_seen;
  await w.clock.advance(5000);
  assert.equal((await get(w, "/peers/bob")).error, "ambiguous_peer");
  assert.equal((await get(w, "/peers/bob?from_peer=ada")).peer_id, red.peer_id);
  assert.equal((await get(w, `/peers/bob/doctor?from_peer=${ada.peer_id}`)).peer_id, red.peer_id);
  assert.equal((await get(w, "/peers/bob?from_peer=nobody")).error, "ambiguous_peer");
  assert.equal(
    w.daemon.records.mustGet(ada.peer_id).last_seen,
    seen,
    "a look-up is no sign of life",
  );
});

Deno.test("a scheduled message finds its recipient in the sender's circle first, and then everywhere", async () => {
  await using w = world();
  await addPeer(w, "ada", { circle: "red" });
  const far = await connectPeer(w, "bob", { circle: "blue" });
  const schedule = { from_peer: "ada", to_peer: "bob", text: "Stand up", cron: "* * * * *" };
  assert.equal((await post(w, "/schedules", schedule)).circle, "red");
  await w.tick(60);
  assert.equal(far.of("notify").length, 1);
  const near = await connectPeer(w, "bob", { circle: "red" });
  await w.tick(60);
  assert.deepEqual([far.of("notify").length, near.of("notify").length], [1, 1]);
});
