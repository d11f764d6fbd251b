/** Scheduled messages that cannot be sent: what is recorded, and who is notified. */

import assert from "node:assert/strict";
import { addPeer, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { ids, readSchedule, schedule, worldWithPeers } from "../../../support/daemon/schedules.ts";

const MINUTE = 60, HOUR = 3600;

Deno.test("a schedule to a peer that is not addressable is accepted, and its fire fails [c2.schedule.inbound-only] [3.peer.inbound-only.schedule]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const ada = await connectPeer(w, "eve");
  const provenance = { addressable: false };
  const { peer_id } = await addPeer(w, "deaf", { provenance });
  for (const kind of ["ask", "notify"]) {
    const made = await schedule(w, { from_peer: "eve", to_peer: "deaf", kind, fire_at: "1m" });
    await w.tick(MINUTE);
    const failed = await readSchedule(w, made.schedule_id);
    assert.deepEqual(
      [failed.state, failed.last_outcome, failed.last_error, failed.last_message_id],
      ["failed", "failed", "peer_not_addressable", null],
    );
    const [lastNotify] = ada.of("notify").slice(-1);
    assert.equal(lastNotify?.from_peer, "mesh");
    assert.match(
      lastNotify?.text ?? "",
      new RegExp(`scheduled ${kind} to "deaf" \\(${made.schedule_id}`),
    );
    assert.match(lastNotify?.text ?? "", /does not receive messages \(peer_not_addressable\)/);
  }
  assert.deepEqual((await get(w, `/asks?peer_id=${peer_id}`)).asks, []);
  assert.deepEqual((await get(w, `/deliveries?peer_id=${peer_id}`)).deliveries, []);
});

Deno.test("a fire to a removed recipient fails, and the sender is notified [c2.schedule.failed]", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const eve = await connectPeer(w, "eve");
  const retired = await addPeer(w, "tom");
  const closed = await addPeer(w, "kim");
  const toRetired = await schedule(w, { from_peer: "eve", to_peer: retired.peer_id });
  const toClosed = await schedule(w, { from_peer: "eve", to_peer: "kim" });
  await post(w, "/peers/tom/offline", { terminal: true });
  await w.fetch(`/peers/${closed.peer_id}`, { method: "DELETE" });
  await w.tick(10 * MINUTE);
  const errors = await Promise.all(
    [toRetired, toClosed].map(({ schedule_id }) => readSchedule(w, schedule_id)),
  );
  assert.deepEqual(errors.map(({ state, last_error }) => [state, last_error]), [
    ["failed", "peer_retired"],
    ["failed", "unknown_peer"],
  ]);
  assert.equal(eve.of("notify").length, 2);
  assert.match(eve.of("notify")[1]?.text ?? "", /Unknown peer: kim/);
});

Deno.test("a failure is an inbox item for the human; a removed sender gets no notice", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const { peer_id: tom } = await addPeer(w, "tom");
  await schedule(w, { from_peer: "sam", to_peer: tom });
  await schedule(w, { from_peer: "cli", to_peer: "tom" });
  await schedule(w, { from_peer: "ada", to_peer: "tom" });
  await post(w, "/peers/tom/offline", { terminal: true });
  await post(w, "/peers/ada/offline", { terminal: true });
  await w.tick(10 * MINUTE);
  assert.equal((await ids(w, { state: "failed" })).length, 3);
  const { items } = await get(w, "/inbox");
  assert.equal(items.length, 1);
  assert.match(items[0].text, /was not sent: .* is retired/);
  assert.deepEqual(w.logged, []);
});

Deno.test("a recurring schedule records a failure, continues, and notifies nobody [c2.schedule.recurring-fails]", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const eve = await connectPeer(w, "eve");
  const { peer_id } = await addPeer(w, "tom");
  const { schedule_id } = await schedule(w, { from_peer: "eve", to_peer: "tom", cron: "@hourly" });
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.tick(HOUR);
  const failed = await readSchedule(w, schedule_id);
  assert.deepEqual([failed.state, failed.last_error], ["active", "unknown_peer"]);
  const tom = await connectPeer(w, "tom");
  await w.tick(HOUR);
  const went_on = await readSchedule(w, schedule_id);
  assert.deepEqual([went_on.last_outcome, went_on.last_error], ["fired", null]);
  assert.deepEqual([tom, eve, bob].map((peer) => peer.of("notify").length), [1, 0, 0]);
});

Deno.test("a fire with an internal error is tried again, and does not block others", async () => {
  await using at = await worldWithPeers();
  const { w, bob } = at;
  const { db } = w.daemon.ctx;
  const bad = await schedule(w, { text: "Bad", fire_at: "1m" });
  await schedule(w, { text: "Good", fire_at: "1m" });
  db.transact((tx) =>
    tx.run(
      `create trigger broken before insert on messages when new.text = 'Bad'
     begin select raise(abort, 'broken'); end`,
    )
  );
  await w.tick(MINUTE);
  assert.deepEqual(bob.of("notify").map(({ text }) => text), ["Good"]);
  assert.match(w.logged.splice(0).join(), /A scheduled message failed/);
  assert.equal((await readSchedule(w, bad.schedule_id)).state, "active");
  db.transact((tx) => tx.run("drop trigger broken"));
  await w.tick(MINUTE);
  assert.deepEqual(bob.of("notify").map(({ text }) => text), ["Good", "Bad"]);
});
