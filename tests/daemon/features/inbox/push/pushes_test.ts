/** Pushes of inbox items to devices: what is sent, its states, and what is over. */

import assert from "node:assert/strict";
import {
  addPeer,
  ask,
  eventData,
  get,
  notify,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import { PERMISSION, startAskBlocking } from "../../../../support/daemon/blocking_questions.ts";
import { restartableWorld } from "../../../../support/daemon/restartable.ts";
import { FakePushService } from "../../../../support/push/push_service.ts";
import { Phone, pushOptions, pushWorld } from "../../../../support/push/push_world.ts";
import { type World, world } from "../../../../support/world.ts";

async function stages(w: World, id: string): Promise<string[]> {
  const { stages } = await get(w, `/traces/${id}`);
  return stages.map(({ stage, detail }: { stage: string; detail: string | null }) =>
    [stage, detail].filter(Boolean).join(" ")
  ).filter((text: string) => text.startsWith("push_"));
}

Deno.test("a question to the human is pushed to the device, encrypted, and its trace says so", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await addPeer(w, "ada");
  const id = await ask(w, "ada", "sam", "Port 5432 or 6432?");
  await w.clock.settle();
  const { items: [item] } = await get(w, "/inbox");
  const { title, body, kind, subject, topic, ttl, urgency, item_id, bytes } = service.last;
  assert.deepEqual([kind, title, body], ["item", "ada asks you", "Port 5432 or 6432?"]);
  assert.deepEqual([subject, topic, item_id], [id, item.item_id, item.item_id]);
  assert.deepEqual([ttl, urgency, bytes], [86_400, "normal", 2923]);
  assert.deepEqual(await stages(w, id), ["push_taken phone: HTTP 201"]);
  const [push] = item.pushes;
  assert.deepEqual([push.status, push.verified, push.surface_ref], [
    "pushed",
    false,
    service.last.push_id,
  ]);
});

Deno.test("each kind of item is pushed only to devices that want it", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await addPeer(w, "ada");
  for (const wanted of ["questions", "approvals", "done"]) {
    const off = { questions: false, approvals: false, done: false };
    await phone.subscribe({ ...off, name: wanted, [wanted]: true });
  }
  await ask(w, "ada", "sam", "Ready?");
  await notify(w, "ada", "sam", "Built");
  await startAskBlocking(w, { from_peer: "ada" });
  const titles = service.received.map(({ title }) => title);
  assert.deepEqual(titles, ["ada asks you", "ada writes to you", "ada asks for permission"]);
});

Deno.test("a device reports that it displayed a push, and that it was opened", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await addPeer(w, "ada");
  const id = await ask(w, "ada", "sam");
  await w.clock.settle();
  assert.deepEqual(await phone.report(service.last, "displayed"), { status: 200, is_over: false });
  assert.deepEqual(await phone.last(), ["shown", null]);
  await phone.report(service.last, "chosen");
  await phone.report(service.last, "displayed");
  assert.deepEqual(await phone.last(), ["opened", null]);
  const trace = ["push_taken phone: HTTP 201", "push_shown phone", "push_opened phone"];
  assert.deepEqual(await stages(w, id), trace);
  const { items: [item] } = await get(w, "/inbox");
  assert.deepEqual(item.pushes[0].verified, true);
});

Deno.test("a report needs the token of its push", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await notify(w, "ada", "sam", "First");
  await notify(w, "ada", "sam", "Second");
  await w.clock.settle();
  const [first, second] = service.received;
  assert.ok(first && second);
  const swapped = await phone.report({ ...first, token: second.token }, "displayed");
  assert.deepEqual([swapped.status, swapped.error], [404, "unknown_push"]);
  assert.equal((await phone.report({ ...first, push_id: "push-0" }, "displayed")).status, 404);
});

