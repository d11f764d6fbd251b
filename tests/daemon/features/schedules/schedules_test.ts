/** Scheduled messages: creation, firing, editing, listing and limits. */

import assert from "node:assert/strict";
import * as z from "zod";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  notify,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";
import {
  cancel,
  edit,
  ids,
  readSchedule,
  schedule,
  worldWithPeers,
} from "../../../support/daemon/schedules.ts";

const MINUTE = 60, HOUR = 3600, DAY = 86_400;

Deno.test("a one-shot is sent when it is due, not before [c2.schedule.one-shot]", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const made = await schedule(w, { fire_at: "2030-01-01T02:10:00+02:00" });
  assert.equal(made.fire_at, "2030-01-01T00:10:00.000Z");
  await w.tick(10 * MINUTE - 1);
  assert.deepEqual(bob.of("notify"), []);
  await w.tick();
  const [note, ...more] = bob.of("notify");
  assert.deepEqual([note?.text, note?.from_peer, more], ["Stand up", "ada", []]);
  const fired = await readSchedule(w, made.schedule_id);
  assert.deepEqual(fired, {
    ...made,
    state: "fired",
    next_fire_at: null,
    last_outcome: "fired",
    last_fired_at: "2030-01-01T00:10:00.000Z",
    last_message_id: note?.delivery_id,
  });
  await w.tick(DAY);
  assert.equal(bob.of("notify").length, 1);
});

Deno.test("a scheduled ask is answered like any other, and its sender gets the reply", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const ada = await connectPeer(w, "eve");
  const made = await schedule(w, { from_peer: "eve", kind: "ask", fire_at: "5m" });
  await w.tick(5 * MINUTE);
  const [ask] = bob.of("ask");
  assert.ok(ask);
  const { last_message_id } = await readSchedule(w, made.schedule_id);
  assert.equal(last_message_id, ask.correlation_id);
  await post(w, "/ack", { correlation_id: ask.correlation_id, message: "Yes" });
  await w.clock.settle();
  assert.equal(ada.of("ack")[0]?.text, "Yes");
  assert.equal((await get(w, `/traces/${last_message_id}`)).status, 200);
});

Deno.test("a schedule wakes its own sender, which cannot notify itself now [c2.schedule.to-self]", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const now = await post(w, "/notify", { from_peer: "bob", to_peer: "bob", text: "Hi" });
  assert.equal(now.error, "to_self");
  await schedule(w, { from_peer: "bob", to_peer: "bob", fire_at: "10m" });
  const asked = { from_peer: "bob", to_peer: "bob", kind: "ask", fire_at: "20m" };
  const { schedule_id } = await schedule(w, asked);
  await schedule(w, { from_peer: "sam", to_peer: "dashboard", text: "Tea", fire_at: "10m" });
  await w.tick(10 * MINUTE);
  assert.deepEqual(bob.of("notify").map(({ from_peer, text }) => [from_peer, text]), [
    ["bob", "Stand up"],
  ]);
  const { items } = await get(w, "/inbox");
  assert.deepEqual(items.map(({ text }: { text: string }) => text), ["Tea"]);
  await w.tick(10 * MINUTE);
  const { last_message_id } = await readSchedule(w, schedule_id);
  assert.equal(bob.of("ask")[0]?.correlation_id, last_message_id);
});

Deno.test("a recurring schedule fires until it is cancelled [4.schedules]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const made = await schedule(w, { cron: "@hourly" });
  assert.deepEqual([made.fire_at, made.timezone], [null, "UTC"]);
  assert.equal(made.next_fire_at, "2030-01-01T01:00:00.000Z");
  for (let hour = 0; hour < 3; hour++) await w.tick(HOUR);
  assert.equal(eventData(w, "schedule_fired").length, 3);
  const found = await readSchedule(w, made.schedule_id);
  assert.deepEqual([found.state, found.next_fire_at], ["active", "2030-01-01T04:00:00.000Z"]);
  assert.equal((await cancel(w, made.schedule_id)).state, "cancelled");
  await w.tick(HOUR);
  const { deliveries } = await get(w, "/deliveries?peer_id=bob");
  assert.equal(deliveries.length, 3);
});

