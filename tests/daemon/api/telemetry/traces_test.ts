/** Traces: one follows a message from its request to its receipts and its reply. */

import assert from "node:assert/strict";
import type { Adapter } from "../../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { recordingAgent } from "../../../support/agents/accepting_adapter.ts";
import { Collector, serveCollector } from "../../../support/telemetry/collector.ts";
import {
  addPeer,
  connectPeer,
  connectPeerWithReceipts,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { exportSpans, tracedBy } from "../../../support/telemetry/traces.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { world } from "../../../support/world.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;
const SESSION = { session_id: "s-1", cwd: "/work/api" };

/** Milliseconds since the start of the test, for each span of a name. */
function timesOf({ spans }: Collector, name: string, start: number): number[][] {
  return spans.filter((span) => span.name === name)
    .map(({ startTimeUnixNano, endTimeUnixNano }) =>
      [startTimeUnixNano, endTimeUnixNano].map((at) => at - start)
    );
}

Deno.test("an ask over HTTP to a socket and its reply are one trace, with parents and times", async () => {
  const collector = new Collector();
  await using server = serveCollector(collector);
  await using w = world({
    settings: { "telemetry.otlp": server.url, "telemetry.headers": "x-key=k-1, x-team=a" },
    send: (request) => fetch(request),
  });
  await connectPeer(w, "ada");
  const bob = await connectPeerWithReceipts(w, "bob");
  const start = w.clock.now();
  const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  const { correlation_id } = await post(w, "/ask", asked, { traceparent: TRACEPARENT });
  const delivery_id = bob.of("ask")[0]?.delivery_id;
  for (const status of ["accepted", "seen"]) {
    await w.clock.advance(1000);
    await bob.send({ type: "delivery_ack", delivery_id, status });
  }
  await w.clock.advance(1000);
  await bob.send({ type: "ack", request_id: "1", correlation_id, message: "Yes" });
  await w.clock.advance(1000);
  await w.daemon.telemetry?.close();
  assert.deepEqual(collector.edges(), [
    " > POST /ask",
    "POST /ack > commit",
    "POST /ack > deliver websocket",
    "POST /ask > POST /ack",
    "POST /ask > await answer",
    "POST /ask > commit",
    "POST /ask > deliver websocket",
    "deliver websocket > receipt accepted",
    "deliver websocket > receipt seen",
  ]);
  assert.deepEqual(new Set(collector.spans.map(({ traceId }) => traceId)), new Set([TRACE]));
  assert.equal(collector.span("POST /ask").parentSpanId, CALLER);
  assert.deepEqual(timesOf(collector, "receipt accepted", start), [[0, 1000]]);
  assert.deepEqual(timesOf(collector, "receipt seen", start), [[0, 2000]]);
  assert.deepEqual(timesOf(collector, "await answer", start), [[0, 3000]]);
  assert.deepEqual(timesOf(collector, "POST /ack", start), [[3000, 3000]]);
  assert.deepEqual(collector.span("receipt seen").attributes, {
    "mesh.kind": "ask",
    "mesh.delivery_id": delivery_id,
    "mesh.correlation_id": correlation_id,
    "mesh.from_peer_id": bob.of("ask")[0]?.from_peer_id,
    "mesh.to_peer_id": bob.of("ask")[0]?.to_peer_id,
    "mesh.transport": "websocket",
    "mesh.state": "seen",
  });
  assert.equal(collector.resource["service.name"], "mesh-daemon");
  assert.deepEqual(
    ["x-key", "x-team"].map((name) => collector.headers[0]?.get(name)),
    ["k-1", "a"],
  );
});

Deno.test("the frame names the span of its request as its parent", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector));
  const bob = await connectPeer(w, "bob");
  const message = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  await post(w, "/notify", message, { traceparent: TRACEPARENT });
  await post(w, "/notify", message);
  await exportSpans(w);
  const [given, made] = bob.of("notify").map(({ traceparent }) => traceparent.split("-"));
  const requests = collector.spans.filter(({ name }) => name === "POST /notify");
  assert.deepEqual(
    requests.map(({ traceId, spanId, parentSpanId }) => [traceId, spanId, parentSpanId]),
    [[TRACE, given?.[2], CALLER], [made?.[1], made?.[2], undefined]],
  );
});

Deno.test("a hook's receipt is in the message's trace, below the delivery by that hook", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector, { hooks: { "claude-code": claudeCodeHooks } }));
  const hook = (event: string, more = {}) =>
    post(w, "/hooks/claude-code", { ...SESSION, hook_event_name: event, ...more });
  await hook("SessionStart", { source: "startup" });
  const { peers: [{ name: to_peer }] } = await get(w, "/peers");
  const message = { from_peer: "ada", to_peer, text: "Hi" };
  await post(w, "/notify", message, { traceparent: TRACEPARENT });
  const start = w.clock.now();
  await w.clock.advance(1000);
  await hook("UserPromptSubmit", { prompt: "Go on" });
  await exportSpans(w);
  await hook("Stop");
  await exportSpans(w);
  assert.deepEqual(collector.edges(), [
    " > POST /notify",
    "POST /notify > commit",
    "POST /notify > deliver hook",
    "deliver hook > POST /hooks/:agent",
    "deliver hook > POST /hooks/:agent",
    "deliver hook > receipt seen",
  ]);
  assert.deepEqual(timesOf(collector, "deliver hook", start), [[1000, 1000]]);
  assert.deepEqual(timesOf(collector, "receipt seen", start), [[1000, 3000]]);
});

