/** The strategy `webhook`, against a real HTTP endpoint. */

import assert from "node:assert/strict";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import {
  askAnyone,
  endpointWorld,
  type Handle,
  respondWith,
} from "../../../../support/daemon/routing.ts";

Deno.test("the endpoint receives the candidates, and the peer that it names is asked", async () => {
  await using fixture = endpointWorld(
    respondWith({ peer: "bob", confidence: 0.75, reason: "knows it" }),
  );
  const { w, requests } = fixture;
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob", { turn_state: "idle", path: "/work/api" });
  await addPeer(w, "cron", { role: "service" });
  await post(w, "/peers/bob/description", { description: "The API" });
  await ask(w, "ada", "bob");
  await w.clock.advance(2000);
  const answer = await askAnyone(w);
  assert.deepEqual([answer.status, answer.to_peer_id], [200, bob.peer_id]);
  assert.deepEqual(answer.routing, {
    arm: "webhook",
    routed_to: "bob",
    routed_to_peer_id: bob.peer_id,
    confidence: 0.75,
    fallback: false,
    fallback_reason: null,
  });
  const [{ request, body } = assert.fail()] = requests;
  assert.deepEqual([request.method, new URL(request.url).search], ["POST", "?key=1"]);
  assert.equal(request.headers.get("content-type"), "application/json");
  assert.deepEqual(body, {
    text: "Who can?",
    from_peer: "ada",
    from_peer_id: ada.peer_id,
    circle: "default",
    candidates: [{
      peer_id: bob.peer_id,
      name: "bob",
      circle: "default",
      backend: "sdk",
      role: "agent",
      status: "online",
      turn_state: "idle",
      path: "/work/api",
      description: "The API",
      description_age_seconds: 2,
      open_asks: 1,
    }],
  });
});

Deno.test("the endpoint may name a peer by id, and its confidence defaults to 1", async () => {
  let peer = "";
  await using fixture = endpointWorld(() => Response.json({ peer }));
  const { w } = fixture;
  const far = await addPeer(w, "far", { circle: "blue" });
  await addPeer(w, "ada");
  peer = far.peer_id;
  const { routing } = await askAnyone(w);
  assert.deepEqual([routing.routed_to, routing.confidence], ["far", 1]);
});

Deno.test("the endpoint's choice is authorized like a named target [7.routing.pick-authorized]", async () => {
  let peer: string | null = null;
  await using fixture = endpointWorld(() => Response.json({ peer, confidence: 1 }));
  const { w } = fixture;
  const ada = await addPeer(w, "ada");
  await addPeer(w, "bob");
  await addPeer(w, "cron", { role: "service" });
  await addPeer(w, "far", { circle: "blue" });
  await addPeer(w, "mute", { provenance: { addressable: false } });
  const late = await addPeer(w, "late");
  await post(w, "/peers/late/offline", { terminal: true });
  const before = (await get(w, "/deliveries")).deliveries.length;
  for (peer of [null, "nobody", "cron", "mute", ada.peer_id, late.peer_id, "dashboard"]) {
    const answer = await askAnyone(w);
    assert.deepEqual([peer, answer.status, answer.error, answer.arm, answer.reason], [
      peer,
      503,
      "router_unavailable",
      "webhook",
      "refused",
    ]);
    const { routing } = await askAnyone(w, { fallback_to: "bob", dry_run: true });
    assert.deepEqual([routing.routed_to, routing.fallback, routing.fallback_reason], [
      "bob",
      true,
      "refused",
    ]);
  }
  assert.equal((await get(w, "/deliveries")).deliveries.length, before);
  assert.deepEqual([(await get(w, "/asks")).asks, eventData(w, "ask")], [[], []]);
});

Deno.test("with allow_service_targets, the endpoint may name a service", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "cron" }), {
    "routing.allow_service_targets": "true",
  });
  await addPeer(fixture.w, "cron", { role: "service" });
  assert.equal((await askAnyone(fixture.w)).routing.routed_to, "cron");
  const [{ body } = assert.fail()] = fixture.requests;
  assert.equal((body["candidates"] as unknown[]).length, 1);
});

