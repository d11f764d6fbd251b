/** Routing failures: min_confidence, `fallback_to`, excluded roles, refused choices. */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { addPeer, ask, get, notify, post } from "../../../../support/daemon/peer_clients.ts";
import { askAnyone, assertNothing, leastBusyWorld } from "../../../../support/daemon/routing.ts";

Deno.test("a strategy below min_confidence has failed [7.router-unavailable]", async () => {
  await using w = leastBusyWorld({ "routing.min_confidence": "0.50" });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  assert.equal((await askAnyone(w)).status, 200);
  const unsure = await askAnyone(w);
  assert.deepEqual([unsure.status, unsure.reason], [503, "low_confidence"]);
  await addPeer(w, "eve", { role: "orchestrator", circle: "blue" });
  const { routing } = await askAnyone(w, { fallback_to: "eve" });
  assert.deepEqual([routing.routed_to, routing.confidence], ["eve", 0.25]);
  assert.deepEqual([routing.fallback, routing.fallback_reason], [true, "low_confidence"]);
});

Deno.test("the fallback is checked before the strategy runs, and used when that fails [4.ask.fallback-to] [7.service-excluded] [7.routing.fallback]", async () => {
  await using w = leastBusyWorld({ "human.name": "sam" });
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
    const answer = await askAnyone(w, { fallback_to });
    assert.deepEqual([fallback_to, answer.status, answer.error], [fallback_to, status, error]);
  }
  const twin = await askAnyone(w, { fallback_to: "twin", bypass_circle: true });
  assert.deepEqual([twin.status, twin.error], [409, "ambiguous_peer"]);
  const { peer, role, hint } = await askAnyone(w, { fallback_to: "cron" });
  assert.deepEqual([peer, role, typeof hint], ["cron", "service", "string"]);
  await assertNothing(w);
  const { routing } = await askAnyone(w, { fallback_to: bob.peer_id });
  assert.deepEqual([routing.routed_to, routing.fallback], ["bob", false]);
});

Deno.test("a retired fallback is refused by its id", async () => {
  await using w = leastBusyWorld();
  const { peer_id } = await addPeer(w, "late");
  await addPeer(w, "bob");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  const answer = await askAnyone(w, { fallback_to: peer_id });
  assert.deepEqual([answer.status, answer.error], [409, "peer_retired"]);
});

Deno.test("with allow_service_targets, services and the human may be chosen, after agents", async () => {
  await using w = leastBusyWorld({
    "routing.allow_service_targets": "true",
    "human.name": "sam",
  });
  assert.equal((await askAnyone(w)).routing.routed_to, "sam");
  await addPeer(w, "bob", { turn_state: "working" });
  await ask(w, "ada", "bob");
  assert.equal((await askAnyone(w)).routing.routed_to, "bob");
  await post(w, "/peers/bob/offline");
  await addPeer(w, "cron", { role: "service", turn_state: "idle" });
  assert.equal((await askAnyone(w)).routing.routed_to, "cron");
  const asked = await askAnyone(w, { circle: "none", fallback_to: "sam" });
  assert.equal(asked.status, 200);
});

Deno.test("with only the human left, no strategy chooses it unless that is allowed [7.routing.no-services]", async () => {
  await using w = leastBusyWorld({ "human.name": "sam" });
  const answer = await askAnyone(w);
  assert.deepEqual([answer.status, answer.reason], [503, "no_candidate"]);
  assert.deepEqual((await get(w, "/inbox")).items, []);
});

Deno.test("if the chosen peer's queue is full, the fallback is asked", async () => {
  await using w = leastBusyWorld({ "daemon.queue.max_per_peer": "1" });
  await addPeer(w, "bob", { turn_state: "idle" });
  await addPeer(w, "eve", { circle: "blue" });
  await notify(w, "ada", "bob");
  const refused = await askAnyone(w);
  assert.deepEqual([refused.status, refused.reason], [503, "refused"]);
  assert.deepEqual((await get(w, "/asks")).asks, []);
  const { routing } = await askAnyone(w, { fallback_to: "eve" });
  assert.deepEqual([routing.routed_to, routing.fallback_reason], ["eve", "refused"]);
  const full = await askAnyone(w, { fallback_to: "eve" });
  assert.deepEqual([full.status, full.error], [429, "queue_full"]);
});

Deno.test("a refused choice leaves the followed-up ask open", async () => {
  await using w = leastBusyWorld({ "daemon.queue.max_per_peer": "1" });
  await addPeer(w, "ada");
  await addPeer(w, "bob", { turn_state: "idle" });
  const before = await ask(w, "bob", "ada");
  await notify(w, "cli", "bob");
  const refused = await askAnyone(w, { reply_to: before });
  assert.deepEqual([refused.status, refused.reason], [503, "refused"]);
  assert.equal((await w.call(getAsk, { params: { id: before } })).state, "open");
  const unknown = await askAnyone(w, { reply_to: "ask-ffffffffffff" });
  assert.deepEqual([unknown.status, unknown.error], [404, "unknown_ask"]);
});
