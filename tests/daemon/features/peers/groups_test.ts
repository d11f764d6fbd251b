/** Tags of peers, messages to all peers of a tag, and settings of a running peer. */

import assert from "node:assert/strict";
import { listGroup, setPeer } from "protocol/peers/groups.ts";
import { getPeer, listPeers } from "protocol/peers/contract.ts";
import { broadcast } from "protocol/notifications.ts";
import { askMany } from "protocol/asks/many.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, get, notify, signIn } from "../../../support/daemon/peer_clients.ts";

async function change(w: World, id: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await w.fetch(`/peers/${id}`, {
    method: "PATCH",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
  return { status: response.status, ...await response.json() };
}

Deno.test("tags are given at registration, changed later, sorted and without repetitions", async () => {
  await using w = world();
  await addPeer(w, "api", { tags: ["web", "backend", "web"] });
  const params = { id: "api" };
  const before = await w.call(getPeer, { params, query: {} });
  assert.deepEqual(before.tags, ["backend", "web"]);
  const body = { add_tags: ["go"], remove_tags: ["web"] };
  const after = await w.call(setPeer, { params, query: {}, body });
  assert.deepEqual(after.tags, ["backend", "go"]);
  await addPeer(w, "api", { peer_id: before.peer_id });
  const { peers } = await w.call(listPeers, { query: {} });
  assert.deepEqual(peers.map(({ tags }) => tags), [["backend", "go"]]);
});

Deno.test("a peer has 16 tags at most, and a tag is a short lowercase word", async () => {
  await using w = world();
  await addPeer(w, "api", { tags: Array.from({ length: 16 }, (_, at) => `t${at}`) });
  const refused = await change(w, "api", { add_tags: ["more"] });
  assert.deepEqual([refused.status, refused.error], [422, "too_many_tags"]);
  const swapped = await change(w, "api", { add_tags: ["more"], remove_tags: ["t0"] });
  assert.equal(swapped.tags.length, 16);
  for (const tag of ["", "-a", "_a", "A", "a b", "@a", "a".repeat(33)]) {
    assert.equal((await change(w, "api", { tags: [tag] })).error, "invalid_request", tag);
  }
  const longest = "a".repeat(32);
  assert.deepEqual((await change(w, "api", { tags: [longest] })).tags, [longest]);
});

Deno.test("a tag means the peers of the caller's circle, and those of all only without any", async () => {
  await using w = world();
  await addPeer(w, "ada", { circle: "one" });
  await addPeer(w, "cid", { circle: "three" });
  for (const [name, circle] of [["near", "one"], ["far", "two"]] as const) {
    await addPeer(w, name, { circle, tags: ["db"] });
  }
  const named = async (query: { from_peer?: string; circle?: string }) => {
    const { peers } = await w.call(listGroup, { params: { tag: "db" }, query });
    return peers.map(({ name }) => name).sort();
  };
  assert.deepEqual(await named({ from_peer: "ada" }), ["near"]);
  assert.deepEqual(await named({ from_peer: "cid" }), ["far", "near"]);
  assert.deepEqual(await named({ from_peer: "ada", circle: "two" }), ["far"]);
  const none = await get(w, "/groups/db?circle=three");
  assert.deepEqual([none.status, none.error], [404, "no_tagged_peer"]);
});

Deno.test("an ask to a tag asks each of its peers once, and not the asker", async () => {
  await using w = world();
  await addPeer(w, "ada", { tags: ["db"] });
  await addPeer(w, "bob", { tags: ["db"] });
  await addPeer(w, "cid", { tags: ["db"] });
  const body = { from_peer: "ada", to_peers: ["@db", "bob", "@none"], text: "Ready?" };
  const { children } = await w.call(askMany, { body });
  assert.deepEqual(children.map(({ peer }) => peer).sort(), ["@none", "bob", "cid"]);
  assert.deepEqual(children.at(-1), { peer: "@none", error: "no_tagged_peer" });
});

Deno.test("an ask to more than a hundred peers by their tags is refused before it asks any", async () => {
  await using w = world();
  for (let at = 0; at < 101; at++) await addPeer(w, `p${at}`, { tags: at < 51 ? ["a"] : ["b"] });
  const to = async (to_peers: string[]) => {
    const answer = await w.post("/asks/many", { from_peer: "cli", to_peers, text: "Ready?" });
    return { status: answer.status, ...await answer.json() };
  };
  const refused = await to(["@a", "@b"]);
  assert.deepEqual([refused.status, refused.error], [422, "group_too_large"]);
  assert.deepEqual((await get(w, "/asks")).asks, []);
  for (let at = 51; at < 101; at++) await change(w, `p${at}`, { add_tags: ["a"] });
  assert.equal((await get(w, "/groups/a")).error, "group_too_large");
  await change(w, "p0", { remove_tags: ["a"] });
  assert.equal((await to(["@a"])).children.length, 100);
});

Deno.test("a notification to a tag lists its recipients, and the peers without it with reasons", async () => {
  await using w = world();
  await addPeer(w, "ada", { tags: ["db"] });
  const bob = await addPeer(w, "bob", { tags: ["db"] });
  const cid = await addPeer(w, "cid", { tags: ["db"] });
  await addPeer(w, "dan");
  await w.post("/peers/cid/offline", {});
  const body = { from_peer: "ada", text: "The schema changed", tag: "db" };
  const sent = await w.call(broadcast, { body });
  assert.deepEqual(sent.sent_to.map(({ peer_id }) => peer_id), [bob.peer_id]);
  assert.deepEqual(sent.skipped, [{ peer_id: cid.peer_id, reason: "offline" }]);
  const none = await w.post("/broadcast", { ...body, tag: "none" });
  assert.equal((await none.json()).error, "no_tagged_peer");
});

Deno.test("a broadcast excludes whoever is named, in any of the ways that name a recipient", async () => {
  await using w = world();
  await addPeer(w, "ada", { tags: ["db"] });
  const bob = await addPeer(w, "bob", { tags: ["db"] });
  await addPeer(w, "cid", { tags: ["web"] });
  for (
    const [exclude, names] of [
      [["bob@here", "nobody", "nobody@nowhere"], ["cid"]],
      [[bob.peer_id], ["cid"]],
      [["@db"], ["cid"]],
      [["@web", "@none"], ["bob"]],
      [["BOB", "ada"], ["bob", "cid"]],
    ] as const
  ) {
    const body = { from_peer: "ada", text: "Done", exclude: [...exclude] };
    const { sent_to } = await w.call(broadcast, { body });
    assert.deepEqual(sent_to.map(({ name }) => name).sort(), [...names], exclude.join());
  }
  const exclude = Array.from({ length: 1001 }, (_, at) => `p${at}`);
  const refused = await w.post("/broadcast", { from_peer: "ada", text: "Done", exclude });
  assert.equal(refused.status, 422);
});

Deno.test("only a person moves a peer, whose queue and open asks stay with it", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const api = await addPeer(w, "api", { circle: "one" });
  await addPeer(w, "api", { circle: "two" });
  await addPeer(w, "ada", { circle: "one" });
  const correlation_id = await ask(w, "ada", api.peer_id);
  await notify(w, "ada", api.peer_id);
  const refused = await change(w, api.peer_id, { circle: "two", tags: ["db"] });
  assert.deepEqual([refused.status, refused.error], [403, "human_not_proven"]);
  const moved = await change(w, api.peer_id, { circle: "two" }, await signIn(w));
  assert.deepEqual([moved.circle, moved.tags, moved.name], ["two", [], "api-2"]);
  assert.equal((await get(w, `/asks/${correlation_id}`)).state, "open");
  assert.equal((await get(w, `/deliveries?peer_id=${api.peer_id}`)).deliveries.length, 2);
  const answer = { correlation_id, from_peer: api.peer_id, message: "Port 8080" };
  assert.equal((await w.post("/ack", answer)).status, 200);
  assert.equal((await get(w, `/asks/${correlation_id}`)).reply, "Port 8080");
});

Deno.test("an orchestrator does not move to a circle that has a live one", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada", { circle: "one", role: "orchestrator" });
  await addPeer(w, "bob", { circle: "two", role: "orchestrator" });
  const page = await signIn(w);
  assert.equal((await change(w, "ada", { circle: "two" }, page)).error, "orchestrator_present");
  assert.equal((await change(w, "ada", { circle: "three" }, page)).circle, "three");
});

Deno.test("settings of the human and of a retired peer are not changed", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const api = await addPeer(w, "api");
  await w.post("/peers/api/offline", { terminal: true });
  const { peer_id = "" } = w.daemon.directory.human() ?? {};
  assert.equal((await change(w, peer_id, { tags: ["db"] })).error, "role_fixed");
  assert.equal((await change(w, api.peer_id, { tags: ["db"] })).error, "peer_retired");
});
