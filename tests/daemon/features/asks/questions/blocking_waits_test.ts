/** Blocking questions: disconnects, repeated requests, shutdown, crash. */

import assert from "node:assert/strict";
import { waitingIds } from "../../../../../daemon/features/asks/store.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import {
  ALLOW_OR_DENY,
  askBlocking,
  askBlockingUntil,
  DECISION,
  PERMISSION,
  restartableDaemon,
  startAskBlocking,
  withHuman,
} from "../../../../support/daemon/blocking_questions.ts";

Deno.test("a caller that disconnects leaves no open question", async () => {
  await using w = withHuman();
  for (const [body, outcome] of [[PERMISSION, "denied"], [DECISION, "timed_out"]] as const) {
    const gone = new AbortController();
    const correlation_id = outcome;
    const pending = askBlockingUntil(w, gone.signal, { ...body, correlation_id });
    await w.clock.settle();
    assert.equal((await get(w, `/asks/${correlation_id}`)).state, "open");
    gone.abort();
    await pending;
    await w.clock.settle();
    const kept = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([kept.state, kept.close_reason, kept.outcome], [
      "closed",
      "cancelled",
      outcome,
    ]);
    assert.equal((await post(w, "/answer", { correlation_id, option_id: "allow" })).status, 410);
  }
  assert.equal((await get(w, "/inbox")).items.length, 2, "The inbox has no further item");
});

Deno.test("a second request with the same id waits for the same answer", async () => {
  await using w = withHuman();
  const gone = new AbortController();
  const first = askBlockingUntil(w, gone.signal);
  await w.clock.settle();
  const second = await startAskBlocking(w);
  assert.equal((await get(w, "/inbox")).items.length, 1);
  gone.abort();
  await first;
  await w.clock.settle();
  assert.equal(second.done, false);
  await post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" });
  assert.equal((await second.answer).option_id, "allow");
  const third = await askBlocking(w);
  assert.deepEqual([third.outcome, third.option_id], ["answered", "allow"]);
});

Deno.test("all callers of a question end at the question's own timeout", async () => {
  await using w = withHuman();
  const first = await startAskBlocking(w, { timeout_seconds: 10 });
  await w.clock.advance(6000);
  const second = await startAskBlocking(w, { timeout_seconds: 10 });
  await w.clock.advance(4000);
  assert.deepEqual([(await first.answer).outcome, (await second.answer).outcome], [
    "denied",
    "denied",
  ]);
  assert.equal(eventData(w, "ack").length, 1);
});

Deno.test("a question that /ask marks as blocking is an ordinary ask", async () => {
  using at = restartableDaemon();
  let w = at.start();
  await addPeer(w, "bob");
  const question = { kind: "choice", options: ALLOW_OR_DENY, blocking: true };
  const id = await ask(w, "ada", "bob", "Which?", { question });
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});

Deno.test("a shutdown denies waiting questions, stores the denial, and answers the callers", async () => {
  using at = restartableDaemon();
  let w = at.start();
  const permission = await startAskBlocking(w);
  const decision = await startAskBlocking(w, { ...DECISION, correlation_id: "two" });
  const down = w.daemon.shutDown();
  assert.equal(
    w.daemon.ctx.db.whenDurable(),
    undefined,
    "Committed before the connection is closed",
  );
  assert.equal(w.daemon.asks.mustGet("toolu_01").outcome, "denied");
  await down;
  assert.deepEqual([(await permission.answer).outcome, (await decision.answer).outcome], [
    "denied",
    "timed_out",
  ]);
  assert.match((await permission.answer).message, /daemon stopped/);
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.state, kept.close_reason, kept.outcome], ["closed", "evicted", "denied"]);
  assert.equal((await askBlocking(w)).outcome, "denied", "A repeated request gets the same answer");
});

Deno.test("a question that arrives during the shutdown is not left open", async () => {
  await using w = withHuman();
  const pending = askBlocking(w);
  await w.daemon.shutDown();
  const { status, outcome, error } = await pending;
  assert.ok(outcome === "denied" || (status === 503 && error === "shutting_down"));
  for (const { state } of (await w.daemon.asks.page({ ...ALL, state: null })).asks) {
    assert.equal(state, "closed");
  }
});
const ALL = { peer_id: null, before: Number.MAX_SAFE_INTEGER, limit: 100 };

Deno.test("after a crash, the next start denies the waiting questions", async () => {
  using at = restartableDaemon();
  await using before = at.start();
  await connectPeer(before, "ada");
  const pending = await startAskBlocking(before, { from_peer: "ada" });
  await using w = at.startFromCrash();
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.state, kept.close_reason, kept.outcome], ["closed", "evicted", "denied"]);
  const { events } = await get(w, "/events?type=ack");
  assert.deepEqual(
    events.map(({ correlation_id, outcome }: Record<string, string>) => [correlation_id, outcome]),
    [["toolu_01", "denied"]],
  );
  assert.equal((await connectPeer(w, "ada")).of("ack").length, 0);
  assert.equal(
    (await post(w, "/answer", { correlation_id: "toolu_01", text: "allow" })).status,
    410,
  );
  assert.equal((await askBlocking(w, { from_peer: "ada" })).outcome, "denied");
  assert.deepEqual(w.logged, []);
  assert.equal(pending.done, false);
});

Deno.test("a real connection that breaks denies its tool permission", async () => {
  await using w = withHuman();
  const opened = Promise.withResolvers<void>(), ended = Promise.withResolvers<unknown>();
  using _ = w.daemon.ctx.events.subscribe({
    event: ({ type, data }) => {
      if (type === "question") opened.resolve();
      if (type === "ack") ended.resolve(data);
    },
  });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const body = JSON.stringify(PERMISSION);
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const head = `POST /questions/ask-blocking HTTP/1.1\r\nHost: 127.0.0.1:${server.addr.port}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n`;
  await socket.write(new TextEncoder().encode(head + body));
  await opened.promise;
  socket.close();
  const { close_reason, outcome } = await ended.promise as Record<string, string>;
  assert.deepEqual([close_reason, outcome], ["cancelled", "denied"]);
  await server.shutdown();
});

Deno.test("a shutdown with many waiting questions denies each of them", async () => {
  await using w = withHuman();
  const lines = Array.from(
    { length: 300 },
    (_, n) => askBlocking(w, { correlation_id: `id-${n}` }),
  );
  await w.clock.settle();
  const early = Array.from({ length: 100 }, (_, n) => {
    return post(w, "/answer", { correlation_id: `id-${n}`, option_id: "allow" });
  });
  for (const { status } of await Promise.all(early)) assert.equal(status, 200);
  await w.daemon.shutDown();
  const outcomes = (await Promise.all(lines)).map(({ outcome }) => outcome);
  assert.deepEqual(new Set(outcomes.slice(0, 100)), new Set(["answered"]));
  assert.deepEqual(new Set(outcomes.slice(100)), new Set(["denied"]));
  assert.equal(eventData(w, "ack").length, 300);
  assert.deepEqual(waitingIds(w.daemon.ctx.db), []);
});

Deno.test("an answer in the same turn reaches a caller that has just begun to wait", async () => {
  await using w = withHuman();
  const [pending, answer] = await Promise.all([
    askBlocking(w),
    post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" }),
  ]);
  assert.equal(answer.status, 200);
  assert.equal(pending.option_id, "allow");
});
