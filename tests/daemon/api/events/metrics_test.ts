/** The daemon's metrics: what is counted since the start, and what is read on request. */

import assert from "node:assert/strict";
import * as z from "zod";
import { STATEMENTS } from "../../../../daemon/api/events/store.ts";
import { Meters } from "../../../../daemon/api/events/metrics.ts";
import { FakeClock } from "../../../support/clock.ts";
import { addPeer, ask, connectPeer, notify, post } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

function meters(): Meters {
  return new Meters(new FakeClock());
}

async function metricsOf(w: World): Promise<string> {
  return await (await w.fetch("/metrics")).text();
}

/** The value of a sample, such as `mesh_peers{status="online"}`. */
function valueOf(text: string, sample: string): string | undefined {
  return text.split("\n").find((line) => line.startsWith(`${sample} `))?.split(" ").at(-1);
}

Deno.test("delivery times are counted in buckets from half a millisecond to an hour", () => {
  const m = meters();
  for (const ms of [0, 1, 1, 7, 3_601_000]) m.stepped("ask", "sent", ms, "websocket");
  const text = m.render();
  const bucket = (le: string) => valueOf(text, `mesh_delivery_seconds_bucket{le="${le}"}`);
  const counts = ["0.0005", "0.001", "0.005", "0.01", "3600", "+Inf"].map(bucket);
  assert.deepEqual(counts, ["1", "3", "3", "4", "4", "5"]);
  assert.match(text, /^mesh_delivery_seconds_sum 3601.009$/m);
});

Deno.test("reading the metrics does not reset them", () => {
  const m = meters();
  for (let read = 0; read < 2; read++) {
    m.stepped("ask", "sent", 3, "pane");
    m.render();
  }
  assert.match(m.render(), /^mesh_delivery_seconds_count 2$/m);
  assert.match(m.render(), /^mesh_delivery_steps_total\{kind="ask",state="sent"\} 2$/m);
});

Deno.test("deliveries are counted by transport and outcome, and the time to seen apart", () => {
  const m = meters();
  const steps = [
    ["queued", null],
    ["attempting", "native"],
    ["queued", "native"],
    ["attempting", "pane"],
    ["sent", "pane"],
    ["seen", "pane"],
  ] as const;
  steps.forEach(([state, transport], index) => m.stepped("ask", state, index * 1000, transport));
  const text = m.render();
  const outcomes = text.split("\n").filter((line) => line.startsWith("mesh_deliveries_total{"));
  assert.deepEqual(outcomes, [
    'mesh_deliveries_total{transport="native",outcome="requeued"} 1',
    'mesh_deliveries_total{transport="pane",outcome="sent"} 1',
    'mesh_deliveries_total{transport="pane",outcome="seen"} 1',
  ]);
  assert.match(text, /^mesh_delivery_seconds_sum 4$/m);
  assert.match(text, /^mesh_delivery_seen_seconds_sum 5$/m);
});

Deno.test("gauges report the queue, open asks, peers and schedules, and the ages of the oldest", async () => {
  await using w = world();
  await connectPeer(w, "ada");
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  await w.clock.advance(7_000);
  await notify(w, "ada", "bob");
  await ask(w, "ada", "bob");
  const later = { from_peer: "ada", to_peer: "bob", text: "Later", kind: "notify" };
  const fire_at = new Date(w.clock.now() + 2_000).toISOString();
  assert.equal((await post(w, "/schedules", { ...later, fire_at })).status, 200);
  await w.clock.advance(5_000);
  const text = await metricsOf(w);
  const expected = {
    'mesh_queue_depth{kind="notify"}': "2",
    'mesh_queue_depth{kind="ask"}': "1",
    'mesh_queue_depth{kind="ack"}': "0",
    mesh_queue_oldest_seconds: "12",
    mesh_open_asks: "1",
    mesh_open_asks_oldest_seconds: "5",
    'mesh_peers{status="online"}': "2",
    'mesh_peers{status="busy"}': "0",
    mesh_sockets: "1",
    mesh_schedules: "1",
    mesh_schedules_due: "1",
    mesh_schedules_late_seconds: "3",
    'mesh_tunnel_status{status="disabled"}': "1",
    'mesh_tunnel_status{status="connected"}': "0",
  };
  const found = Object.keys(expected).map((sample) => [sample, valueOf(text, sample)]);
  assert.deepEqual(Object.fromEntries(found), expected);
  assert.match(text, /^mesh_build_info\{version="[^"]+",deno="[^"]+"\} 1$/m);
  assert.ok(Number(valueOf(text, "process_resident_memory_bytes")) > 1e6);
  assert.ok(Number(valueOf(text, "mesh_commit_seconds_count")) > 0);
});

