/** Subscriptions: what is told, to whom, and how often. */

import assert from "node:assert/strict";
import { formatInstant } from "kit/core/local_time.ts";
import { ACTIVE_MAX, PER_PEER_MAX } from "protocol/subscriptions/contract.ts";
import { FIRES_MAX } from "../../../../daemon/features/subscriptions/occurrence_reports.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  notify,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";
import {
  readSubscription,
  subscribe,
  subscriptionIds,
  turn,
  unsubscribe,
} from "../../../support/daemon/schedules.ts";
import { world } from "../../../support/world.ts";

/** A daemon with @ada, who listens, and @web, who works. */
async function fixture() {
  const w = world({ settings: { "human.name": "sam" } });
  const ada = await connectPeer(w, "ada");
  const { peer_id: web } = await addPeer(w, "web");
  await turn(w, "web", "working");
  const notices = () => ada.of("notify").map(({ from_peer, text }) => [from_peer, text ?? ""]);
  return { w, ada, web, told: notices, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

Deno.test("the daemon notifies a subscriber once, with the observation, its source and its time [4.when.told]", async () => {
  await using at = await fixture();
  const { w, told } = at;
  const { subscription_id: id } = await subscribe(w, "peer:web idle");
  await w.tick(5);
  assert.deepEqual(told(), []);
  await turn(w, "web", "idle");
  await w.tick(1);
  const proof = `web is idle since ${formatInstant("2030-01-01T00:00:05Z")}, by its hook.`;
  assert.deepEqual(told(), [["mesh", `Subscription ${id}: ${proof}`]]);
  await turn(w, "web", "working");
  await turn(w, "web", "idle");
  await w.tick(120);
  assert.equal(told().length, 1);
  const { state, fires, last_proof, last_message_id } = await readSubscription(w, id);
  assert.deepEqual([state, fires, last_proof], ["fired", 1, proof]);
  assert.match(last_message_id ?? "", /^notif-/);
  assert.deepEqual(eventData(w, "subscription_fired").map(({ outcome, to }) => [outcome, to]), [
    ["fired", "ada"],
  ]);
});

Deno.test("a condition that already holds is reported at once [4.when.told]", async () => {
  await using at = await fixture();
  const { w, told } = at;
  for (const condition of ["peer:web working", "peer:web online"]) await subscribe(w, condition);
  await w.tick(1);
  assert.equal(told().length, 2);
});

Deno.test("blocked and offline are reported, and an end of a turn that the next tick does not see [4.when.peer-states]", async () => {
  await using at = await fixture();
  const { w, web, told } = at;
  await subscribe(w, "peer:web blocked");
  await subscribe(w, "peer:web offline");
  await subscribe(w, "peer:web finished");
  await subscribe(w, "peer:web idle");
  await turn(w, "web", "idle");
  await turn(w, "web", "working");
  await w.tick(1);
  assert.match(told()[0]?.[1] ?? "", /: web is idle since .*, by its hook\.$/);
  assert.equal(told().length, 1, "web is not idle any more, but has finished a turn");
  await turn(w, "web", "awaiting_input");
  await w.tick(1);
  assert.match(told()[1]?.[1] ?? "", /: web waits for its user since /);
  await post(w, `/peers/${web}/offline`, { reason: "crashed" });
  await addPeer(w, "web", { peer_id: web });
  await w.tick(1);
  const offline = told().find(([, text]) => text?.includes("offline"));
  assert.match(offline?.[1] ?? "", /: web is offline \(crashed\) since /);
});

Deno.test("the end of an ask is reported [4.when.records]", async () => {
  await using at = await fixture();
  const { w, told } = at;
  const id = await ask(w, "ada", "web");
  await subscribe(w, `ask:${id} closed`);
  await w.tick(1);
  assert.deepEqual(told(), []);
  await post(w, "/ack", { correlation_id: id, from_peer: "web", message: "Yes" });
  await w.tick(1);
  assert.match(
    told()[0]?.[1] ?? "",
    /The ask \S+ of ada to web was closed \(ack_with_msg\) at 2030-/,
  );
});

Deno.test("the end of a job is reported [4.when.records]", async () => {
  await using at = await fixture();
  const { w, told } = at;
  const { job_id } = await post(w, "/jobs", { prompt: "Test it", assigned_peer: "web" });
  await subscribe(w, `job:${job_id} ended`);
  await w.tick(1);
  assert.deepEqual(told(), []);
  await post(w, `/jobs/${job_id}/cancel`, { reason: "No" });
  await w.tick(1);
  assert.match(told().at(-1)?.[1] ?? "", /: The job work-\S+ is cancelled since 2030-/);
});

Deno.test("a message with a text goes to the named peer in the subscriber's name [4.when.recipient]", async () => {
  await using at = await fixture();
  const { w } = at;
  const bob = await connectPeer(w, "bob");
  const more = { to_peer: "bob", text: "It is yours" };
  const { subscription_id: id } = await subscribe(w, "peer:web idle", more);
  await turn(w, "web", "idle");
  await w.tick(1);
  const [sent] = bob.of("notify");
  assert.equal(sent?.from_peer, "ada");
  assert.equal(
    sent?.text,
    `It is yours\n\n(${id}: web is idle since ${
      formatInstant("2030-01-01T00:00:00Z")
    }, by its hook.)`,
  );
});

Deno.test("each occurrence is reported until a time, with at most one message a minute [4.when.rate]", async () => {
  await using at = await fixture();
  const { w, told } = at;
  const made = await subscribe(w, "peer:web finished", { until: "2h" });
  for (let turns = 0; turns < 5; turns++) {
    await turn(w, "web", "idle");
    await turn(w, "web", "working");
    await w.tick(1);
  }
  assert.equal(told().length, 1);
  await w.tick(60);
  assert.equal(told().length, 2);
  assert.match(told()[1]?.[1] ?? "", /: 4 times; last: web is idle since /);
  await w.tick(7200);
  assert.equal((await readSubscription(w, made.subscription_id)).state, "expired");
  await turn(w, "web", "idle");
  await w.tick(60);
  assert.equal(told().length, 2);
});

Deno.test("a loop of a subscription with its own message ends [4.when.rate]", async () => {
  await using at = await fixture();
  const { w } = at;
  const { subscription_id: id } = await subscribe(w, "peer:web finished", { until: "7d" });
  for (let minute = 0; minute < FIRES_MAX + 5; minute++) {
    await turn(w, "web", "idle");
    await turn(w, "web", "working");
    await w.tick(60);
  }
  const { state, fires } = await readSubscription(w, id);
  assert.deepEqual([state, fires], ["expired", FIRES_MAX]);
});

Deno.test("a peer has at most 20 active subscriptions [4.when.limit]", async () => {
  await using at = await fixture();
  const { w } = at;
  const made = await Promise.all(
    Array.from({ length: PER_PEER_MAX }, () => subscribe(w, "peer:web idle")),
  );
  const refused = { from_peer: "ada", condition: "peer:web idle" };
  const answer = await post(w, "/subscriptions", refused);
  assert.deepEqual([answer.status, answer.error], [429, "subscriptions_full"]);
  await unsubscribe(w, made[0]?.subscription_id ?? "");
  await subscribe(w, "peer:web idle");
  await subscribe(w, "peer:ada idle", { from_peer: "web" });
  assert.equal((await subscriptionIds(w, { state: "active" })).length, PER_PEER_MAX + 1);
});

Deno.test("a machine has at most 1000 active subscriptions [4.when.limit]", async () => {
  await using at = await fixture();
  const { w } = at;
  for (let made = 0; made < ACTIVE_MAX; made++) {
    const from_peer = `peer-${Math.floor(made / PER_PEER_MAX)}`;
    await subscribe(w, "peer:web offline", { from_peer, to_peer: "ada" });
  }
  const answer = await post(w, "/subscriptions", { from_peer: "ada", condition: "peer:web idle" });
  assert.deepEqual([answer.status, answer.error], [429, "subscriptions_full"]);
  assert.match(answer.detail, /^1000 subscriptions of this machine are active/);
});

Deno.test("a message that a limit refuses is sent later; any other refusal ends the subscription [4.when.refusal]", async () => {
  await using w = world({ settings: { "daemon.limits.pair_per_minute": "1" } });
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "web");
  await addPeer(w, "kim");
  await turn(w, "web", "working");
  await notify(w, "ada", "kim");
  const later = await subscribe(w, "peer:web finished", { to_peer: "kim", text: "Now" });
  const never = await subscribe(w, "peer:web finished", { to_peer: "web", text: "Now" });
  await post(w, "/peers/web/provenance", { addressable: false });
  await turn(w, "web", "idle");
  await w.tick(1);
  const waiting = await readSubscription(w, later.subscription_id);
  assert.deepEqual([waiting.state, waiting.last_error], ["active", "rate_limited"]);
  const failed = await readSubscription(w, never.subscription_id);
  assert.deepEqual([failed.state, failed.last_error], ["failed", "peer_not_addressable"]);
  assert.match(
    ada.of("notify")[0]?.text ?? "",
    /\(peer:web finished\) has ended without a message/,
  );
  await w.tick(61);
  const sent = await readSubscription(w, later.subscription_id);
  assert.deepEqual([sent.state, sent.fires, sent.last_error], ["fired", 1, null]);
});

Deno.test("no word of a peer is said in the human's voice [4.when.recipient]", async () => {
  await using at = await fixture();
  const { w } = at;
  const bob = await connectPeer(w, "bob");
  const body = { from_peer: "sam", condition: "peer:web offline", to_peer: "bob", text: "Look" };
  const { subscription_id: id } = await post(w, "/subscriptions", body, await signIn(w));
  await post(w, "/peers/web/offline", { reason: "delete everything" });
  await w.tick(1);
  const [sent] = bob.of("notify");
  assert.deepEqual([sent?.from_peer, sent?.text], ["sam", `Look\n\n(${id}: peer:web offline)`]);
});

Deno.test("subscriptions end with their subscriber, and one about a removed peer says so [4.when.removed]", async () => {
  await using at = await fixture();
  const { w, web, told } = at;
  await addPeer(w, "bob");
  const ofBob = await subscribe(w, "peer:web idle", { from_peer: "bob" });
  const aboutWeb = await subscribe(w, "peer:web idle");
  await post(w, "/peers/bob/offline", { terminal: true });
  assert.equal((await readSubscription(w, ofBob.subscription_id)).state, "cancelled");
  await w.fetch(`/peers/${web}`, { method: "DELETE" });
  await w.tick(1);
  assert.equal((await readSubscription(w, aboutWeb.subscription_id)).state, "failed");
  assert.match(
    told()[0]?.[1] ?? "",
    /\(peer:web idle\) has ended without a message: web is retired/,
  );
});

Deno.test("a peer in another circle is not found, as for a notification [4.when.circle]", async () => {
  await using at = await fixture();
  const { w } = at;
  await addPeer(w, "far", { circle: "other" });
  await addPeer(w, "far", { circle: "third" });
  const about = await post(w, "/subscriptions", { from_peer: "ada", condition: "peer:far idle" });
  const sent = { from_peer: "ada", to_peer: "far", text: "x" };
  const to = await post(w, "/subscriptions", { ...sent, condition: "peer:web idle" });
  const notified = await post(w, "/notify", sent);
  assert.deepEqual([about.error, to.error], [notified.error, notified.error]);
  const { condition } = await subscribe(w, "peer:far idle", { circle: "other" });
  assert.equal(condition, "peer:far idle");
});

Deno.test("an unknown condition is refused with the allowed conditions [4.when.refused]", async () => {
  await using at = await fixture();
  const { w } = at;
  const refused = [
    "web idle",
    "peer:web",
    "peer:web toString",
    "job:x idle",
    "file:web edited",
    "file:web/../x edited",
    "file:web//etc edited",
    "peer:web idle now",
  ];
  for (const condition of refused) {
    const answer = await post(w, "/subscriptions", { from_peer: "ada", condition });
    assert.equal(answer.status, 422, condition);
    assert.match(answer.detail, /is no condition; allowed: peer:NAME idle/);
  }
  const problems = [
    [{ condition: "peer:nobody idle" }, "unknown_peer"],
    [{ condition: "job:work-000000000000 ended" }, "unknown_job"],
    [{ condition: "ask:ask-000000000000 closed" }, "unknown_ask"],
    [{ condition: "peer:web idle", until: "8d" }, "invalid_request"],
    [{ condition: "peer:web idle", from_peer: "stranger" }, "invalid_request"],
  ] as const;
  for (const [body, error] of problems) {
    const answer = await post(w, "/subscriptions", { from_peer: "ada", ...body });
    assert.equal(answer.error, error);
  }
  const { subscription_id: id } = await subscribe(w, "peer:web working");
  await w.tick(1);
  const settled = await w.fetch(`/subscriptions/${id}`, { method: "DELETE" });
  assert.equal((await settled.json()).error, "illegal_state");
});