Deno.test("an item that is answered before its push is sent is not pushed", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await addPeer(w, "ada");
  service.answers.push({ status: 503 });
  const id = await ask(w, "ada", "sam");
  await w.clock.settle();
  assert.deepEqual(await phone.last(), ["queued", "HTTP 503"]);
  await post(w, "/ack", { correlation_id: id, from_peer: "dashboard", message: "Yes" });
  for (let minute = 0; minute < 20; minute++) await w.tick(60);
  assert.equal(service.requests, 1);
  assert.deepEqual(await phone.last(), ["dropped", "over"]);
  assert.deepEqual(await stages(w, id), [
    "push_delayed phone: HTTP 503",
    "push_dropped phone: over",
  ]);
});

Deno.test("a notification of an item that is answered elsewhere is replaced, once", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await addPeer(w, "ada");
  const id = await ask(w, "ada", "sam", "Ready?");
  await w.clock.settle();
  const { subject, topic: first } = service.last;
  await post(w, "/ack", { correlation_id: id, from_peer: "dashboard", message: "Yes" });
  await w.tick();
  assert.equal(service.received.length, 2);
  const { kind, title, body, subject: same, topic, ttl } = service.last;
  assert.deepEqual([kind, title, body], ["close", "Over: ada asked you", "sam answered it."]);
  assert.deepEqual([same, topic, ttl], [subject, first, 60]);
  assert.deepEqual((await phone.report(service.last, "displayed")).is_over, true);
});

Deno.test("a device whose person opened or dismissed the notification gets no second one", async () => {
  for (const report of ["chosen", "dismissed"]) {
    const { w, service, phone } = await pushWorld();
    await using _w = w;
    await phone.subscribe();
    const { inbox_item_id } = await notify(w, "ada", "sam", "Built");
    await w.clock.settle();
    await phone.report(service.last, report);
    await post(w, `/inbox/${inbox_item_id}/read`);
    await w.tick();
    assert.equal(service.received.length, 1, report);
  }
});

Deno.test("a push service that is busy is left alone for as long as it says", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  service.answers.push({ status: 429, headers: { "retry-after": "90" } });
  await notify(w, "ada", "sam", "First");
  await w.clock.settle();
  await notify(w, "ada", "sam", "Second");
  await w.clock.settle();
  // The second push has waited for nothing yet, and the first answer told when to continue.
  const before = service.requests;
  await w.tick(60);
  assert.equal(service.requests, before);
  await w.tick(31);
  await w.tick(1);
  assert.deepEqual(service.received.map(({ body }) => body).sort(), ["First", "Second"]);
});

Deno.test("a push without an answer is sent again, under the topic by which it replaces the first", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  service.answers.push("no answer");
  await notify(w, "ada", "sam", "Built");
  await w.tick(15);
  assert.deepEqual(await phone.last(), ["queued", "no answer within 15 s"]);
  await w.tick(5);
  assert.deepEqual(await phone.last(), ["taken", "HTTP 201"]);
  assert.equal(service.received.length, 1);
});

Deno.test("a device that its push service no longer knows is ended, and that is said", async () => {
  for (const status of [404, 410]) {
    const { w, service, phone } = await pushWorld();
    await using _w = w;
    const { subscription_id } = await phone.subscribe();
    service.answers.push({ status });
    await notify(w, "ada", "sam", "First");
    await w.clock.settle();
    await notify(w, "ada", "sam", "Second");
    await w.clock.settle();
    assert.equal(service.requests, 1);
    const { subscriptions: [ended] } = await phone.request("GET", "/push");
    assert.equal(ended.end_reason, `the push service no longer knows it (HTTP ${status})`);
    assert.deepEqual(eventData(w, "push_subscription_changed").map(({ state }) => state), [
      "added",
      "gone",
    ]);
    assert.deepEqual(await phone.last(), ["failed", "subscription_gone"]);
    await w.tick(8 * 86_400);
    assert.deepEqual((await phone.request("GET", "/push")).subscriptions, []);
    assert.ok(subscription_id);
  }
});

Deno.test("a push that its service refuses has failed, with the reason", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  service.answers.push({ status: 413 });
  await notify(w, "ada", "sam");
  await w.tick(60);
  assert.deepEqual(await phone.last(), ["failed", "HTTP 413"]);
  assert.equal(service.requests, 1);
});

