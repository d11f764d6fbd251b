/** `POST /questions/ask-blocking`: answers, timeouts, chosen ids. */

import assert from "node:assert/strict";
import { world } from "../../../../support/world.ts";
import { addPeer, ask, eventData, get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  ALLOW_OR_DENY,
  askBlocking,
  DECISION,
  PERMISSION,
  startAskBlocking,
  withHuman,
} from "../../../../support/daemon/blocking_questions.ts";

Deno.test("a tool permission is shown on every surface, and its caller waits [4.ask-blocking.holds] [4.ask-blocking.answer]", async () => {
  await using w = withHuman();
  const ada = await addPeer(w, "ada");
  const origin = { surface: "hook", ref: "7" };
  const pending = await startAskBlocking(w, {
    from_peer: "ada",
    origin,
    metadata: { tool: "Bash" },
  });
  assert.equal(pending.done, false);
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.correlation_id, kept.from_peer_id, kept.to_peer_name, kept.text], [
    "toolu_01",
    ada.peer_id,
    "sam",
    "Run rm?",
  ]);
  assert.deepEqual([kept.reply_delivery, kept.origin], ["pull", origin]);
  const question = {
    kind: "choice",
    prompt: "Run rm?",
    options: ALLOW_OR_DENY,
    scope: "tool_permission",
    timeout_seconds: 45,
    blocking: true,
    metadata: { tool: "Bash" },
  };
  assert.deepEqual(kept.question, question);
  const { items: [item] } = await get(w, "/inbox");
  assert.deepEqual([item.kind, item.correlation_id, item.question], ["ask", "toolu_01", question]);
  const [event] = eventData(w, "question");
  assert.deepEqual([event?.["correlation_id"], event?.["scope"], event?.["kind"]], [
    "toolu_01",
    "tool_permission",
    "choice",
  ]);
  await post(w, `/inbox/${item.item_id}/reply`, { option_id: "allow" });
  assert.deepEqual(await pending.answer, {
    status: 200,
    correlation_id: "toolu_01",
    outcome: "answered",
    option_id: "allow",
    message: null,
  });
  assert.deepEqual(eventData(w, "answer"), [
    { correlation_id: "toolu_01", scope: "tool_permission", outcome: "answered" },
  ]);
});

Deno.test("an option that does not permit, and a refusal, are answers, too", async () => {
  await using w = withHuman();
  const cases: [object, string, string | null, string | null][] = [
    [{ option_id: "deny" }, "answered", "deny", null],
    [{ text: "Deny", message: "Too risky" }, "answered", "deny", "Too risky"],
    [{ outcome: "denied", option_id: "deny" }, "denied", "deny", null],
    [{ outcome: "denied", message: "Never" }, "denied", null, "Never"],
    [{ outcome: "cancelled" }, "cancelled", null, null],
  ];
  for (const [index, [said, outcome, option_id, message]] of cases.entries()) {
    const correlation_id = `case-${index}`;
    const pending = await startAskBlocking(w, { correlation_id });
    await post(w, "/answer", { correlation_id, ...said });
    assert.deepEqual(await pending.answer, {
      status: 200,
      correlation_id,
      outcome,
      option_id,
      message,
    });
  }
});

Deno.test("a decline or a bare ack gives no permission", async () => {
  await using w = withHuman();
  const declined = await startAskBlocking(w, { correlation_id: "one" });
  await post(w, "/decline", { correlation_id: "one", reason: "Not today" });
  const { outcome, option_id, message } = await declined.answer;
  assert.deepEqual([outcome, option_id, message], ["declined", null, "Not today"]);
  const acked = await startAskBlocking(w, { correlation_id: "two" });
  await post(w, "/ack", { correlation_id: "two" });
  const bare = await acked.answer;
  assert.deepEqual([bare.outcome, bare.option_id], ["acknowledged", null]);
});

Deno.test("on timeout, a tool permission is denied, and any other question has timed out [4.ask-blocking.denied] [7.permission-denied]", async () => {
  await using w = withHuman();
  for (const [body, outcome] of [[PERMISSION, "denied"], [DECISION, "timed_out"]] as const) {
    const correlation_id = outcome;
    const pending = await startAskBlocking(w, { ...body, correlation_id, timeout_seconds: 5 });
    await w.clock.advance(4999);
    assert.equal(pending.done, false);
    await w.clock.advance(1);
    assert.deepEqual(await pending.answer, {
      status: 200,
      correlation_id,
      outcome,
      option_id: null,
      message: "Nobody answered in time",
    });
    const kept = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([kept.state, kept.close_reason, kept.outcome, kept.answer], [
      "closed",
      "evicted",
      outcome,
      null,
    ]);
    const late = await post(w, "/answer", { correlation_id, option_id: "allow" });
    assert.deepEqual([late.status, late.error], [410, "already_closed"]);
  }
  assert.equal((await get(w, "/inbox")).items.length, 2);
  assert.deepEqual(eventData(w, "answer"), []);
});