Deno.test("missed fires collapse into one, also after a downtime [c2.schedule.collapse]", async () => {
  const db_path = `${await Deno.makeTempDir()}/mesh.db`;
  const before = await worldWithPeers({ db_path });
  const { clock } = before.w;
  const every = await schedule(before.w, { cron: "*/5 * * * *", text: "Again" });
  const once = await schedule(before.w, { fire_at: "1h", text: "Once" });
  await before.w[Symbol.asyncDispose]();
  await clock.advance(3 * DAY * 1000 + 1000);
  await using w = world({ db_path, clock });
  const bob = await connectPeer(w, "bob");
  await w.tick();
  await w.tick();
  assert.deepEqual(bob.of("notify").map(({ text }) => text).sort(), ["Again", "Once"]);
  assert.equal((await readSchedule(w, once.schedule_id)).state, "fired");
  const next = (await readSchedule(w, every.schedule_id)).next_fire_at;
  assert.equal(next, "2030-01-04T00:05:00.000Z");
  await Deno.remove(db_path.replace("/mesh.db", ""), { recursive: true });
});

Deno.test("the recipient's name is resolved when the schedule fires", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const made = await schedule(w, {});
  await post(w, "/peers/bob/offline", { terminal: true });
  const other = await connectPeer(w, "bob");
  await w.tick(10 * MINUTE);
  assert.equal((await readSchedule(w, made.schedule_id)).state, "fired");
  assert.deepEqual([bob.of("notify").length, other.of("notify").length], [0, 1]);
});

Deno.test("a name is resolved in the given circle, else in the sender's", async () => {
  await using w = world();
  await addPeer(w, "ada", { circle: "red" });
  const red = await connectPeer(w, "bob", { circle: "red" });
  const blue = await connectPeer(w, "bob", { circle: "blue" });
  const own = await schedule(w, { fire_at: "1m" });
  const other = await schedule(w, { fire_at: "1m", circle: "blue", text: "Blue" });
  assert.deepEqual([own.circle, other.circle], ["red", "blue"]);
  await w.tick(MINUTE);
  assert.deepEqual(red.of("notify").map(({ text }) => text), ["Stand up"]);
  assert.deepEqual(blue.of("notify").map(({ text }) => text), ["Blue"]);
  assert.deepEqual(await ids(w, { circle: "blue" }), [other.schedule_id]);
});

Deno.test("an active schedule can be edited, a settled one cannot [c3.schedules.edit]", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const eve = await connectPeer(w, "eve");
  const { schedule_id } = await schedule(w);
  const changed = await edit(w, schedule_id, { text: "Sit", to_peer: "eve", kind: "ask" });
  assert.deepEqual([changed.text, changed.to_peer, changed.kind], ["Sit", "eve", "ask"]);
  assert.equal(changed.next_fire_at, "2030-01-01T00:10:00.000Z");
  assert.equal(
    (await edit(w, schedule_id, { fire_at: "20m" })).fire_at,
    "2030-01-01T00:20:00.000Z",
  );
  const weekly = await edit(w, schedule_id, { cron: "0 9 * * 1", timezone: "Europe/Berlin" });
  assert.deepEqual([weekly.fire_at, weekly.next_fire_at], [null, "2030-01-07T08:00:00.000Z"]);
  const tokyo = await edit(w, schedule_id, { timezone: "Asia/Tokyo" });
  assert.equal(tokyo.next_fire_at, "2030-01-07T00:00:00.000Z");
  assert.equal((await edit(w, schedule_id, { cron: "0 10 * * 1" })).timezone, "Asia/Tokyo");
  const once = await edit(w, schedule_id, { fire_at: "in 1h" });
  assert.deepEqual([once.cron, once.timezone], [null, null]);
  await w.tick(HOUR);
  assert.deepEqual([bob.of("notify").length, eve.of("ask")[0]?.text], [0, "Sit"]);
  await assert.rejects(edit(w, schedule_id, { text: "Late" }), {
    status: 409,
    message: /^illegal_state/,
  });
  await assert.rejects(cancel(w, schedule_id), { status: 409, message: /^illegal_state.*fired/ });
});

