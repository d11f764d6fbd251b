/** The digest of a period, on request and in scheduled messages. */

import assert from "node:assert/strict";
import { ackAsk, openAsk } from "protocol/asks/contract.ts";
import { getDigest } from "protocol/messages/digest.ts";
import { listInbox } from "protocol/inbox.ts";
import { createSchedule, editSchedule, getSchedule } from "protocol/schedules/contract.ts";
import { digestOf } from "../../../../daemon/features/digest/digest.ts";
import { digestText } from "../../../../daemon/features/digest/digest_text.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, post } from "../../../support/daemon/peer_clients.ts";
import { attemptOf, connectWorker, create, update } from "../../../support/daemon/jobs.ts";

const PERIOD = { since: 0, until: 4_102_444_800_000, circle: null, limit: 10 };
const HOUR_MS = 3_600_000;
const HUMAN = { "human.name": "sam" };

function digest(w: World, query: Record<string, string> = {}) {
  return w.call(getDigest, { query });
}

async function answer(w: World, from: string, to: string, text: string, message: string) {
  const correlation_id = await ask(w, from, to, text);
  await w.call(ackAsk, { body: { correlation_id, message } });
  return correlation_id;
}

async function mesh() {
  const w = world({ settings: HUMAN, hooks: { "claude-code": claudeCodeHooks } });
  await addPeer(w, "api");
  await addPeer(w, "web");
  return w;
}

Deno.test("the digest tells decisions, answers and what waits apart", async () => {
  await using w = await mesh();
  const decided = await answer(w, "api", "sam", "Deploy now?\nOr later", "Yes");
  const answered = await answer(w, "web", "api", "Which port?", "8080\nalways");
  const waiting = await ask(w, "web", "sam", "Which colour?");
  const found = await digest(w);
  assert.deepEqual(
    found.decisions.map((entry) => [entry.correlation_id, entry.question, entry.answer]),
    [
      [decided, "Deploy now?", "Yes"],
    ],
  );
  assert.deepEqual(found.answers.map((entry) => [entry.correlation_id, entry.answer]), [
    [answered, "8080"],
  ]);
  assert.deepEqual(found.waiting.map((item) => [item.correlation_id, item.from, item.text]), [
    [waiting, "web", "Which colour?"],
  ]);
  const counts = { decisions: 1, answers: 1, checks: 0, limits: 0, waiting: 1 };
  assert.deepEqual(found.counts, counts);
});

Deno.test("the digest has the jobs that ended, with their checks", async () => {
  await using w = await mesh();
  await connectWorker(w, "worker");
  const { job_id } = await create(w, { title: "Mend it", assigned_peer: "worker" });
  await update(w, job_id, {
    attempt_id: await attemptOf(w, job_id),
    state: "completed",
    result_summary: "Mended\nwell",
    result_data: { checks: [{ name: "test", exit: 0 }, { name: "lint", exit: 1 }] },
  });
  const [job] = (await digest(w)).checks;
  assert.deepEqual([job?.job_id, job?.state, job?.result], [job_id, "completed", "Mended"]);
  assert.deepEqual(job?.checks, [{ name: "test", exit: 0 }, { name: "lint", exit: 1 }]);
});

Deno.test("a turn that ended at a limit is a limit, and another error is none", async () => {
  await using w = await mesh();
  const report = (session_id: string, fields: Record<string, unknown>) =>
    post(w, "/hooks/claude-code", { session_id, cwd: "/work/agent", ...fields });
  for (const [session, error] of [["s-1", "rate_limit"], ["s-2", "invalid_request"]] as const) {
    await report(session, { hook_event_name: "SessionStart", source: "startup" });
    await report(session, { hook_event_name: "UserPromptSubmit", prompt: "Go" });
    await report(session, { hook_event_name: "StopFailure", error });
  }
  const { limits } = await digest(w);
  assert.deepEqual(limits.map(({ event, peer_name, reason }) => [event, peer_name, reason]), [
    ["limit_changed", "agent-claude-code", "throttled"],
  ]);
});

Deno.test("budgets and loops are in the digest, and a budget that was only opened is not", async () => {
  await using w = await mesh();
  const { events, db } = w.daemon.ctx;
  const budget = { budget_id: "budget-1", scope: "message", subject: "ask-1" };
  const loop = { peer_id: "peer-x", name: "api", kind: "calls", other_peer_id: null, times: 5 };
  db.transact(() => {
    events.append("budget", { ...budget, state: "open", event: "opened" });
    events.append("budget", { ...budget, state: "open", event: "warned" });
    events.append("budget", { ...budget, state: "spent", event: "spent" });
    events.append("looping", loop);
  });
  const { limits } = await digest(w);
  assert.deepEqual(limits.map(({ peer_name, subject, reason }) => [peer_name ?? subject, reason]), [
    ["api", "repeats its calls"],
    ["ask-1", "budget spent"],
    ["ask-1", "two thirds of the budget used"],
  ]);
  assert.match(digestText(digestOf(w.daemon.ctx, PERIOD)), /- “ask-1”: budget spent, /);
});

