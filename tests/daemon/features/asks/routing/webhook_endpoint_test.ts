/** The arm `webhook`, before a real endpoint on a port that the system picks. */

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
  endpointWorld,
  type Handle,
  respondWith,
  route,
} from "../../../../support/daemon/routing.ts";

Deno.test("the endpoint is told who may be picked, and the peer that it names is asked", async () => {
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
  const answer = await route(w);
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

Deno.test("a peer that is named by its id is asked, and a confidence that is not given is 1", async () => {
  let peer = "";
  await using fixture = endpointWorld(() => Response.json({ peer }));
  const { w } = fixture;
  const far = await addPeer(w, "far", { circle: "blue" });
  await addPeer(w, "ada");
  peer = far.peer_id;
  const { routing } = await route(w);
  assert.deepEqual([routing.routed_to, routing.confidence], ["far", 1]);
});

Deno.test("a pick is authorized like a named target: what that refuses is refused [7.routing.pick-authorized]", async () => {
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
  for (peer of [null, "nobody", "cron", "far", "mute", ada.peer_id, late.peer_id, "dashboard"]) {
    const answer = await route(w);
    assert.deepEqual([peer, answer.status, answer.error, answer.arm, answer.reason], [
      peer,
      503,
      "router_unavailable",
      "webhook",
      "refused",
    ]);
    const { routing } = await route(w, { fallback_to: "bob", dry_run: true });
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
  assert.equal((await route(fixture.w)).routing.routed_to, "cron");
  const [{ body } = assert.fail()] = fixture.requests;
  assert.equal((body["candidates"] as unknown[]).length, 1);
});

Deno.test("an answer that is no answer is an error of the arm", async () => {
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
    const answer = await route(w);
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
  assert.equal((await route(fixture.w)).reason, "error");
  assert.equal(fixture.requests.length, 1);
});

Deno.test("an endpoint that is not there is an error, and the fallback takes its place", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  await using fixture = endpointWorld(respondWith({}), {
    "routing.webhook": `http://127.0.0.1:${port}/`,
  });
  const { w } = fixture;
  const bob = await connectPeer(w, "bob");
  assert.equal((await route(w)).reason, "error");
  const { routing } = await route(w, { fallback_to: "bob" });
  assert.deepEqual([routing.routed_to, routing.confidence, routing.fallback_reason], [
    "bob",
    0,
    "error",
  ]);
  assert.equal(bob.of("ask").length, 1);
});

Deno.test("a daemon that goes down does not wait for the endpoint", async () => {
  const held = Promise.withResolvers<Response>(), asked = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    return held.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const routing = route(w, { fallback_to: "bob" });
  await asked.promise;
  await w.daemon.shutDown();
  const answer = await routing;
  assert.deepEqual([answer.status, answer.error], [503, "shutting_down"]);
  held.resolve(Response.json({ peer: "bob" }));
});

Deno.test("what changed while the endpoint thought is looked at again", async () => {
  const held = Promise.withResolvers<Response>(), asked = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    return held.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const routing = route(w, { fallback_to: "eve" });
  await asked.promise;
  await post(w, "/peers/bob/provenance", { addressable: false });
  held.resolve(Response.json({ peer: "bob" }));
  const answer = await routing;
  assert.deepEqual([answer.routing.routed_to, answer.routing.fallback_reason], ["eve", "refused"]);
});

Deno.test("a fallback that is wrong is refused before the endpoint is told anything", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob" }));
  const { w } = fixture;
  await addPeer(w, "bob");
  await addPeer(w, "cron", { role: "service" });
  assert.equal((await route(w, { fallback_to: "nobody" })).error, "unknown_peer");
  assert.equal((await route(w, { fallback_to: "cron" })).error, "service_excluded");
  assert.equal((await route(w, { reply_to: "ask-000000000000" })).error, "unknown_ask");
  assert.equal((await route(w, { to_peer: "bob" })).status, 200);
  assert.equal(fixture.requests.length, 0);
});

Deno.test("an endpoint that is not sure enough has failed", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob", confidence: 0.4 }), {
    "routing.min_confidence": "0.5",
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  assert.equal((await route(w)).reason, "low_confidence");
  const { routing } = await route(w, { fallback_to: "bob" });
  assert.deepEqual([routing.confidence, routing.fallback_reason], [0.4, "low_confidence"]);
});

Deno.test("many asks at once are each answered by the endpoint's word on it", async () => {
  await using fixture = endpointWorld(async (request) => {
    const { text } = await request.json();
    return Response.json({ peer: text });
  });
  const { w } = fixture;
  const names = Array.from({ length: 20 }, (_, at) => `peer${at}`);
  for (const name of names) await addPeer(w, name);
  const answers = await Promise.all(names.map((text) => route(w, { text })));
  assert.deepEqual(answers.map(({ routing }) => routing.routed_to), names);
});