Deno.test("a blocking question lasts 45 s by default, and at most approvals.timeout_seconds [8.ask-blocking]", async () => {
  await using w = withHuman({ "approvals.timeout_seconds": "60" });
  for (const [given, seconds] of [[{}, 45], [{ timeout_seconds: 1e9 }, 60]] as const) {
    const pending = await startAskBlocking(w, { ...given, correlation_id: `t${seconds}` });
    await w.clock.advance(seconds * 1000 - 1);
    await w.clock.settle();
    assert.equal(pending.done, false);
    await w.clock.advance(1);
    assert.equal((await pending.answer).outcome, "denied");
  }
  assert.throws(() => withHuman({ "approvals.timeout_seconds": "3601" }), /1 to 3600/);
  const none = await startAskBlocking(w, { timeout_seconds: 0, correlation_id: "now" });
  await w.clock.advance(0);
  assert.equal((await none.answer).outcome, "denied");
});

Deno.test("a question is validated before it is asked", async () => {
  await using w = withHuman();
  const wrong = [
    { options: [] },
    { options: undefined },
    { options: [...ALLOW_OR_DENY, { id: "allow", title: "Yes" }] },
    { prompt: "" },
    { scope: "" },
    { timeout_seconds: "5" },
    { timeout_seconds: -1 },
    ...["", "a b", "../x", "notif-1", "qd-000000000001", "pending", "x".repeat(129)]
      .map((correlation_id) => ({ correlation_id })),
  ];
  for (const more of wrong) {
    const answer = await askBlocking(w, more);
    assert.deepEqual([answer.status, answer.error], [422, "invalid_request"], JSON.stringify(more));
  }
  assert.equal((await askBlocking(w, { from_peer: "sam" })).error, "to_self");
  assert.deepEqual((await get(w, "/asks")).asks, []);
});

Deno.test("a question without options takes a text, if it is no tool permission", async () => {
  await using w = withHuman();
  const pending = await startAskBlocking(w, { scope: "plan", options: [] });
  await post(w, "/answer", { correlation_id: "toolu_01", text: "Begin with the tests" });
  const { outcome, message } = await pending.answer;
  assert.deepEqual([outcome, message], ["answered", "Begin with the tests"]);
});

Deno.test("a chosen id cannot be reused for a different question", async () => {
  await using w = withHuman();
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const pending = await startAskBlocking(w, { from_peer: "bob" });
  await post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" });
  await pending.answer;
  for (const more of [{ prompt: "Run curl?" }, { scope: "x" }, { options: [ALLOW_OR_DENY[0]] }]) {
    const other = await askBlocking(w, { from_peer: "bob", ...more });
    assert.deepEqual([other.status, other.error], [409, "correlation_taken"]);
  }
  const stranger = await askBlocking(w, { from_peer: "eve" });
  assert.deepEqual([stranger.status, stranger.error], [403, "not_the_asker"]);
  const plain = await ask(w, "cli", "bob", "Run rm?");
  assert.equal((await askBlocking(w, { correlation_id: plain })).error, "correlation_taken");
});

Deno.test("a chosen id is the ask's id in every route, even one in our own format", async () => {
  await using w = withHuman();
  for (const id of ["toolu_01", "ask-00ff00ff00ff", "0b8f2c1e-7a3d-4e9b-9c55-1f2e3d4c5b6a"]) {
    const pending = await startAskBlocking(w, { correlation_id: id });
    const { stages } = await get(w, `/traces/${id}`);
    assert.equal(stages[0].stage, "created");
    const open = (await get(w, "/asks/pending?peer_id=cli&direction=outbound")).asks;
    assert.deepEqual(open.map(({ correlation_id }: Record<string, string>) => correlation_id), [
      id,
    ]);
    const waiting = post(w, `/asks/${id}/wait`, { peer_id: "cli" });
    await w.clock.settle();
    await post(w, "/ack", { correlation_id: id, message: "allow" });
    const waited = await waiting;
    assert.deepEqual([waited.correlation_id, waited.option_id], [id, "allow"]);
    assert.equal((await pending.answer).option_id, "allow");
  }
  const pending = await startAskBlocking(w, { correlation_id: "mine" });
  await post(w, "/asks/mine/cancel", { peer_id: "cli", reason: "Never mind" });
  const { outcome, message } = await pending.answer;
  assert.deepEqual([outcome, message], ["cancelled", "Never mind"]);
});

Deno.test("without a human, the question waits in the inbox", async () => {
  await using w = world();
  const pending = await startAskBlocking(w);
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.to_peer_id, kept.to_peer_name, kept.state], ["human", "human", "open"]);
  await post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" });
  assert.equal((await pending.answer).option_id, "allow");
  const late = await startAskBlocking(w, { correlation_id: "late" });
  await addPeer(w, "sam", { role: "human" });
  const { items: [item] } = await get(w, "/inbox?unread=1");
  await post(w, `/inbox/${item.item_id}/reply`, { option_id: "deny" });
  assert.equal((await late.answer).option_id, "deny");
  const denied = await startAskBlocking(w, { correlation_id: "denied", timeout_seconds: 1 });
  await w.clock.advance(1000);
  assert.equal((await denied.answer).outcome, "denied");
  assert.deepEqual(w.logged, []);
});
