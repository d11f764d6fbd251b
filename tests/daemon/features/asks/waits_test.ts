/** `POST /asks/:id/wait`: timeouts, pull mode, permissions, shutdown. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { addPeer, ask, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";

Deno.test("a wait that times out returns exactly pending, and stores nothing [3.ask.wait-times-out] [4.asks.wait-pending] [2.ask.status]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob", "Ready?", { reply_delivery: "pull" });
  const before = await get(w, `/asks/${id}`);
  const waiting = w.post(`/asks/${id}/wait`, { peer_id: "ada", timeout_seconds: 5 });
  await w.clock.advance(5000);
  assert.equal(await (await waiting).text(), `{"status":"pending"}`);
  assert.deepEqual(await get(w, `/asks/${id}`), before);
});

Deno.test("a wait lasts 45 s by default, and at most 50 s [8.wait] [c3.wait.default]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  for (const [given, seconds] of [[{}, 45], [{ timeout_seconds: 1e9 }, 50]] as const) {
    let done = false;
    const waiting = post(w, `/asks/${id}/wait`, { peer_id: "ada", ...given })
      .finally(() => done = true);
    await w.clock.advance(seconds * 1000 - 1);
    await w.clock.settle();
    assert.equal(done, false);
    await w.clock.advance(1);
    assert.equal((await waiting).status, "pending");
  }
});

Deno.test("the first wait changes push to pull, and pull stays [3.ask.first-wait-pulls] [4.asks.wait-resolution] [2.ask.reply]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const waiting = post(w, `/asks/${id}/wait`, { peer_id: "ada", timeout_seconds: 1 });
  await w.clock.advance(1000);
  await waiting;
  assert.equal((await get(w, `/asks/${id}`)).reply_delivery, "pull");
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  await w.clock.settle();
  assert.deepEqual(ada.of("ack"), []);
  const { status: _, closed_at, ...answer } = await post(w, `/asks/${id}/wait`, { peer_id: "ada" });
  assert.deepEqual(answer, {
    correlation_id: id,
    outcome: "answered",
    reply: "Yes",
    close_reason: "ack_with_msg",
    option_id: null,
    reply_attachments: [],
    responder: "bob",
  });
  assert.match(closed_at, /Z$/);
});

Deno.test("a pushed reply is stored on the ask, too, and the ask stays push [c3.wait.both-modes]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  await w.clock.settle();
  assert.equal(ada.of("ack")[0]?.text, "Yes");
  const kept = await get(w, `/asks/${id}`);
  assert.deepEqual([kept.reply, kept.reply_delivery], ["Yes", "push"]);
  assert.equal((await post(w, `/asks/${id}/wait`, { peer_id: "ada" })).reply, "Yes");
});

Deno.test("all waits of the asker return the same resolution", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const waits = [1, 2, 3].map(() => post(w, `/asks/${id}/wait`, { peer_id: "ada" }));
  await w.clock.settle();
  await post(w, "/decline", { correlation_id: id, reason: "Busy" });
  for (const answer of await Promise.all(waits)) {
    assert.deepEqual([answer.outcome, answer.reply, answer.close_reason], [
      "declined",
      "Busy",
      "declined",
    ]);
  }
});

Deno.test("only the asker may wait: by id, by name, or by its unregistered name [4.asks.wait-sender]", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const stray = await ask(w, "a-stranger", "bob");
  const wait = (of: string, peer_id: string) =>
    post(w, `/asks/${of}/wait`, { peer_id, timeout_seconds: 0 });
  for (const other of [bob.peer_id, "bob", "a-stranger", "peer-ffffffffffff"]) {
    const answer = await wait(id, other);
    assert.deepEqual([answer.status, answer.error], [403, "not_the_asker"], other);
  }
  assert.equal((await wait(stray, "ada")).error, "not_the_asker");
  for (const [of, asker] of [[id, ada.peer_id], [id, "ada"], [stray, "a-stranger"]] as const) {
    const waiting = wait(of, asker);
    await w.clock.advance(0);
    assert.equal((await waiting).status, "pending");
  }
  assert.equal((await wait("ask-ffffffffffff", "ada")).error, "unknown_ask");
});

Deno.test("a refused wait leaves the ask in push mode", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await post(w, `/asks/${id}/wait`, { peer_id: "bob" });
  assert.equal((await get(w, `/asks/${id}`)).reply_delivery, "push");
});

Deno.test("a timeout that is not a number is refused, and a closed ask returns at once [c1.timeout-clamped]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  for (const timeout_seconds of ["5", null, -1]) {
    const answer = await post(w, `/asks/${id}/wait`, { peer_id: "ada", timeout_seconds });
    assert.equal(answer.status, 422);
  }
  await post(w, `/asks/${id}/cancel`, { peer_id: "ada", reason: "Never mind" });
  const { outcome, close_reason, reply } = await post(w, `/asks/${id}/wait`, { peer_id: "ada" });
  assert.deepEqual([outcome, close_reason, reply], ["cancelled", "cancelled", "Never mind"]);
});

Deno.test("a shutdown ends waits with pending, and the ask stays open", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const waiting = post(w, `/asks/${id}/wait`, { peer_id: "ada" });
  await w.clock.settle();
  await w.daemon.shutDown();
  assert.equal((await waiting).status, "pending");
  assert.equal(w.daemon.asks.mustGet(id).state, "open");
});

Deno.test("a caller that disconnects does not disturb another's wait", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const gone = new AbortController();
  const body = JSON.stringify({ peer_id: "ada" });
  const left = w.fetch(`/asks/${id}/wait`, { method: "POST", body, signal: gone.signal });
  const stays = post(w, `/asks/${id}/wait`, { peer_id: "ada" });
  await w.clock.settle();
  gone.abort();
  await left;
  await post(w, "/ack", { correlation_id: id });
  assert.equal((await stays).outcome, "acknowledged");
});