Deno.test("since and until take a duration or a time, and bound the period", async () => {
  await using w = await mesh();
  const start = w.clock.now();
  const early = await answer(w, "web", "api", "Early?", "Yes");
  await w.clock.advance(5 * HOUR_MS);
  const late = await answer(w, "web", "api", "Late?", "Yes");
  await w.clock.advance(HOUR_MS);
  const ids = async (query: Record<string, string>) =>
    (await digest(w, query)).answers.map(({ correlation_id }) => correlation_id);
  assert.deepEqual(await ids({}), [late, early]);
  assert.deepEqual(await ids({ since: "2h" }), [late]);
  assert.deepEqual(await ids({ since: "1d", until: "2h" }), [early]);
  assert.deepEqual(await ids({ since: new Date(start + HOUR_MS).toISOString() }), [late]);
  for (const query of [{ since: "soon" }, { since: "1h", until: "2h" }, { until: "" }]) {
    await assert.rejects(ids(query as Record<string, string>), /invalid_request/);
  }
});

Deno.test("a digest of one circle leaves out the others, and a limit shortens the lists", async () => {
  await using w = await mesh();
  await addPeer(w, "red", { circle: "red" });
  await addPeer(w, "red2", { circle: "red" });
  const red = await answer(w, "red", "red2", "Red?", "Yes");
  for (const text of ["One?", "Two?"]) await answer(w, "web", "api", text, "Yes");
  const inRed = await digest(w, { circle: "red" });
  assert.deepEqual(inRed.answers.map(({ correlation_id }) => correlation_id), [red]);
  const short = await digest(w, { limit: "1" });
  assert.deepEqual([short.answers.length, short.counts.answers], [1, 3]);
});

Deno.test("a cancelled ask, and one that was only acknowledged, are no answers", async () => {
  await using w = await mesh();
  const bare = await ask(w, "web", "api");
  await w.call(ackAsk, { body: { correlation_id: bare } });
  const { counts } = await digest(w);
  assert.equal(counts.answers, 0);
});

async function schedule(w: World, more: Record<string, unknown> = {}) {
  return await w.call(createSchedule, {
    body: { from_peer: "sam", to_peer: "sam", text: "Good morning", digest: true, ...more },
  });
}

async function itemTexts(w: World): Promise<string[]> {
  const { items } = await w.call(listInbox, { query: {} });
  return items.map(({ text }) => text);
}

Deno.test("a scheduled digest comes to the inbox, and each covers the time since the last", async () => {
  await using w = await mesh();
  await answer(w, "web", "api", "First?", "One");
  const created = await schedule(w, { cron: "0 8 * * *" });
  assert.equal(created.digest, true);
  await w.tick(8 * 3600);
  await answer(w, "web", "api", "Second?", "Two");
  await w.tick(24 * 3600);
  const [second = "", first = ""] = await itemTexts(w);
  assert.match(
    first,
    /^Good morning\n\nThe last 1d:\n\n\*\*Answers \(1\)\*\*\n- ask-\w+ @web: “First\?” → @api answered: “One”$/,
  );
  assert.match(second, /Second/);
  assert.doesNotMatch(second, /First/);
});

Deno.test("a scheduled digest of a quiet time says so in one line", async () => {
  await using w = await mesh();
  await schedule(w, { fire_at: "1h" });
  await w.tick(3600);
  assert.deepEqual(await itemTexts(w), [
    "Good morning\n\nThe last 1d: nothing happened, and nothing waits for you.",
  ]);
});

Deno.test("a digest goes to the human only", async () => {
  await using w = await mesh();
  await assert.rejects(
    schedule(w, { to_peer: "api", fire_at: "1h" }),
    /A digest goes to the human/,
  );
  const { schedule_id } = await schedule(w, { fire_at: "1h" });
  const params = { id: schedule_id };
  const moved = w.call(editSchedule, { params, body: { to_peer: "api" } });
  await assert.rejects(moved, /A digest goes to the human/);
  assert.equal((await w.call(getSchedule, { params })).to_peer, "sam");
});

Deno.test("a digest is not sent if the name of its recipient is another peer's by now", async () => {
  await using w = await mesh();
  const { schedule_id } = await schedule(w, { fire_at: "1h" });
  w.daemon.ctx.db.transact((tx) => tx.run("update schedules set to_peer = 'api'", {}));
  await w.tick(3600);
  const { state, last_error } = await w.call(getSchedule, { params: { id: schedule_id } });
  assert.deepEqual([state, last_error], ["failed", "invalid_request"]);
});

Deno.test("hostile texts in a scheduled digest are one line without Markdown", async () => {
  await using w = await mesh();
  const text = "[click](http://evil) **now**\n# Heading";
  const body = { from_peer: "web", to_peer: "api", text };
  const { correlation_id = "" } = await w.call(openAsk, { body });
  await w.call(ackAsk, { body: { correlation_id: correlation_id ?? "", message: "`x`\u202e" } });
  await schedule(w, { fire_at: "1h" });
  await w.tick(3600);
  const [item = ""] = await itemTexts(w);
  assert.ok(
    item.includes("“\\[click\\]\\(http://evil\\) \\*\\*now\\*\\*” → @api answered: “\\`x\\`”"),
    item,
  );
  assert.doesNotMatch(item, /Heading|\u202e/);
});
