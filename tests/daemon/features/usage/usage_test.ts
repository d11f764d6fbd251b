/** Tokens by day, agent, model, job and chain of messages, with their price. */

import assert from "node:assert/strict";
import * as z from "zod";
import { dateOf } from "kit/core/local_time.ts";
import { DAY_MS } from "kit/core/duration.ts";
import {
  addPeer,
  ask,
  eventData,
  notify,
  peerOfSession,
  post,
  reportSessions,
} from "../../../support/daemon/peer_clients.ts";
import { create } from "../../../support/daemon/jobs.ts";
import { API, framed, prompt, usageWorld, WEB } from "../../../support/sessions/usage_world.ts";

interface Row {
  readonly key: string | null;
  readonly name: string | null;
  readonly input_tokens: number;
}

/** The key or the name of each row, with its input. */
const inputs = ({ rows }: { rows: readonly Row[] }, by: "key" | "name" = "key") =>
  rows.map((row) => [row[by], row.input_tokens]);

Deno.test("tokens are summed by day, agent and model, with a total [4.usage.report]", async () => {
  await using at = await usageWorld();
  at.answers(API, { input: 10, read: 80, write: 10, output: 5 });
  at.answers(API, { model: "haiku-5", ago: 2 * DAY_MS });
  at.answers(WEB);
  const today = dateOf(new Date(at.w.clock.now()));
  const before = dateOf(new Date(at.w.clock.now() - 2 * DAY_MS));
  const days = await at.report("by=day");
  assert.deepEqual(inputs(days), [[before, 100], [today, 200]]);
  assert.deepEqual([days.to, days.cut, days.prices, days.left_out], [today, false, null, []]);
  assert.equal(days.timezone, new Intl.DateTimeFormat().resolvedOptions().timeZone);
  assert.deepEqual(days.total, {
    requests: 3,
    input_tokens: 300,
    cached_input_read_tokens: 80,
    cached_input_write_tokens: 10,
    output_tokens: 25,
    reasoning_tokens: null,
    incomplete: [],
    cost: null,
    unpriced_tokens: 325,
  });
  assert.deepEqual(inputs(await at.report("by=agent"), "name"), [["api", 200], ["web", 100]]);
  assert.deepEqual(inputs(await at.report("by=model")), [["opus-5", 200], ["haiku-5", 100]]);
  assert.deepEqual(inputs(await at.report(`by=day&from=${today}`)), [[today, 200]]);
  assert.deepEqual(inputs(await at.report(`by=day&to=${before}`)), [[before, 100]]);
});

Deno.test("a range whose first day is after its last one, and an unknown grouping, are refused", async () => {
  await using at = await usageWorld();
  const { status, detail } = await at.report("by=day&from=2029-02-02&to=2029-02-01");
  assert.equal(status, 422);
  assert.match(detail, /from: 2029-02-02 is after the last day, 2029-02-01/);
  assert.equal((await at.report("by=week")).status, 422);
  assert.equal((await at.report("by=day&from=2029-02-30")).status, 422);
});

Deno.test("the sessions' tokens without a grouping have their form", async () => {
  await using at = await usageWorld();
  at.answers(API);
  const { usage, ...rest } = await at.report("");
  assert.deepEqual([Object.keys(rest), usage.length], [["status"], 2]);
});

Deno.test("tokens are counted once, and stay when the session's file is gone [4.usage.once]", async () => {
  await using at = await usageWorld();
  at.answers(API);
  await at.report("by=day");
  at.answers(API);
  assert.equal((await at.report("by=day")).total.input_tokens, 200);
  assert.equal((await at.report("by=day")).total.requests, 2);
  Deno.removeSync(at.file(API));
  assert.equal((await at.report("by=day")).total.input_tokens, 200);
});

Deno.test("a session that its agent has left is counted to its end", async () => {
  await using at = await usageWorld();
  at.answers(API);
  await at.report("by=day");
  at.w.daemon.ctx.db.transact((tx) =>
    tx.run("update peers set runtime_session_id = null where name = 'api'")
  );
  at.answers(API);
  assert.equal((await at.report("by=agent")).total.input_tokens, 200);
});

Deno.test("a request of long ago is not counted", async () => {
  await using at = await usageWorld();
  at.answers(API, { ago: 36 * DAY_MS });
  at.answers(API, { ago: 34 * DAY_MS });
  assert.equal((await at.report("by=day&from=2029-01-01")).total.requests, 1);
});

