/** The relay's traces: requests that reach a machine, in one trace with what the daemon records. */

import assert from "node:assert/strict";
import { readRelayConfig } from "../../../relay/app/config.ts";
import { Collector } from "../../support/telemetry/collector.ts";
import { addPeer, connectPeer } from "../../support/daemon/peer_clients.ts";
import {
  daemonId,
  NAMESPACE,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";
import { SwiftClock } from "../../support/swift_clock.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;
const COOKIE = "mesh=a-random-id";

function tracedRelay(collector: Collector): RelayWorld {
  return relayWorld(new SwiftClock(), collector);
}

function tracedDaemon(r: RelayWorld, { handle: send }: Collector) {
  return r.daemon(1, { settings: { "telemetry.otlp": "http://127.0.0.1:4318" }, send });
}

/** Sends a notification from a page of the relay. */
async function notifyFromPage(r: RelayWorld, headers: Record<string, string>) {
  r.sessions.set(COOKIE, NAMESPACE);
  const response = await r.fetch(`/m/${daemonId(1)}/notify`, {
    method: "POST",
    body: JSON.stringify({ from_peer: "cli", to_peer: "bob", text: "Hello" }),
    headers: { cookie: COOKIE, "sec-fetch-site": "same-origin", ...headers },
  });
  assert.equal(response.status, 200, await response.text());
}

Deno.test("a request through the tunnel is one trace of relay and daemon", async () => {
  const collector = new Collector();
  await using r = tracedRelay(collector);
  await using w = await tracedDaemon(r, collector);
  await connectPeer(w, "bob");
  await notifyFromPage(r, { traceparent: TRACEPARENT });
  await r.tick(2, w);
  assert.deepEqual(collector.edges(), [
    " > POST /m/:daemon_id/*",
    "POST /m/:daemon_id/* > tunnel",
    "POST /notify > commit",
    "POST /notify > deliver websocket",
    "tunnel > POST /notify",
  ]);
  assert.deepEqual(new Set(collector.spans.map(({ traceId }) => traceId)), new Set([TRACE]));
  assert.equal(collector.span("POST /m/:daemon_id/*").parentSpanId, CALLER);
});

Deno.test("a page's request without a trace leaves the trace to the daemon", async () => {
  const collector = new Collector();
  await using r = tracedRelay(collector);
  await using w = await tracedDaemon(r, collector);
  await connectPeer(w, "bob");
  await notifyFromPage(r, {});
  await r.tick(2, w);
  assert.deepEqual(collector.edges(), [
    " > POST /notify",
    "POST /notify > commit",
    "POST /notify > deliver websocket",
  ]);
});

Deno.test("a guest's ask begins a trace at the relay", async () => {
  const collector = new Collector();
  await using r = tracedRelay(collector);
  await using w = await tracedDaemon(r, collector);
  const { peer_id } = await addPeer(w, "bob");
  const created = await r.fetch("/api/v1/shares", {
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify({ daemon_id: daemonId(1), peer_id, permissions: "rw" }),
  });
  const { share_id } = await created.json();
  await r.tick(1, w);
  collector.spans.length = 0;
  const body = JSON.stringify({ text: "How far?" });
  const asked = await r.fetch(`/s/${share_id}/ask`, { method: "POST", body });
  assert.equal(asked.status, 200, await asked.text());
  await r.tick(2, w);
  const root = collector.span("POST /s/:id/ask");
  assert.equal(root.parentSpanId, undefined);
  assert.deepEqual(
    new Set(collector.spans.map(({ traceId }) => traceId)),
    new Set([root.traceId]),
  );
  assert.ok(collector.edges().includes("tunnel > POST /ask"), collector.edges().join("\n"));
  assert.doesNotMatch(collector.bodies.join(""), /How far|sh_|bob/);
});

Deno.test("a stranger's request is not recorded, whatever traceparent it has", async () => {
  const collector = new Collector();
  await using r = tracedRelay(collector);
  const headers = { traceparent: TRACEPARENT };
  await r.fetch("/health", { headers });
  assert.equal((await r.fetch(`/m/${daemonId(1)}/peers`, { headers })).status, 403);
  await r.tick(2);
  assert.deepEqual(collector.names(), []);
});

Deno.test("the collector comes from the environment; its headers are never shown", () => {
  const env = { RELAY_TELEMETRY_OTLP: "https://c.test", RELAY_TELEMETRY_HEADERS: "x-key=secret" };
  assert.deepEqual(readRelayConfig({ ...env, RELAY_TELEMETRY_SAMPLE: "0.1" }).telemetry, {
    url: "https://c.test/v1/traces",
    headers: { "x-key": "secret" },
    ratio: 0.1,
  });
  assert.equal(readRelayConfig({}).telemetry, undefined);
  for (
    const [variable, wrong, message] of [
      ["RELAY_TELEMETRY_OTLP", "https://me:pw@c.test", /allowed: an http or https address/],
      ["RELAY_TELEMETRY_OTLP", "c.test:4318", /found "c.test:4318"; allowed: an http or https/],
      ["RELAY_TELEMETRY_SAMPLE", "2", /found "2"; allowed: a number, 0 to 1/],
      ["RELAY_TELEMETRY_SAMPLE", "half", /allowed: a number, 0 to 1/],
      ["RELAY_TELEMETRY_HEADERS", "my-secret", /found a value; allowed: name=value/],
    ] as const
  ) {
    assert.throws(() => readRelayConfig({ ...env, [variable]: wrong }), message);
  }
});