Deno.test("refusals are counted by code, and limits even if a broadcast continues", async () => {
  await using w = world({ settings: { "daemon.limits.pair_per_minute": "1" } });
  await connectPeer(w, "ada");
  await connectPeer(w, "bob");
  const message = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  await post(w, "/notify", message);
  assert.equal((await post(w, "/notify", message)).error, "rate_limited");
  assert.equal((await post(w, "/broadcast", { from_peer: "ada", text: "All" })).failed.length, 1);
  await post(w, "/notify", { ...message, to_peer: "nobody" });
  await w.fetch("/no-such-path-with-a-secret");
  const text = await metricsOf(w);
  assert.equal(valueOf(text, 'mesh_refusals_total{code="rate_limited"}'), "1");
  assert.equal(valueOf(text, 'mesh_refusals_total{code="unknown_peer"}'), "1");
  assert.equal(valueOf(text, 'mesh_refusals_total{code="not_found"}'), "1");
  assert.equal(valueOf(text, 'mesh_limits_reached_total{limit="rate_limited"}'), "2");
  assert.doesNotMatch(text, /nobody|no-such-path/);
});

Deno.test("calls of hooks are counted by agent; the agent in a path may be any text", async () => {
  await using w = world();
  await post(w, "/hooks/claude-code", { session_id: "s-1" });
  await post(w, "/hooks/a-secret", { session_id: "s-1" });
  const text = await metricsOf(w);
  const calls = text.split("\n").filter((line) => line.startsWith("mesh_hook_calls_total{"));
  assert.deepEqual(calls, [
    'mesh_hook_calls_total{agent="claude-code",outcome="refused"} 1',
    'mesh_hook_calls_total{agent="unknown",outcome="refused"} 1',
  ]);
});

Deno.test("readers of the event stream are counted until they leave", async () => {
  await using w = world();
  const leaving = new AbortController();
  const response = await w.fetch("/events/stream", { signal: leaving.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  assert.equal(valueOf(await metricsOf(w), "mesh_event_stream_readers"), "1");
  leaving.abort();
  await reader?.cancel();
  await w.clock.settle();
  assert.equal(valueOf(await metricsOf(w), "mesh_event_stream_readers"), "0");
});

/** Units that a name ends with, and the word that the help has for each. */
const UNITS = [["_seconds", /\bseconds\b/i], ["_bytes", /\bbytes\b/i]] as const;

Deno.test("every metric has a base unit in its name and its help, and a counter ends with _total", async () => {
  await using w = world();
  for (const { name, help, type } of w.daemon.meters.definitions()) {
    assert.match(name, /^(?:mesh|process)_[a-z_]+$/);
    assert.match(help, /^[A-Z0-9].{8,}[^.]$/, name);
    assert.equal(name.endsWith("_total"), type === "counter", name);
    for (const [suffix, word] of UNITS) if (name.endsWith(suffix)) assert.match(help, word);
    if (type === "histogram") assert.match(name, /_seconds$/);
  }
});

const Plan = z.object({ detail: z.string() });

for (const [name, sql] of Object.entries(STATEMENTS)) {
  Deno.test(`reading ${name} scans no table of messages or schedules`, async () => {
    await using w = world();
    const params = sql.includes(":now") ? { now: 0 } : {};
    const plan = w.daemon.ctx.db.all(Plan, `explain query plan ${sql}`, params);
    const scans = plan.filter(({ detail }) => /^SCAN (?:messages|schedules)\b/.test(detail));
    for (const { detail } of scans) assert.match(detail, / USING (?:COVERING )?INDEX /);
  });
}
