/** Devices that get pushes: who may add them, which addresses count, and what others gain. */

import assert from "node:assert/strict";
import { SUBSCRIPTIONS_MAX } from "protocol/push/contract.ts";
import { eventData, get, notify, post } from "../../../../support/daemon/peer_clients.ts";
import { FakePushService } from "../../../../support/push/push_service.ts";
import { Phone, pushOptions, pushWorld, WITH_SAM } from "../../../../support/push/push_world.ts";
import { world } from "../../../../support/world.ts";

Deno.test("only a person may see, add, change, test and remove devices", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  const { subscription_id, endpoint, keys } = await phone.subscribe();
  const path = `/push/subscriptions/${subscription_id}`;
  const requests: [method: string, path: string, body?: unknown][] = [
    ["GET", "/push"],
    ["POST", "/push/subscriptions", { endpoint, keys }],
    ["PATCH", path, { name: "mine" }],
    ["POST", `${path}/test`],
    ["DELETE", path],
  ];
  for (const [method, path, body] of requests) {
    const answer = await w.fetch(path, { method, body: body ? JSON.stringify(body) : null });
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error], [403, "human_not_proven"], `${method} ${path}`);
  }
  assert.equal(service.requests, 0);
  assert.equal((await phone.request("GET", "/push")).subscriptions.length, 1);
});

Deno.test("a device shows its name and settings, and neither its address nor its keys", async () => {
  const { w, phone } = await pushWorld();
  await using _w = w;
  const { endpoint, keys } = await phone.subscribe({ done: false });
  const { public_key: _, ...list } = await phone.request("GET", "/push");
  const text = JSON.stringify(list);
  for (const secret of [endpoint, keys.p256dh, keys.auth]) assert.ok(!text.includes(secret));
  const { subscriptions: [{ name, service, via, questions, approvals, done }] } = list;
  assert.deepEqual([name, service, via], ["phone", "push.example", "daemon"]);
  assert.deepEqual([questions, approvals, done], [true, true, false]);
  assert.ok(!JSON.stringify(eventData(w, "push_subscription_changed")).includes(endpoint));
});

Deno.test("a device without a name has that of its browser", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  const { public_key } = await phone.request("GET", "/push");
  const names: [user_agent: string, name: string][] = [
    ["Mozilla/5.0 (Linux; Android 15) Chrome/142.0 Mobile Safari/537.36", "Chrome on Android"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Version/19.0 Safari/604.1", "Safari on iPhone"],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0", "Firefox on Linux"],
    ["curl/8", "A browser"],
  ];
  for (const [user_agent, expected] of names) {
    const body = { ...service.subscribe(public_key), user_agent };
    const { name } = await phone.request("POST", "/push/subscriptions", body);
    assert.equal(name, expected);
  }
});

Deno.test("settings of a device change what it gets", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  const { subscription_id } = await phone.subscribe();
  const path = `/push/subscriptions/${subscription_id}`;
  const changed = await phone.request("PATCH", path, { done: false, name: "desk" });
  assert.deepEqual([changed.done, changed.questions, changed.name], [false, true, "desk"]);
  await notify(w, "ada", "sam");
  await w.tick();
  assert.equal(service.requests, 0);
  for (const method of ["PATCH", "DELETE"]) {
    const { error } = await phone.request(method, "/push/subscriptions/psub-none", {});
    assert.equal(error, "unknown_push_subscription");
  }
});

Deno.test("the same endpoint again is the same device", async () => {
  const { w, phone } = await pushWorld();
  await using _w = w;
  const { endpoint, keys, subscription_id } = await phone.subscribe();
  const again = await phone.request("POST", "/push/subscriptions", {
    endpoint,
    keys,
    approvals: false,
  });
  assert.deepEqual([again.subscription_id, again.name, again.approvals], [
    subscription_id,
    "phone",
    false,
  ]);
});

Deno.test("pushes go to https addresses of the public internet only", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  const { public_key } = await phone.request("GET", "/push");
  const { keys } = service.subscribe(public_key);
  const refused = [
    "http://push.example/1",
    "https://127.0.0.1/1",
    "http://localhost:8377/inbox",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/1",
    "https://router.local/1",
    "https://user:pass@push.example/1",
    "file:///etc/passwd",
  ];
  for (const endpoint of refused) {
    const answer = await phone.request("POST", "/push/subscriptions", { endpoint, keys });
    assert.deepEqual([answer.status, answer.error], [422, "push_address_refused"], endpoint);
  }
  const endpoint = "https://push.example/1";
  const bad = { p256dh: keys.auth, auth: keys.auth };
  const answer = await phone.request("POST", "/push/subscriptions", { endpoint, keys: bad });
  assert.deepEqual([answer.status, answer.error], [422, "push_keys_refused"]);
});

Deno.test("a setting allows a push service on this machine", async () => {
  const service = new FakePushService();
  service.origin = "http://127.0.0.1:9999";
  const settings = { ...WITH_SAM, "push.allow_local": "true" };
  await using w = world(pushOptions(service, { settings }));
  const phone = await Phone.open(w, service);
  assert.equal((await phone.subscribe()).status, 200);
});

Deno.test("there is a limit of devices", async () => {
  const { w, phone } = await pushWorld();
  await using _w = w;
  for (let at = 0; at < SUBSCRIPTIONS_MAX; at++) {
    assert.equal((await phone.subscribe()).status, 200);
  }
  const { status, error } = await phone.subscribe();
  assert.deepEqual([status, error], [409, "too_many_push_subscriptions"]);
});

Deno.test("a test push reaches one device, and its state is shown", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  const { subscription_id } = await phone.subscribe();
  await phone.subscribe();
  const { push_id } = await phone.request("POST", `/push/subscriptions/${subscription_id}/test`);
  await w.clock.settle();
  assert.deepEqual(service.received.map(({ kind, item_id }) => [kind, item_id]), [["test", null]]);
  assert.equal(service.last.push_id, push_id);
  await phone.report(service.last, "displayed");
  assert.deepEqual(await phone.last(), ["shown", null]);
});

Deno.test("another daemon that knows a device's address and keys cannot push to it", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  const { endpoint, keys } = await phone.subscribe();
  await using other = world(pushOptions(service));
  const thief = await Phone.open(other, service);
  await thief.request("POST", "/push/subscriptions", { endpoint, keys });
  await notify(other, "eve", "sam", "Allow it");
  await other.tick();
  assert.equal(service.received.length, 0);
  assert.deepEqual(await thief.last(), ["failed", "HTTP 403"]);
});

Deno.test("an agent's report about a push changes nothing without its token", async () => {
  const { w, service, phone } = await pushWorld();
  await using _w = w;
  await phone.subscribe();
  await notify(w, "ada", "sam");
  await w.clock.settle();
  const { push_id } = service.last;
  const guess = { push_id, token: "guess", report: "displayed" };
  assert.equal((await post(w, "/push/reports", guess)).status, 404);
  assert.deepEqual(await phone.last(), ["taken", "HTTP 201"]);
  const { items: [item] } = await get(w, "/inbox");
  assert.equal(item.pushes[0].verified, false);
});