Deno.test("a cancelled schedule does not fire, and stays cancelled [c3.schedules.cancel]", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const { schedule_id } = await schedule(w);
  await cancel(w, schedule_id);
  assert.equal((await cancel(w, schedule_id)).state, "cancelled");
  await assert.rejects(edit(w, schedule_id, { text: "x" }), {
    status: 409,
    message: /^illegal_state/,
  });
  await w.tick(HOUR);
  assert.deepEqual(bob.of("notify"), []);
  assert.deepEqual(await ids(w, { state: "cancelled" }), [schedule_id]);
  await assert.rejects(cancel(w, "sched-0"), { status: 404, message: /^unknown_schedule/ });
});

Deno.test("GET /schedules lists active schedules by next fire, then the others, with filters [c3.schedules.list]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const late = (await schedule(w, { fire_at: "2h" })).schedule_id;
  const early = (await schedule(w, { cron: "@hourly", to_peer: "sam" })).schedule_id;
  const gone = (await schedule(w, { from_peer: "cli" })).schedule_id;
  const last = (await schedule(w, { from_peer: "cli" })).schedule_id;
  await cancel(w, gone);
  await w.tick();
  await cancel(w, last);
  assert.deepEqual(await ids(w), [early, late, last, gone]);
  assert.deepEqual(await ids(w, { limit: "1" }), [early]);
  assert.deepEqual(await ids(w, { state: "active" }), [early, late]);
  assert.deepEqual(await ids(w, { to_peer: "dashboard" }), [early], "An alias is the human");
  const { peer_id } = await get(w, "/peers/ada");
  assert.deepEqual(await ids(w, { from_peer: peer_id }), [early, late]);
  assert.deepEqual(await ids(w, { from_peer: "ada", to_peer: "bob" }), [late]);
  assert.deepEqual(await ids(w, { from_peer: "cli" }), [last, gone]);
  assert.deepEqual(await ids(w, { from_peer: "who" }), []);
});

Deno.test("only a schedule from a proven human origin is framed as the human's [c2.schedule.human]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const dashboard = await signIn(w);
  const authorKinds = async () => {
    const { deliveries } = await get(w, "/deliveries?peer_id=bob");
    return deliveries.map(({ delivery_id }: { delivery_id: string }) =>
      w.daemon.delivery.findMessage(delivery_id)?.voice
    );
  };
  await schedule(w, { from_peer: "sam" }, dashboard);
  await w.tick(10 * MINUTE);
  assert.deepEqual(await authorKinds(), ["human"]);
  await schedule(w, { from_peer: "sam" });
  await w.tick(10 * MINUTE);
  assert.deepEqual((await authorKinds()).sort(), ["human", "unverified"]);
  const { schedule_id } = await schedule(w, { from_peer: "sam" }, dashboard);
  await edit(w, schedule_id, { text: "Delete it all" });
  await edit(w, schedule_id, { fire_at: "1m" }, dashboard);
  await w.tick(10 * MINUTE);
  assert.deepEqual((await authorKinds()).sort(), ["human", "unverified", "unverified"]);
  await schedule(w, { from_peer: "ada" }, dashboard);
  await w.tick(10 * MINUTE);
  assert.deepEqual((await authorKinds()).filter((voice: string) => voice === "peer"), ["peer"]);
});

