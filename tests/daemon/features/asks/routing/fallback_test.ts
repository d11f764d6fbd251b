/** The fallback of a routed ask: when it is checked, and when it is used. */

import assert from "node:assert/strict";
import { addPeer, post } from "../../../../support/daemon/peer_clients.ts";
import { assertNothing, route, worldWithLoadedPeers } from "../../../../support/daemon/routing.ts";

Deno.test("the fallback is checked before the arm is asked, and only then used [4.ask.fallback-to] [7.service-excluded] [7.routing.fallback]", async () => {
  await using w = worldWithLoadedPeers({ "human.name": "sam" });
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob", { turn_state: "idle" });
  await addPeer(w, "cron", { role: "service" });
  await addPeer(w, "mute", { provenance: { addressable: false } });
  await addPeer(w, "late");
  const late = await post(w, "/peers/late/offline", { terminal: true });
  assert.equal(late.status, 200);
  for (const circle of ["red", "blue"]) await addPeer(w, "twin", { circle });
  const refusals = [
    ["nobody", 404, "unknown_peer"],
    ["", 404, "unknown_peer"],
    ["late", 404, "unknown_peer"],
    ["mute", 409, "peer_not_addressable"],
    ["cron", 403, "service_excluded"],
    ["sam", 403, "service_excluded"],
    ["dashboard", 403, "service_excluded"],
    [ada.peer_id, 422, "to_self"],
  ] as const;
  for (const [fallback_to, status, error] of refusals) {
    const answer = await route(w, { fallback_to });
    assert.deepEqual([fallback_to, answer.status, answer.error], [fallback_to, status, error]);
  }
  const twin = await route(w, { fallback_to: "twin", bypass_circle: true });
  assert.deepEqual([twin.status, twin.error], [409, "ambiguous_peer"]);
  const { peer, role, hint } = await route(w, { fallback_to: "cron" });
  assert.deepEqual([peer, role, typeof hint], ["cron", "service", "string"]);
  await assertNothing(w);
  const { routing } = await route(w, { fallback_to: bob.peer_id });
  assert.deepEqual([routing.routed_to, routing.fallback], ["bob", false]);
});

Deno.test("a retired fallback is refused by its id", async () => {
  await using w = worldWithLoadedPeers();
  const { peer_id } = await addPeer(w, "late");
  await addPeer(w, "bob");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  const answer = await route(w, { fallback_to: peer_id });
  assert.deepEqual([answer.status, answer.error], [409, "peer_retired"]);
});