Deno.test("an invalid response is an error of the strategy", async () => {
  const bad: Handle[] = [
    respondWith({}),
    respondWith([]),
    respondWith(null),
    respondWith({ peer: "" }),
    respondWith({ peer: 5 }),
    respondWith({ peer: "bob", confidence: 1.5 }),
    respondWith({ peer: "bob", confidence: "high" }),
    respondWith({ peer: "x".repeat(300) }),
    () => new Response("bob"),
    () => new Response(null, { status: 204 }),
    () => Response.json({ peer: "bob" }, { status: 500 }),
    () => Response.json({ peer: "bob" }, { status: 404 }),
    () => Response.json({ peer: "bob", padding: "x".repeat(70_000) }),
  ];
  let handle: Handle = () => new Response();
  await using fixture = endpointWorld((request) => handle(request));
  const { w } = fixture;
  await addPeer(w, "bob");
  for (handle of bad) {
    const answer = await askAnyone(w);
    assert.deepEqual([answer.status, answer.reason], [503, "error"], String(handle));
  }
  assert.equal(fixture.requests.length, bad.length);
  assert.equal(w.logged.length, bad.length);
  assert.deepEqual((await get(w, "/asks")).asks, []);
});

Deno.test("a redirect is not followed", async () => {
  await using fixture = endpointWorld((request) =>
    new URL(request.url).pathname === "/pick"
      ? Response.redirect(new URL("/other", request.url), 307)
      : Response.json({ peer: "bob" })
  );
  await addPeer(fixture.w, "bob");
  assert.equal((await askAnyone(fixture.w)).reason, "error");
  assert.equal(fixture.requests.length, 1);
});

Deno.test("an unreachable endpoint is an error, and the fallback is asked", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  await using fixture = endpointWorld(respondWith({}), {
    "routing.webhook": `http://127.0.0.1:${port}/`,
  });
  const { w } = fixture;
  const bob = await connectPeer(w, "bob");
  assert.equal((await askAnyone(w)).reason, "error");
  const { routing } = await askAnyone(w, { fallback_to: "bob" });
  assert.deepEqual([routing.routed_to, routing.confidence, routing.fallback_reason], [
    "bob",
    0,
    "error",
  ]);
  assert.equal(bob.of("ask").length, 1);
});

Deno.test("the choice is checked against the state after the endpoint's response", async () => {
  const response = Promise.withResolvers<Response>(), asked = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    return response.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const routing = askAnyone(w, { fallback_to: "eve" });
  await asked.promise;
  await post(w, "/peers/bob/provenance", { addressable: false });
  response.resolve(Response.json({ peer: "bob" }));
  const answer = await routing;
  assert.deepEqual([answer.routing.routed_to, answer.routing.fallback_reason], ["eve", "refused"]);
});

Deno.test("an invalid fallback is refused before the endpoint is called", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob" }));
  const { w } = fixture;
  await addPeer(w, "bob");
  await addPeer(w, "cron", { role: "service" });
  assert.equal((await askAnyone(w, { fallback_to: "nobody" })).error, "unknown_peer");
  assert.equal((await askAnyone(w, { fallback_to: "cron" })).error, "service_excluded");
  assert.equal((await askAnyone(w, { reply_to: "ask-000000000000" })).error, "unknown_ask");
  assert.equal((await askAnyone(w, { to_peer: "bob" })).status, 200);
  assert.equal(fixture.requests.length, 0);
});

Deno.test("a response below min_confidence has failed", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob", confidence: 0.4 }), {
    "routing.min_confidence": "0.5",
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  assert.equal((await askAnyone(w)).reason, "low_confidence");
  const { routing } = await askAnyone(w, { fallback_to: "bob" });
  assert.deepEqual([routing.confidence, routing.fallback_reason], [0.4, "low_confidence"]);
});

Deno.test("the endpoint receives only committed data", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob" }));
  const { daemon } = fixture.w;
  const { db } = daemon.ctx;
  db.transact((tx) => {
    tx.run("pragma defer_foreign_keys = on");
    tx.run(`insert into pushes (item_id, surface, status, surface_refs, verified, at)
      values ('none', 'cli', 'pending', '[]', 0, 0)`);
  });
  const body = { from_peer: "ada", text: "Who can?", reply_delivery: "push" as const };
  const opened = daemon.router?.find(body, { proven_human: false }, daemon.shutdownSignal);
  await assert.rejects(async () => await opened, { code: "storage_failed" });
  assert.equal(fixture.requests.length, 0);
});
