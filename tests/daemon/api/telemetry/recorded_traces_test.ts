/** Recorded traces: the sampled share, all of a flood, and never a text, a name or a secret. */

import assert from "node:assert/strict";
import { FakeClock } from "../../../support/clock.ts";
import { Collector } from "../../../support/telemetry/collector.ts";
import { connectPeer, post } from "../../../support/daemon/peer_clients.ts";
import { exportSpans, tracedBy } from "../../../support/telemetry/traces.ts";
import { world } from "../../../support/world.ts";

const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-0af7651916cd43dd8448eb211c80319c-${CALLER}-01`;

Deno.test("a trace is recorded whole or not at all, as its caller and the ratio say", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector, { settings: { "telemetry.sample": "0.5" } }));
  const bob = await connectPeer(w, "bob");
  const traces = {
    low: `00-${"0".repeat(31)}1-${CALLER}-01`,
    high: `00-${"f".repeat(32)}-${CALLER}-01`,
    unsampled: `00-${"0".repeat(31)}2-${CALLER}-00`,
  };
  for (const traceparent of Object.values(traces)) {
    await post(w, "/notify", { from_peer: "ada", to_peer: "bob", text: "Hi" }, { traceparent });
  }
  await exportSpans(w);
  assert.deepEqual(collector.names().sort(), ["POST /notify", "commit", "deliver websocket"]);
  assert.match(collector.spans[0]?.traceId ?? "", /1$/);
  const [, high, unsampled] = bob.of("notify").map(({ traceparent }) => traceparent);
  assert.deepEqual([high, unsampled], [traces.high, traces.unsampled]);
});

Deno.test("a flood is recorded completely, in small parts", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector, {
    clock: new FakeClock(),
    settings: { "daemon.limits.pair_per_minute": "0" },
  }));
  await connectPeer(w, "bob");
  const message = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  await Promise.all(Array.from({ length: 450 }, () => post(w, "/notify", message)));
  await w.tick();
  await w.tick();
  const count = (name: string) => collector.names().filter((span) => span === name).length;
  assert.deepEqual(["POST /notify", "commit", "deliver websocket"].map(count), [450, 450, 450]);
});

Deno.test("requests without a message are recorded only in the trace of their caller", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector));
  await w.fetch("/peers");
  await w.fetch("/peers/@secret-name", { headers: { traceparent: TRACEPARENT } });
  await exportSpans(w);
  assert.deepEqual(collector.edges(), [" > GET /peers/:id"]);
  const { attributes } = collector.span("GET /peers/:id");
  assert.equal(attributes["http.response.status_code"], 404);
  assert.equal(attributes["error.type"], "unknown_peer");
});

Deno.test("no text, name, path or secret of a message is in a span", async () => {
  const collector = new Collector();
  const settings = { "daemon.auth_token": "token-4711", "telemetry.headers": "x-key=key-4712" };
  await using w = world(tracedBy(collector, { settings }));
  const bearer = { authorization: "Bearer token-4711" };
  const bob = await connectPeer(w, "bob-4713", {
    path: "/work/path-4714",
    auth_token: "token-4711",
  });
  const asked = {
    from_peer: "ada-4715",
    to_peer: "bob-4713",
    text: "text-4716",
    correlation_id: "ask-chosen-4717",
  };
  const { correlation_id } = await post(w, "/ask", asked, { ...bearer, traceparent: TRACEPARENT });
  await post(w, "/decline", { correlation_id, reason: "reason-4719" }, bearer);
  await post(w, "/ask", { ...asked, to_peer: "bob-4720" }, { ...bearer, traceparent: TRACEPARENT });
  const { delivery_id } = bob.of("ask")[0] ?? {};
  const failed = { type: "delivery_ack", delivery_id, status: "failed", detail: "detail-4721" };
  await bob.send(failed);
  await exportSpans(w);
  assert.ok(collector.spans.length > 5, collector.edges().join("\n"));
  assert.deepEqual(collector.bodies.join("").match(/\w*-47\d\d/g), null);
});

Deno.test("without a collector nothing is traced", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  await post(w, "/notify", { from_peer: "ada", to_peer: "bob", text: "Hi" }, {
    traceparent: TRACEPARENT,
  });
  assert.equal(w.daemon.telemetry, undefined);
  assert.equal(bob.of("notify")[0]?.traceparent, TRACEPARENT);
});