Deno.test("tokens are counted shortly after a turn, and reported by an event", async () => {
  await using at = await usageWorld();
  await prompt(at.w, "api", "Go on");
  at.answers(API);
  await at.w.post("/peers/api/turn", { turn_state: "idle" });
  const counted = () => at.w.events.filter(({ type }) => type === "usage_counted").length;
  await at.w.tick();
  await at.w.tick();
  assert.equal(counted(), 1);
  for (let second = 0; second < 5; second++) await at.w.tick();
  assert.equal(counted(), 1);
  assert.match(await (await at.w.fetch("/metrics")).text(), METRIC);
});

const METRIC = /mesh_usage_tokens_total\{agent="claude-code",model="opus-5",kind="input"\} 100\n/;

Deno.test("an agent's tokens count for the message that it read last [4.usage.chain]", async () => {
  await using at = await usageWorld();
  const { w } = at;
  at.answers(API, { input: 1 });
  const first = await ask(w, "web", "api");
  await prompt(w, "api", framed(first));
  at.answers(API, { input: 10 });
  const second = await ask(w, "sam", "api");
  await prompt(w, "api", framed(second));
  at.answers(API, { input: 100 });
  await prompt(w, "api", "Now something else");
  at.answers(API, { input: 1000 });
  assert.deepEqual(inputs(await at.report("by=chain")), [
    ...[[null, 1001], [second, 100], [first, 10]],
  ]);
  const { rows } = await at.report("by=chain");
  assert.deepEqual(rows.map(({ name }: Row) => name), [null, "sam → api", "web → api"]);
});

Deno.test("what an ask causes belongs to its chain: asks, their answers, and follow-ups [4.usage.caused]", async () => {
  await using at = await usageWorld();
  const { w } = at;
  const first = await ask(w, "sam", "api");
  await prompt(w, "api", framed(first));
  at.answers(API, { input: 1 });
  const caused = await ask(w, "api", "web");
  await prompt(w, "web", framed(caused));
  at.answers(WEB, { input: 10 });
  await w.post("/ack", { correlation_id: caused, message: "Done", from_peer: "web" });
  await prompt(w, "api", framed(caused));
  at.answers(API, { input: 100 });
  await prompt(w, "web", "Something else");
  const next = await ask(w, "sam", "web", "And?", { reply_to: caused });
  await prompt(w, "web", framed(next));
  at.answers(WEB, { input: 1000 });
  assert.deepEqual(inputs(await at.report("by=chain")), [[first, 1111]]);
});

Deno.test("a message in the output of a prompt hook counts from then on", async () => {
  await using at = await usageWorld();
  const { w } = at;
  const session_id = "33333333-2222-4333-8444-555555555555";
  const hook = (hook_event_name: string, more = {}) =>
    post(w, "/hooks/claude-code", { session_id, cwd: "/work/docs", hook_event_name, ...more });
  await hook("SessionStart", { source: "startup" });
  const name = peerOfSession(w, session_id)?.name ?? "";
  const { delivery_id } = await notify(w, "sam", name);
  await w.clock.advance(1_000);
  const { hookSpecificOutput } = await hook("UserPromptSubmit", { prompt: "Go on" });
  assert.match(hookSpecificOutput?.additionalContext ?? "", new RegExp(delivery_id));
  await w.clock.advance(1_000);
  await prompt(w, "web", framed(await ask(w, name, "web")));
  at.answers(WEB);
  at.answers(session_id);
  await w.clock.advance(1_000);
  await hook("Stop", { last_assistant_message: "Done" });
  assert.deepEqual(inputs(await at.report("by=chain")), [[delivery_id, 200]]);
});

Deno.test("a message's id in a prompt of another peer attributes nothing", async () => {
  await using at = await usageWorld();
  const toWeb = await ask(at.w, "sam", "web");
  await prompt(at.w, "api", framed(toWeb));
  at.answers(API);
  assert.deepEqual(inputs(await at.report("by=chain")), [[null, 100]]);
});

Deno.test("what a job's executor uses counts for the job, and so do the asks that it sends [4.usage.job]", async () => {
  await using at = await usageWorld();
  const { w } = at;
  const title = "Tidy up";
  const { job_id } = await create(w, { title, prompt: "Tidy", assigned_peer: "api" });
  await w.tick();
  const delivery_id = eventData(w, "notification").at(-1)?.["delivery_id"];
  await prompt(w, "api", framed(String(delivery_id)));
  at.answers(API, { input: 1 });
  const caused = await ask(w, "api", "web");
  await prompt(w, "web", framed(caused));
  at.answers(WEB, { input: 10 });
  await w.post("/peers/api/turn", { turn_state: "idle", last_message: "Done" });
  const report = await at.report("by=job");
  assert.deepEqual(inputs(report), [[job_id, 11]]);
  assert.deepEqual(inputs(report, "name"), [["Tidy up", 11]]);
});

