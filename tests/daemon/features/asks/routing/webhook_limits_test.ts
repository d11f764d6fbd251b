/** The strategy `webhook`: timeouts, disconnects, shutdown, concurrent requests. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { askEndpoint } from "../../../../../daemon/features/asks/routing/endpoint.ts";
import { addPeer, get } from "../../../../support/daemon/peer_clients.ts";
import { askAnyone, endpointWorld, respondWith } from "../../../../support/daemon/routing.ts";

Deno.test("an endpoint that does not respond within 5 s is aborted, and no ask is opened", async () => {
  const response = Promise.withResolvers<Response>(), asked = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    return response.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const routing = askAnyone(w);
  await asked.promise;
  await w.clock.advance(4999);
  assert.deepEqual((await get(w, "/asks")).asks, []);
  await w.clock.advance(1);
  assert.equal((await routing).reason, "timed_out");
  response.resolve(Response.json({ peer: "bob" }));
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
  const routing = askAnyone(fixture.w);
  await asked.promise;
  await fixture.w.clock.advance(5000);
  assert.equal((await routing).reason, "timed_out");
  await hungUp.promise;
});

Deno.test("no ask is opened for a caller that disconnects", async () => {
  const response = Promise.withResolvers<Response>(), asked = Promise.withResolvers<Request>();
  await using fixture = endpointWorld((request) => {
    asked.resolve(request);
    return response.promise;
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
  response.resolve(Response.json({ peer: "bob" }));
  await w.clock.settle();
  assert.deepEqual((await get(w, "/asks")).asks, []);
  assert.deepEqual(w.logged, []);
});

Deno.test("a shutdown does not wait for the endpoint", async () => {
  const response = Promise.withResolvers<Response>(), asked = Promise.withResolvers<void>();
  await using fixture = endpointWorld(() => {
    asked.resolve();
    return response.promise;
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const routing = askAnyone(w, { fallback_to: "bob" });
  await asked.promise;
  await w.daemon.shutDown();
  const answer = await routing;
  assert.deepEqual([answer.status, answer.error], [503, "shutting_down"]);
  response.resolve(Response.json({ peer: "bob" }));
});

Deno.test("concurrent asks each get their own response", async () => {
  await using fixture = endpointWorld(async (request) => {
    const { text } = await request.json();
    return Response.json({ peer: text });
  });
  const { w } = fixture;
  const names = Array.from({ length: 20 }, (_, at) => `peer${at}`);
  for (const name of names) await addPeer(w, name);
  const answers = await Promise.all(names.map((text) => askAnyone(w, { text })));
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
    send: (request: Request) => fetch(request),
    signal: fixture.w.daemon.shutdownSignal,
  };
  const choice = await askEndpoint(`http://127.0.0.1:${port}/`, question, asking);
  assert.deepEqual([choice, cancelled], [{ peer: "bob", confidence: 1 }, true]);
});

Deno.test("a hanging endpoint gets at most a hundred concurrent requests", async () => {
  const response = Promise.withResolvers<void>(), full = Promise.withResolvers<void>();
  let asked = 0;
  await using fixture = endpointWorld(async () => {
    if (++asked === 100) full.resolve();
    await response.promise;
    return Response.json({ peer: "bob" });
  });
  const { w } = fixture;
  await addPeer(w, "bob");
  const waiting = Array.from({ length: 100 }, () => askAnyone(w));
  await full.promise;
  assert.deepEqual([(await askAnyone(w)).reason, asked], ["error", 100]);
  response.resolve();
  const answers = await Promise.all(waiting);
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal((await askAnyone(w)).status, 200);
});
