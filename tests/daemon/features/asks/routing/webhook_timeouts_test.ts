/** Webhook endpoints that are slow or hang: who waits, how long, and what is given up. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { askEndpoint } from "../../../../../daemon/features/asks/routing/endpoint.ts";
import { addPeer, get } from "../../../../support/daemon/peer_clients.ts";
import { endpointWorld, respondWith, route } from "../../../../support/daemon/routing.ts";

Deno.test("an endpoint that does not answer within 5 s is given up, its ask not opened", async () => {
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

Deno.test("an endpoint that trickles its answer is given up, and hung up on", async () => {
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

Deno.test("a caller that goes away takes its ask along", async () => {
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

Deno.test("nobody waits for an endpoint that has answered", async () => {
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

Deno.test("an endpoint is told only what is on the disk", async () => {
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

Deno.test("an endpoint that hangs holds a hundred asks at most, and takes more when it is done", async () => {
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
