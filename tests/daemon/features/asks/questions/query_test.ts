/** `POST /query`: the legacy blocking route. */

import assert from "node:assert/strict";
import { type World, world } from "../../../../support/world.ts";
import { addPeer, connectPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { restartableDaemon } from "../../../../support/daemon/blocking_questions.ts";

/** A running query, and the id of its ask. */
async function query(w: World, more: Record<string, unknown> = {}) {
  const answer = post(w, "/query", { to_peer: "bob", text: "Which port?", ...more });
  await w.clock.settle();
  const [ask] = (await get(w, "/asks?state=open")).asks;
  return { answer, correlation_id: ask?.correlation_id };
}

Deno.test("a query asks for a text, by default as `cli`, and waits for it [4.query]", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const { answer, correlation_id } = await query(w);
  const [frame] = bob.of("ask");
  assert.deepEqual([frame?.from_peer, frame?.text, frame?.question?.["kind"]], [
    "cli",
    "Which port?",
    "text",
  ]);
  await post(w, "/answer", { correlation_id, text: "8080" });
  assert.deepEqual(await answer, { status: "answered", text: "8080", error: null });
});

Deno.test("every way to close the ask ends the query with a status [c3.query.status]", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  const ends: [string, object, object][] = [
    ["/ack", { message: "8080" }, { status: "answered", text: "8080", error: null }],
    ["/ack", {}, { status: "acked", text: null, error: null }],
    ["/decline", { reason: "Busy" }, { status: "declined", text: null, error: "Busy" }],
    ["/answer", { text: "8080", message: "or 8081" }, {
      status: "answered",
      text: "8080",
      error: null,
    }],
    ["/answer", { outcome: "denied", message: "No" }, {
      status: "declined",
      text: null,
      error: "No",
    }],
  ];
  for (const [path, body, expected] of ends) {
    const { answer, correlation_id } = await query(w);
    await post(w, path, { correlation_id, ...body });
    assert.deepEqual(await answer, expected);
  }
  const { answer, correlation_id } = await query(w, { from_peer: "me" });
  await post(w, `/asks/${correlation_id}/cancel`, { peer_id: "me" });
  assert.equal((await answer).status, "closed");
  const mute = await query(w);
  await post(w, "/peers/bob/provenance", { addressable: false });
  const { status, error } = await mute.answer;
  assert.deepEqual([status, error], ["closed", "The ask was closed: peer_not_addressable"]);
});

Deno.test("a query lasts 45 s by default and at most 55 s, and leaves no open ask", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const [more, seconds] of [[{}, 45], [{ timeout_seconds: 1e9 }, 55]] as const) {
    let done = false;
    const { answer, correlation_id } = await query(w, more);
    const ended = answer.finally(() => done = true);
    await w.clock.advance(seconds * 1000 - 1);
    await w.clock.settle();
    assert.equal(done, false);
    await w.clock.advance(1);
    const timed_out = { status: "timed_out", text: null, error: "Nobody answered in time" };
    assert.deepEqual(await ended, timed_out);
    const kept = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([kept.state, kept.close_reason, kept.outcome], [
      "closed",
      "evicted",
      "timed_out",
    ]);
  }
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { dropped: 2 });
});

Deno.test("an offline peer is not asked; one that goes offline is reported after the timeout", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const { answer } = await query(w, { timeout_seconds: 5 });
  await bob.drop();
  await w.clock.advance(5000);
  const offline = { status: "offline", text: null, error: "bob is offline" };
  assert.deepEqual(await answer, offline);
  const before = (await get(w, "/asks")).asks.length;
  assert.deepEqual((await query(w)).correlation_id, undefined);
  assert.deepEqual(await post(w, "/query", { to_peer: "bob", text: "Hi" }), offline);
  assert.equal((await get(w, "/asks")).asks.length, before);
  const again = await connectPeer(w, "bob");
  const late = await query(w, { timeout_seconds: 5 });
  await again.drop();
  await connectPeer(w, "bob");
  await post(w, "/ack", { correlation_id: late.correlation_id, message: "Back" });
  assert.equal((await late.answer).text, "Back", "A peer that comes back still answers");
});

Deno.test("a peer that is retired meanwhile ends the query at once", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const { answer } = await query(w);
  await post(w, "/peers/bob/offline", { terminal: true });
  assert.deepEqual(await answer, { status: "offline", text: null, error: "bob is retired" });
});

Deno.test("a query is refused like /ask", async () => {
  await using w = world();
  const bob = await addPeer(w, "bob");
  await addPeer(w, "eve", { circle: "one" });
  await addPeer(w, "eve", { circle: "two" });
  const gone = await addPeer(w, "gone");
  await post(w, `/peers/${gone.peer_id}/offline`, { terminal: true });
  await addPeer(w, "mute");
  await post(w, "/peers/mute/provenance", { addressable: false });
  const refusals: [unknown, number, string][] = [
    ["nobody", 404, "unknown_peer"],
    ["", 404, "unknown_peer"],
    ["  ", 404, "unknown_peer"],
    [null, 404, "unknown_peer"],
    ["eve", 409, "ambiguous_peer"],
    [gone.peer_id, 409, "peer_retired"],
    ["mute", 409, "peer_not_addressable"],
    [undefined, 422, "invalid_request"],
    [5, 422, "invalid_request"],
  ];
  for (const [to_peer, status, error] of refusals) {
    const response = await w.post("/query", { to_peer, text: "Hi" });
    assert.deepEqual([response.status, (await response.json()).error], [status, error]);
  }
  const self = await w.post("/query", { from_peer: "bob", to_peer: bob.peer_id, text: "Hi" });
  assert.equal(self.status, 422);
  const withCircle = await query(w, { to_peer: "eve", circle: "one", timeout_seconds: 1 });
  await w.clock.advance(1000);
  assert.equal((await withCircle.answer).status, "timed_out");
});

Deno.test("a query is closed when its caller disconnects or the daemon shuts down", async () => {
  using at = restartableDaemon();
  let w = at.start();
  await addPeer(w, "bob");
  const gone = new AbortController();
  const body = JSON.stringify({ to_peer: "bob", text: "Hi" });
  const pending = w.fetch("/query", { method: "POST", body, signal: gone.signal });
  await w.clock.settle();
  gone.abort();
  await pending.catch(() => undefined);
  await w.clock.settle();
  const [left] = (await get(w, "/asks")).asks;
  assert.deepEqual([left.close_reason, left.outcome], ["cancelled", "timed_out"]);
  const { answer } = await query(w);
  await w.daemon.shutDown();
  const { status, error } = await answer;
  assert.deepEqual([status, error], ["timed_out", "The daemon stopped before an answer came"]);
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  assert.deepEqual((await get(w, "/asks?state=open")).asks, []);
});

Deno.test("a query that a crash interrupted is closed at the next start", async () => {
  using at = restartableDaemon();
  await using before = at.start();
  await addPeer(before, "bob");
  const { correlation_id } = await query(before);
  await using w = at.startFromCrash();
  const kept = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([kept.close_reason, kept.outcome], ["evicted", "timed_out"]);
});
