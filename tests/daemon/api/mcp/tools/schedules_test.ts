/** Agents schedule messages, list what is scheduled, and cancel it. */

import assert from "node:assert/strict";
import { formatInstant } from "kit/core/local_time.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, eventData, get, post } from "../../../../support/daemon/peer_clients.ts";
import { agents } from "../../../../support/daemon/mcp_agents.ts";
import { PROTOCOL_VERSIONS } from "../../../../support/daemon/mcp_server.ts";
import { ids, readSchedule, schedule } from "../../../../support/daemon/schedules.ts";

const [, protocolVersion = "2026-07-28" as const] = PROTOCOL_VERSIONS;

Deno.test("an agent schedules in its own name, once for each key, lists and cancels [c6.tools.schedules]", async () => {
  await using w = world();
  await using fixture = await agents(w, protocolVersion);
  const asked = { peer: "web", message: "Stand up", fire_at: "in 2h", idempotency_key: "one" };
  const made = await fixture.api.call("schedule_create", asked);
  assert.equal(made.problemResponse, false, made.text);
  assert.match(made.text, /^Scheduled sched-\w{12} to web: at /);
  assert.ok(made.text.endsWith(` at ${formatInstant("2030-01-01T02:00:00Z")}.`), made.text);
  const again = await fixture.api.call("schedule_create", asked);
  assert.equal(again.data["schedule_id"], made.data["schedule_id"]);
  const weekly = { peer: "api", message: "Report <b>", kind: "ask", cron: "0 9 * * 1" };
  const other = await fixture.web.call("schedule_create", { ...weekly, timezone: "Europe/Berlin" });
  const all = await fixture.api.call("schedule_list", {});
  assert.equal((all.data["schedules"] as unknown[]).length, 2);
  const next = formatInstant("2030-01-07T08:00:00Z");
  assert.ok(all.text.includes(`"0 9 * * 1" in Europe/Berlin, next at ${next}, ask`), all.text);
  assert.match(
    all.text,
    /<peer-message schedule="sched-\w+" from="web" to="api">Report &lt;b&gt;</,
  );
  const ownSchedules = await fixture.api.call("schedule_list", { mine: true });
  assert.deepEqual(idsOf(ownSchedules.data), [made.data["schedule_id"]]);
  const toApi = await fixture.api.call("schedule_list", { peer: "api" });
  assert.deepEqual(idsOf(toApi.data), [other.data["schedule_id"]]);
  const gone = await fixture.web.call("schedule_delete", {
    schedule_id: other.data["schedule_id"],
  });
  assert.deepEqual([gone.problemResponse, gone.data["state"]], [false, "cancelled"]);
  await w.tick(7200);
  assert.deepEqual(eventData(w, "notification").map(({ from, to }) => [from, to]), [[
    "api",
    "web",
  ]]);
  const nothing = await fixture.api.call("schedule_list", {});
  assert.equal(nothing.text, "No active schedules.");
});

function idsOf({ schedules }: Record<string, unknown>): string[] {
  return (schedules as { schedule_id: string }[]).map(({ schedule_id }) => schedule_id);
}

Deno.test("an invalid time and an unknown peer are refused", async () => {
  await using w = world();
  await using fixture = await agents(w, protocolVersion);
  const bad = await fixture.api.call("schedule_create", {
    peer: "web",
    message: "x",
    fire_at: "soon",
  });
  assert.equal(bad.problemResponse, true);
  assert.match(bad.text, /invalid_request.*"soon" is not an instant/);
  const neither = await fixture.api.call("schedule_create", { peer: "web", message: "x" });
  assert.match(neither.text, /Exactly one of fire_at and cron/);
  const nobody = await fixture.api.call("schedule_create", {
    peer: "x",
    message: "x",
    fire_at: "1h",
  });
  assert.match(nobody.text, /unknown_peer: Unknown peer: x/);
  const gone = await fixture.api.call("schedule_delete", { schedule_id: "sched-0" });
  assert.match(gone.text, /unknown_schedule/);
  assert.deepEqual(await ids(w), []);
});

Deno.test("a long list of schedules is cut, and the result says so", async () => {
  await using w = world();
  await using fixture = await agents(w, protocolVersion);
  for (let count = 0; count < 52; count++) {
    await schedule(w, { from_peer: "api", to_peer: "web", text: "x".repeat(3000) });
  }
  const { text, data } = await fixture.api.call("schedule_list", {});
  assert.deepEqual([idsOf(data).length, data["left_off"]], [50, 2]);
  assert.match(text, /2 more are not shown\.$/);
  assert.ok(text.length < 40_000, String(text.length));
});

Deno.test("an unknown caller lists schedules, and changes none unless it is allowed to [c6.tools.schedules-unknown]", async () => {
  for (const allowed of [false, true]) {
    await using w = world({ settings: { "daemon.mcp.allow_admin_tools": String(allowed) } });
    await using fixture = await agents(w, protocolVersion);
    const { schedule_id } = await schedule(w, { from_peer: "api", to_peer: "web" });
    const asked = { peer: "web", message: "x", fire_at: "1h" };
    const made = await fixture.anonymous.call("schedule_create", asked);
    const gone = await fixture.anonymous.call("schedule_delete", { schedule_id });
    assert.deepEqual([made.problemResponse, gone.problemResponse], [!allowed, !allowed]);
    if (!allowed) assert.match(made.text + gone.text, /unknown_caller.*unknown_caller/s);
    assert.equal((await readSchedule(w, schedule_id)).state, allowed ? "cancelled" : "active");
    assert.equal((await fixture.anonymous.call("schedule_list", {})).problemResponse, false);
  }
});

Deno.test("a schedule of an agent that is gone still fires, and notifies nobody in vain", async () => {
  await using w = world();
  await using fixture = await agents(w, protocolVersion);
  const asked = { peer: "web", message: "Stand up", fire_at: "10m" };
  const { data } = await fixture.api.call("schedule_create", asked);
  await post(w, `/peers/${fixture.ids.api}/offline`, { terminal: true });
  await addPeer(w, "api");
  await w.tick(600);
  assert.equal((await readSchedule(w, String(data["schedule_id"]))).state, "fired");
  const { deliveries } = await get(w, "/deliveries?peer_id=web");
  assert.equal(deliveries[0].from_peer_id, fixture.ids.api);
});