Deno.test("a tool's message is below the request of its tool, in the trace that the tool names", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector));
  await connectPeer(w, "bob");
  const other = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const params = { name: "notify_peer", arguments: { peer: "bob", message: "Hi" } };
  const headers = { "content-type": "application/json", traceparent: TRACEPARENT };
  for (const _meta of [{}, { traceparent: other }]) {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta } };
    assert.equal((await w.post("/mcp", call, headers)).status, 200);
  }
  await exportSpans(w);
  const edges = ["POST /mcp > commit", "POST /mcp > deliver websocket"];
  assert.deepEqual(
    collector.edges(),
    [" > POST /mcp", " > POST /mcp", ...edges.flatMap((edge) => [edge, edge])],
  );
  const roots = collector.spans.filter(({ name }) => name === "POST /mcp");
  assert.deepEqual(roots.map(({ traceId }) => traceId), [TRACE, "a".repeat(32)]);
});

Deno.test("an attempt that a transport refused is a span of its own, with the reason", async () => {
  const collector = new Collector();
  const { adapter } = recordingAgent();
  const pane = {
    name: "pane" as const,
    check: () => Promise.resolve({ ready: true as const }),
    deliver: () => Promise.resolve({ state: "refused" as const, reason: "dialog_open" as const }),
  };
  const transports: Adapter["transports"] = (peer, outgoing) => [
    pane,
    ...adapter.transports(peer, outgoing),
  ];
  const adapters = [{ ...adapter, transports }];
  await using w = world(tracedBy(collector, { adapters }));
  const { peer_id: to_peer } = await addPeer(w, "bob", { backend: "generic" });
  await post(w, "/notify", { from_peer: "ada", to_peer, text: "Hi" });
  await exportSpans(w);
  const attempts = collector.spans.filter(({ name }) => name.startsWith("deliver "));
  assert.deepEqual(
    attempts.map(({ name, status, attributes }) => [
      name,
      status.code,
      attributes["mesh.attempt"],
      attributes["mesh.state"],
    ]),
    [["deliver pane", 2, 1, "refused"], ["deliver native", undefined, 2, "sent"]],
  );
  assert.notEqual(attempts[0]?.spanId, attempts[1]?.spanId);
});

Deno.test("after a restart, the steps of a message are in its trace, below the same spans", async () => {
  const collector = new Collector();
  using file = restartableWorld(tracedBy(collector));
  let peer_id: string;
  let certificate: unknown;
  {
    await using w = file.start();
    const answer = await addPeer(w, "bob");
    ({ peer_id, birth_certificate: certificate } = answer);
    const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
    await post(w, "/ask", asked, { traceparent: TRACEPARENT });
    await exportSpans(w);
    assert.deepEqual(collector.edges(), [" > POST /ask", "POST /ask > commit"]);
  }
  await using w = file.start();
  const bob = await connectPeerWithReceipts(w, "bob", { peer_id, birth_certificate: certificate });
  const [frame] = bob.of("ask");
  await exportSpans(w);
  await bob.send({ type: "delivery_ack", delivery_id: frame?.delivery_id, status: "seen" });
  await exportSpans(w);
  assert.deepEqual(collector.edges(), [
    " > POST /ask",
    "POST /ask > commit",
    "POST /ask > deliver websocket",
    "deliver websocket > receipt seen",
  ]);
});

Deno.test("the trace of an unanswered ask contains its end, and the daemon's notice about it", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector));
  await connectPeer(w, "ada");
  await connectPeer(w, "bob");
  const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  await post(w, "/ask", asked, { traceparent: TRACEPARENT });
  await exportSpans(w);
  await w.clock.advance(25 * 3_600_000);
  await w.tick();
  await exportSpans(w);
  const edges = collector.edges();
  assert.ok(edges.includes("POST /ask > send ack"), edges.join("\n"));
  assert.ok(edges.includes("send ack > deliver websocket"), edges.join("\n"));
  const { attributes, status } = collector.span("await answer");
  assert.equal(attributes["mesh.close_reason"], "evicted");
  assert.equal(status.code, 2);
});

Deno.test("a message of a schedule is in the trace of the request that made the schedule", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector));
  await connectPeer(w, "bob");
  const fire_at = new Date(w.clock.now() + 5000).toISOString();
  const schedule = { from_peer: "ada", to_peer: "bob", text: "Now", kind: "notify", fire_at };
  await post(w, "/schedules", schedule, { traceparent: TRACEPARENT });
  await w.tick(6);
  await exportSpans(w);
  assert.deepEqual(collector.edges(), [
    " > POST /schedules",
    "POST /schedules > commit",
    "POST /schedules > deliver websocket",
  ]);
});

Deno.test("a reply with a trace of its own links to the ask", async () => {
  const collector = new Collector();
  await using w = world(tracedBy(collector));
  await connectPeer(w, "ada");
  await connectPeer(w, "bob");
  const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  const { correlation_id } = await post(w, "/ask", asked, { traceparent: TRACEPARENT });
  const other = "a".repeat(32);
  await post(w, "/ack", { correlation_id }, { traceparent: `00-${other}-${"b".repeat(16)}-01` });
  await exportSpans(w);
  const { spanId } = collector.span("POST /ask");
  const [commit] = collector.spans.filter(({ name, traceId }) =>
    name === "commit" && traceId === other
  );
  assert.deepEqual(commit?.links, [{ traceId: TRACE, spanId }]);
  assert.equal(collector.span("await answer").traceId, TRACE);
});