Deno.test("an agent sees its own tokens, and the reason why others are left out [4.usage.readers]", async () => {
  await using at = await usageWorld({ human: false });
  at.answers(API);
  at.answers(WEB);
  at.sockets.holders = [41];
  const { rows, total, left_out } = await at.report("by=agent&from_peer=api", {});
  assert.deepEqual([rows.length, total.input_tokens], [1, 100]);
  assert.deepEqual(left_out.map(({ name }: Row) => name), ["web"]);
  assert.match(left_out[0].reason, /person/);
});

Deno.test("nothing is counted while transcripts are off", async () => {
  await using at = await usageWorld({ settings: { transcripts: "off" } });
  at.answers(API);
  const { rows, left_out } = await at.report("by=agent");
  assert.deepEqual([rows, left_out.length], [[], 2]);
  assert.match(left_out[0].reason, /off/);
});

const PRICES = "{currency: EUR, as_of: 2029-12-01, models: {" +
  "'opus-*': {input: 1, output: 2}, " +
  "opus-5: {input: 10, cached_input_read: 1, cached_input_write: 20, output: 50}, " +
  "'mini*': {input: 1, output: 2}}}";

Deno.test("money is by the table of prices; a token without a price is named [4.usage.prices]", async () => {
  await using at = await usageWorld({ settings: { "usage.prices": PRICES } });
  at.answers(API, { input: 100_000, read: 800_000, write: 100_000, output: 20_000 });
  at.answers(WEB, { model: "MINI-3", input: 500_000, read: 500_000, output: 500_000 });
  at.answers(WEB, { model: "unknown", input: 7, output: 3 });
  const { rows, total, prices } = await at.report("by=model");
  assert.deepEqual(prices, { currency: "EUR", as_of: "2029-12-01" });
  const costs = rows.map(({ key, cost, unpriced_tokens }: Row & Record<string, unknown>) => [
    ...[key, cost, unpriced_tokens],
  ]);
  assert.deepEqual(costs, [
    ["MINI-3", 1.5, 500_000],
    ["opus-5", 1 + 0.8 + 2 + 1, 0],
    ["unknown", null, 10],
  ]);
  assert.deepEqual([total.cost, total.unpriced_tokens], [6.3, 500_010]);
  const metrics = await (await at.w.fetch("/metrics")).text();
  assert.match(
    metrics,
    /mesh_usage_cost_total\{agent="claude-code",model="opus-5",currency="EUR"\} 4.8/,
  );
  assert.match(metrics, /model="opus-5",kind="cached_input_read"\} 800000\n/);
});

Deno.test("a kind of tokens that only some agents record is incomplete, never 0 [4.usage.unrecorded]", async () => {
  await using at = await usageWorld();
  const id = "01a21805-df95-7963-af5c-f73d6119bf61";
  at.folder.write(
    `sessions/2030/01/01/rollout-2030-01-01T00-00-00-${id}.jsonl`,
    JSON.stringify({
      timestamp: new Date(at.w.clock.now()).toISOString(),
      type: "token_usage_record",
      payload: {
        response_id: "r",
        usage: { input_tokens: 1, output_tokens: 2, reasoning_output_tokens: 1 },
      },
    }) + "\n",
  );
  await addPeer(at.w, "far", { backend: "codex", runtime_session_id: id });
  reportSessions(at.w);
  at.answers(API);
  const { total } = await at.report("by=day");
  assert.deepEqual([total.reasoning_tokens, total.cached_input_read_tokens], [1, 0]);
  assert.deepEqual(total.incomplete, [
    ...["cached_input_read_tokens", "cached_input_write_tokens", "reasoning_tokens"],
  ]);
});

Deno.test("the database holds no text of a session", async () => {
  await using at = await usageWorld();
  at.answers(API);
  const secret = JSON.stringify({ type: "user", message: { content: "a secret text" } });
  Deno.writeTextFileSync(at.file(API), `${secret}\n`, { append: true });
  await at.report("by=day");
  const { db } = at.w.daemon.ctx;
  for (const table of ["usage_days", "usage_files", "usage_requests", "usage_work"]) {
    const rows = db.all(z.record(z.string(), z.unknown()), `select * from ${table}`);
    assert.equal(JSON.stringify(rows).includes("secret"), false, table);
  }
});

const CHAIN = z.object({ chain: z.string() });

Deno.test("the messages that agents see are noted, and stored within seconds", async () => {
  await using at = await usageWorld();
  const { w } = at;
  const { delivery_id } = await notify(w, "sam", "api");
  await prompt(w, "api", framed(delivery_id));
  const stored = () => w.daemon.ctx.db.all(CHAIN, "select chain from usage_work");
  assert.deepEqual(stored(), []);
  for (let second = 0; second < 12; second++) await w.tick();
  assert.deepEqual(stored().map(({ chain }) => chain), [delivery_id]);
});
