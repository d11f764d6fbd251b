/** The strategy `webhook`, against a real HTTP endpoint. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { askEndpoint } from "../../../../../daemon/features/asks/routing/endpoint.ts";
import { type World, world } from "../../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../../support/daemon/peer_clients.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** A daemon and its endpoint, whose requests are recorded. */
function endpointWorld(handle: Handle, settings: Record<string, string> = {}) {
  const requests: { request: Request; body: Record<string, unknown> }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (it) => {
    requests.push({ request: it, body: await it.clone().json() });
    return await handle(it);
  });
  const url = `http://127.0.0.1:${server.addr.port}/pick?key=1`;
  const w = world({
    settings: { "routing.strategy": "webhook", "routing.webhook": url, ...settings },
  });
  return {
    w,
    requests,
    server,
    [Symbol.asyncDispose]: async () => {
      await w[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

function route(w: World, more: Record<string, unknown> = {}) {
  return post(w, "/ask", { from_peer: "ada", text: "Who can?", ...more });
}

const respondWith = (answer: unknown) => () => Response.json(answer);

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

Deno.test("the endpoint may name a peer by id, and its confidence defaults to 1", async () => {
  let peer = "";
  await using fixture = endpointWorld(() => Response.json({ peer }));
  const { w } = fixture;
  const far = await addPeer(w, "far", { circle: "blue" });
  await addPeer(w, "ada");
  peer = far.peer_id;
  const { routing } = await route(w);
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

Deno.test("an unreachable endpoint is an error, and the fallback is asked", async () => {
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

Deno.test("an endpoint that does not respond within 5 s is aborted, and no ask is opened", async () => {
  const held = Promise.withResolvers<Response>(), asked = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    return held.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const routing = route(w);
  await asked.promise;
  await w.clock.advance(4999);
  assert.deepEqual((await get(w, "/asks")).asks, []);
  await w.clock.advance(1);
  assert.equal((await routing).reason, "timed_out");
  held.resolve(Response.json({ peer: "bob" }));
  await w.clock.settle();
  assert.deepEqual((await get(w, "/asks")).asks, []);
});

Deno.test("an endpoint that sends its response too slowly is aborted", async () => {
  const asked = Promise.withResolvers<void>(), hungUp = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    const begun = new TextEncoder().encode('{"peer":');
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(begun),
        cancel: () => hungUp.resolve(),
      }),
    );
  });
  await addPeer(fixture.w, "bob");
  const routing = route(fixture.w);
  await asked.promise;
  await fixture.w.clock.advance(5000);
  assert.equal((await routing).reason, "timed_out");
  await hungUp.promise;
});

Deno.test("no ask is opened for a caller that disconnects", async () => {
  const held = Promise.withResolvers<Response>(), asked = Promise.withResolvers<Request>();
  await using fixture = endpointWorld((request) => {
    asked.resolve(request);
    return held.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const gone = new AbortController();
  const routing = w.fetch("/ask", {
    method: "POST",
    body: JSON.stringify({ from_peer: "ada", text: "Hi", fallback_to: "bob" }),
    signal: gone.signal,
  });
  await asked.promise;
  gone.abort();
  assert.equal((await routing).status, 503);
  held.resolve(Response.json({ peer: "bob" }));
  await w.clock.settle();
  assert.deepEqual((await get(w, "/asks")).asks, []);
  assert.deepEqual(w.logged, []);
});

Deno.test("a shutdown does not wait for the endpoint", async () => {
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

Deno.test("the choice is checked against the state after the endpoint's response", async () => {
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

Deno.test("an invalid fallback is refused before the endpoint is called", async () => {
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

Deno.test("a response below min_confidence has failed", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob", confidence: 0.4 }), {
    "routing.min_confidence": "0.5",
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  assert.equal((await route(w)).reason, "low_confidence");
  const { routing } = await route(w, { fallback_to: "bob" });
  assert.deepEqual([routing.confidence, routing.fallback_reason], [0.4, "low_confidence"]);
});

Deno.test("concurrent asks each get their own response", async () => {
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

Deno.test("no timer is left after the endpoint has responded", async () => {
  await using fixture = endpointWorld(respondWith({ peer: "bob" }));
  let cancelled = false;
  const clock: Clock = { ...systemClock, setTimer: () => () => cancelled = true };
  const question = { text: "", from_peer: "", from_peer_id: null, circle: null, candidates: [] };
  const { port } = fixture.server.addr;
  const asking = {
    clock,
    log: jsonLog(clock, "warn", () => {}),
    signal: fixture.w.daemon.shutdownSignal,
  };
  const choice = await askEndpoint(`http://127.0.0.1:${port}/`, question, asking);
  assert.deepEqual([choice, cancelled], [{ peer: "bob", confidence: 1 }, true]);
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
  await assert.rejects(async () => await opened, /storage_failed/);
  assert.equal(fixture.requests.length, 0);
});

Deno.test("a hanging endpoint gets at most a hundred concurrent requests", async () => {
  const held = Promise.withResolvers<void>(), full = Promise.withResolvers<void>();
  let asked = 0;
  await using fixture = endpointWorld(async () => {
    if (++asked === 100) full.resolve();
    await held.promise;
    return Response.json({ peer: "bob" });
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const waiting = Array.from({ length: 100 }, () => route(w));
  await full.promise;
  assert.deepEqual([(await route(w)).reason, asked], ["error", 100]);
  held.resolve();
  const answers = await Promise.all(waiting);
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal((await route(w)).status, 200);
});
