/** Notifications and broadcasts. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

Deno.test("the response to /notify names sender, recipient and delivery state [4.notify] [2.notify.delivery-id]", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  const { delivery_id, ...answer } = await notify(w, "ada", "bob");
  assert.match(delivery_id, /^notif-[0-9a-f]{12}$/);
  assert.deepEqual(answer, {
    ok: true,
    delivery_state: "queued",
    delivered: false,
    queued: true,
    reason: null,
    from_peer_id: ada.peer_id,
    from_peer_name: "ada",
    to_peer_id: bob.peer_id,
    to_peer_name: "bob",
    mesh_session_id: bob.mesh_session_id,
  });
  assert.deepEqual(eventData(w, "notification"), [{
    delivery_id,
    from_peer_id: ada.peer_id,
    from: "ada",
    to_peer_id: bob.peer_id,
    to: "bob",
    delivery_state: "queued",
  }]);
});

Deno.test("every refusal of /notify repeats its code as the reason [c1.error-shape]", async () => {
  await using w = world();
  await addPeer(w, "ada", { provenance: { addressable: false } });
  const body = { from_peer: "cli", text: "Hi" };
  const cases = [
    [{ ...body, to_peer: "ada" }, 409, "peer_not_addressable"],
    [{ ...body, to_peer: "nobody" }, 404, "unknown_peer"],
    [{ ...body, to_peer: "ada", from_peer: "ada" }, 422, "to_self"],
    [{ to_peer: "ada" }, 422, "invalid_request"],
  ] as const;
  for (const [given, status, code] of cases) {
    const answer = await post(w, "/notify", given);
    assert.deepEqual([answer.status, answer.error, answer.reason], [status, code, code]);
  }
  const broken = await w.fetch("/notify", { method: "POST", body: "{" });
  assert.equal((await broken.json()).reason, "bad_json");
});

Deno.test("a notification to the human is accepted by the inbox without a surface [4.notify.inbox] [2.inbox.item-id]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const answer = await notify(w, "cli", "dashboard");
  assert.deepEqual([answer.delivered, answer.delivery_state, answer.surfaces], [
    true,
    "accepted",
    [],
  ]);
  assert.equal((await get(w, `/inbox/${answer.inbox_item_id}`)).text, "Done");
});

Deno.test("a text is 1 to 262,144 bytes of UTF-8 [c1.text-size]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const status = async (text: string) =>
    (await post(w, "/notify", { from_peer: "cli", to_peer: "bob", text })).status;
  assert.equal(await status("x".repeat(262_144)), 200);
  assert.equal(await status("é".repeat(131_072)), 200);
  assert.equal(await status("x".repeat(262_145)), 422);
  assert.equal(await status("é".repeat(131_073)), 422);
  assert.equal(await status(""), 422);
});

Deno.test("a text arrives unchanged", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const text = "a\ttab, a\r\nline, \u001b[31mred, 🦊 and </peer-message>";
  await notify(w, "cli", "bob", text);
  await w.clock.settle();
  assert.equal(bob.of("notify")[0]?.text, text);
});

Deno.test("a trace context is passed from the header to the frame, and made if absent [c1.traceparent]", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const body = { from_peer: "cli", to_peer: "bob", text: "Hi" };
  await post(w, "/notify", body, { traceparent });
  await post(w, "/notify", body, { traceparent: "nonsense" });
  await post(w, "/ask", body);
  await w.clock.settle();
  const [given, malformed] = bob.of("notify");
  assert.equal(given?.traceparent, traceparent);
  assert.match(malformed?.traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.match(bob.of("ask")[0]?.traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
});

Deno.test("a broadcast goes to the agents and orchestrators of a circle, and lists skipped peers [3.peer.inbound-only.broadcast] [c3.broadcast.circle]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  const boss = await addPeer(w, "boss", { role: "orchestrator" });
  const eve = await addPeer(w, "eve");
  const mute = await addPeer(w, "mute", { provenance: { addressable: false } });
  const gone = await addPeer(w, "gone");
  await post(w, "/peers/gone/offline");
  await addPeer(w, "service", { role: "service" });
  await addPeer(w, "far", { circle: "there" });
  const answer = await post(w, "/broadcast", { from_peer: "ada", text: "All", exclude: ["eve"] });
  const names = answer.sent_to.map(({ peer_id }: { peer_id: string }) => peer_id);
  assert.deepEqual(names.sort(), [bob.peer_id, boss.peer_id].sort());
  assert.match(answer.sent_to[0].delivery_id, /^qd-[0-9a-f]{12}$/);
  const skipped = new Map(
    answer.skipped.map((
      recipient: { peer_id: string; reason: string },
    ) => [recipient.peer_id, recipient.reason]),
  );
  assert.deepEqual(
    skipped,
    new Map([
      [eve.peer_id, "excluded"],
      [mute.peer_id, "peer_not_addressable"],
      [gone.peer_id, "offline"],
    ]),
  );
  assert.deepEqual(answer.failed, []);
  assert.equal(eventData(w, "broadcast")[0]?.["sent_to"], 2);
  assert.equal((await get(w, "/inbox")).items.length, 0);
  const there = await post(w, "/broadcast", { from_peer: "ada", text: "All", circle: "there" });
  assert.equal(there.sent_to.length, 1);
});

Deno.test("a full queue fails a single copy of a broadcast", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  const bob = await addPeer(w, "bob");
  await addPeer(w, "eve");
  await notify(w, "cli", "bob");
  const answer = await post(w, "/broadcast", { from_peer: "cli", text: "All" });
  assert.equal(answer.sent_to.length, 1);
  assert.deepEqual(answer.failed, [{ peer_id: bob.peer_id, error: "queue_full" }]);
});

Deno.test("a notification to null, blank or unknown names is refused with unknown_peer", async () => {
  await using w = world();
  for (const to_peer of [null, "", "  ", "nobody"]) {
    const { status, error, reason } = await post(w, "/notify", {
      from_peer: "ada",
      to_peer,
      text: "Hi",
    });
    assert.deepEqual([status, error, reason], [404, "unknown_peer", "unknown_peer"]);
  }
});