Deno.test("a repeated Idempotency-Key returns the same schedule in its current state [c1.idempotency.schedules]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const key = { "idempotency-key": "one" };
  const body = { from_peer: "ada", to_peer: "bob", text: "Stand up", fire_at: "10m" };
  const first = await post(w, "/schedules", body, key);
  await cancel(w, first.schedule_id);
  const again = await w.post("/schedules", body, key);
  assert.equal(again.headers.get("idempotent-replay"), "true");
  const { schedule_id, state } = await again.json();
  assert.deepEqual([schedule_id, state], [first.schedule_id, "cancelled"]);
  const other = await post(w, "/schedules", { ...body, text: "Sit" }, key);
  assert.deepEqual([other.status, other.error], [422, "idempotency_mismatch"]);
  assert.equal((await ids(w)).length, 1);
});

Deno.test("each fire is published with ids and outcome, without the text [c2.event.schedule-fired]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const { schedule_id } = await schedule(w, { text: "A secret" });
  const { peer_id: from_peer_id } = await get(w, "/peers/ada");
  await w.tick(10 * MINUTE);
  const { last_message_id: message_id } = await readSchedule(w, schedule_id);
  const who = { from_peer_id, from: "ada", to: "bob" };
  const fired = { schedule_id, kind: "notify", state: "fired", outcome: "fired", error: null };
  assert.deepEqual(eventData(w, "schedule_fired"), [{ ...fired, message_id, ...who }]);
  assert.equal(JSON.stringify(w.events).includes("A secret"), false);
});

Deno.test("a one-shot belongs to the trace of its request; each recurring fire has its own", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const trace_id = "0af7651916cd43dd8448eb211c80319c";
  const headers = { traceparent: `00-${trace_id}-b7ad6b7169203331-01` };
  await schedule(w, { fire_at: "1m" }, headers);
  await schedule(w, { cron: "* * * * *" }, headers);
  for (let minute = 0; minute < 2; minute++) await w.tick(MINUTE);
  const traces = bob.of("notify").map(({ traceparent }) => traceparent.split("-")[1]);
  assert.equal(traces.filter((trace) => trace === trace_id).length, 1);
  assert.equal(new Set(traces).size, 3);
});

Deno.test("more than 10,000 active schedules are refused", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const more = { from_peer: "ada", to_peer: "bob", text: "x", kind: "notify" as const };
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => {
    w.daemon.schedules.create({ ...more, fire_at: { in_ms: 60_000 } }, { proven_human: false });
    const columns = db.values(z.string(), "select name from pragma_table_info('schedules')")
      .filter((name) => !["seq", "schedule_id"].includes(name)).join(", ");
    tx.run(
      `with recursive copy (number) as
         (select 2 union all select number + 1 from copy where number < 10000)
       insert into schedules (seq, schedule_id, ${columns})
       select number, printf('sched-%012x', 1000000 + number), ${columns}
       from copy join schedules on seq = 1`,
    );
  });
  await assert.rejects(schedule(w), { status: 429, message: /^schedules_full/ });
  await w.tick(MINUTE);
  assert.equal((await ids(w, { state: "fired" })).length, 200, "one tick sends a limited number");
  await schedule(w);
});

Deno.test("limits apply to scheduled messages, and a refusal leaves nothing half done", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const { schedule_id } = await schedule(w, { fire_at: "1m" });
  await w.tick(MINUTE);
  assert.equal((await readSchedule(w, schedule_id)).last_error, "queue_full");
  assert.equal((await get(w, "/deliveries?peer_id=bob")).deliveries.length, 1);
});

Deno.test("old settled schedules are deleted, active ones never", async () => {
  await using at = await worldWithPeers({ settings: { "daemon.history_days": "2" } });
  const { w } = at;
  const kept = (await schedule(w, { fire_at: "30d" })).schedule_id;
  const fired = (await schedule(w)).schedule_id;
  const cancelled = (await schedule(w)).schedule_id;
  await cancel(w, cancelled);
  await w.tick(DAY);
  assert.deepEqual((await ids(w)).sort(), [kept, fired, cancelled].sort());
  await w.tick(DAY + 1);
  assert.deepEqual((await ids(w)).sort(), [fired, kept].sort());
  await w.tick(DAY);
  assert.deepEqual(await ids(w), [kept]);
});