Deno.test("a daemon that is killed while it sends a push sends it again, and the trace says so", async () => {
  const service = new FakePushService();
  using disk = restartableWorld(pushOptions(service));
  await using first = disk.start();
  service.now = () => first.clock.now();
  const phone = await Phone.open(first, service);
  await phone.subscribe();
  await addPeer(first, "ada");
  service.answers.push("no answer");
  const id = await ask(first, "ada", "sam");
  await first.clock.settle();
  assert.deepEqual(await phone.last(), ["sending", null]);
  await using second = disk.startFromCrash();
  await second.tick();
  assert.equal(service.received.length, 1);
  assert.deepEqual(await stages(second, id), [
    "push_delayed phone: daemon_restart",
    "push_taken phone: HTTP 201",
  ]);
  await second.tick(60);
  assert.equal(service.requests, 2);
});

Deno.test("a daemon's key for push services is made once, and is the same after a restart", async () => {
  using disk = restartableWorld(pushOptions(new FakePushService()));
  const keys = [];
  for (let run = 0; run < 2; run++) {
    await using w = disk.start();
    keys.push(w.daemon.pushes.subscriptions.list().public_key);
  }
  assert.equal(keys[0]?.length, 87);
  assert.equal(keys[0], keys[1]);
});

Deno.test("an approval has buttons only if the notification shows the whole act", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await addPeer(w, "ada");
  const actions = async (more: Record<string, unknown>) => {
    await startAskBlocking(w, { from_peer: "ada", ...more });
    return service.last.actions.map(({ title }) => title);
  };
  const ids = ["t1", "t2", "t3", "t4", "t5", "t6"].map((correlation_id) => ({ correlation_id }));
  assert.deepEqual(await actions({ ...ids[0] }), ["Allow", "Deny"]);
  assert.equal(service.last.urgency, "high");
  assert.deepEqual(await actions({ ...ids[1], prompt: "x".repeat(400) }), []);
  assert.deepEqual(await actions({ ...ids[2], prompt: "rm \u202etxt.exe" }), []);
  assert.deepEqual(await actions({ ...ids[3], prompt: "a\nb\nc\nd\ne" }), []);
  const cut = { tool_input: "{}", tool_input_is_cut: true };
  assert.deepEqual(await actions({ ...ids[4], metadata: cut }), []);
  const options = [...PERMISSION.options, { id: "always", title: "Always" }];
  assert.deepEqual(await actions({ ...ids[5], options }), []);
});

Deno.test("a long text is cut, whatever its characters, and every push has one size", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  for (const text of ["x".repeat(9000), "🍉".repeat(3000), '"\\\u2028'.repeat(900)]) {
    await notify(w, "ada", "sam", text);
    await w.clock.settle();
    assert.equal(service.last.bytes, 2923);
    assert.ok(service.last.body.endsWith("…") && service.last.body.isWellFormed());
  }
});

Deno.test("without a device nothing is stored, and a removed one gets nothing more", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await notify(w, "ada", "sam");
  const { subscription_id } = await phone.subscribe();
  await w.tick();
  assert.equal(service.requests, 0);
  const removed = await phone.request("DELETE", `/push/subscriptions/${subscription_id}`);
  assert.deepEqual(removed, { status: 200, ok: true });
  await notify(w, "ada", "sam");
  await w.tick();
  assert.equal(service.requests, 0);
});

Deno.test("the inbox item of a failed push says so", async () => {
  const service = new FakePushService();
  await using w = world(pushOptions(service));
  const phone = await Phone.open(w, service);
  const { subscription_id } = await phone.subscribe();
  service.answers.push({ status: 400 });
  await notify(w, "ada", "sam");
  await w.clock.settle();
  const { items: [item] } = await get(w, "/inbox");
  const [{ at: _, ...push }] = item.pushes;
  assert.deepEqual(push, {
    surface: `push:${subscription_id}`,
    status: "failed",
    surface_ref: push.surface_ref,
    surface_refs: [push.surface_ref],
    verified: false,
    error_class: "HTTP 400",
  });
});
