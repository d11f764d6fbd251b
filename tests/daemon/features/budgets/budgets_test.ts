/** Budgets of chains: what counts to them, the refusal when they are spent, and how they go on. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import { ackAsk, declineAsk } from "protocol/asks/contract.ts";
import { askMany } from "protocol/asks/many.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import { budgetUsers } from "protocol/derived/budgets.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { temporary } from "../../../support/programs/child.ts";
import { FakeSockets, type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  notify,
  peerOfSession,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { create, createRecurring, job } from "../../../support/daemon/jobs.ts";
import { framed } from "../../../support/sessions/usage_world.ts";

const TERMINAL = { "x-mesh-terminal": "77" };

/** The peers api, web and db, which read what they are sent, and a person at a terminal. */
async function agentsWorld(
  settings: Readonly<Record<string, string>> = {},
  { at_terminal = true, db_path }: { at_terminal?: boolean; db_path?: string } = {},
) {
  const sockets = new FakeSockets();
  const w = world({
    hooks: { "claude-code": claudeCodeHooks },
    settings: { "human.name": "sam", ...settings },
    at_terminal,
    sockets,
    ...db_path !== undefined && { db_path },
  });
  for (const name of ["api", "web", "db"]) await connectPeer(w, name, { circle: "main" });
  await w.clock.settle();
  return Object.assign(w, { sockets });
}

const budgets = async (w: World, query: Record<string, string> = {}) =>
  (await w.call(listBudgets, { query })).budgets;

const card = (w: World) => eventData(w, "inbox_item").filter(({ from }) => from === "mesh");

Deno.test("a spent budget refuses new asks of its chain, and replies pass [4.budget.spent]", async () => {
  await using w = await agentsWorld();
  const first = await ask(w, "sam", "api", "Build it", { budget: "2-turns" });
  await w.clock.settle();
  const second = await ask(w, "api", "web", "Which port?");
  await w.clock.settle();
  const [budget] = await budgets(w, { message: second });
  assert.deepEqual([budget?.state, budget?.used.turns, budget?.subject], ["spent", 2, first]);
  const refused = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "And?" });
  assert.deepEqual([refused.status, refused.error], [429, "budget_spent"]);
  assert.match(refused.detail, /2 turns of 2 turns, by api 1 turn, web 1 turn/);
  const told = await post(w, "/notify", { from_peer: "api", to_peer: "db", text: "Go" });
  assert.deepEqual([told.status, told.error], [429, "budget_spent"]);
  await w.call(ackAsk, { body: { correlation_id: second, message: "8080", from_peer: "web" } });
  await w.call(declineAsk, { body: { correlation_id: first, reason: "No", from_peer: "api" } });
  const toHuman = await post(w, "/ask", { from_peer: "api", to_peer: "sam", text: "May I?" });
  assert.equal(toHuman.status, 200);
});

Deno.test("work outside of the chain is not refused", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  await w.clock.settle();
  assert.equal((await post(w, "/ask", { from_peer: "db", to_peer: "web", text: "?" })).status, 200);
  assert.equal(
    (await post(w, "/ask", { from_peer: "sam", to_peer: "web", text: "?" })).status,
    200,
  );
});

Deno.test("a broadcast of a spent chain is refused, and the person's own words pass", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  await w.clock.settle();
  const refused = await post(w, "/broadcast", { from_peer: "api", text: "Who knows?" });
  assert.deepEqual([refused.status, refused.error], [429, "budget_spent"]);
  const reply_to = (await budgets(w))[0]?.subject;
  const stop = { from_peer: "sam", to_peer: "api", text: "Stop, and sum up", reply_to };
  assert.equal((await post(w, "/ask", stop, TERMINAL)).status, 200);
});

Deno.test("going on allows more than was used, however much that is", async () => {
  await using w = await agentsWorld();
  const id = await ask(w, "sam", "api", "Build it", { budget: "5s" });
  await w.post("/peers/api/turn", { turn_state: "working", prompt: framed(id) });
  for (let second = 0; second < 33; second++) await w.tick();
  const correlation_id = (await budgets(w))[0]?.question_id ?? "";
  const answer = { correlation_id, from_peer: "sam", option_id: "go_on" };
  assert.equal((await post(w, "/answer", answer, TERMINAL)).status, 200);
  const [budget] = await budgets(w);
  assert.deepEqual([budget?.state, (budget?.share ?? 1) < 1], ["open", true]);
});

Deno.test("the human gets one card, and allows as much again [4.budget.card]", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  for (let second = 0; second < 5; second++) await w.tick();
  assert.equal(card(w).length, 1);
  const [budget] = await budgets(w);
  const id = budget?.question_id ?? "";
  const { text, question } = await get(w, `/asks/${id}`);
  assert.match(text, /1 turn of 1 turn, by api 1 turn/);
  assert.deepEqual(question.options.map((option: { id: string }) => option.id), [
    ...["go_on", "stop", "stop_now"],
  ]);
  const answer = { correlation_id: id, from_peer: "sam", option_id: "go_on" };
  assert.equal((await post(w, "/answer", answer, TERMINAL)).status, 200);
  const [more] = await budgets(w);
  assert.deepEqual([more?.state, more?.amount, more?.grants], ["open", "2-turns", 2]);
  await ask(w, "api", "web", "Which port?");
  await w.tick();
  await w.tick();
  assert.equal(card(w).length, 2);
});

Deno.test("an agent cannot answer the card, in whoever's name [4.budget.person]", async () => {
  await using w = await agentsWorld({}, { at_terminal: false });
  w.processes.start(41);
  await addPeer(w, "agent", { backend: "claude-code", circle: "main", agent_pid: 41 });
  await ask(w, "web", "api", "Build it", { budget: "1-turns" });
  await w.tick();
  w.sockets.holders = [41];
  const id = (await budgets(w))[0]?.question_id ?? "";
  const body = { correlation_id: id, option_id: "go_on" };
  for (const from_peer of ["agent", "sam", undefined]) {
    for (const path of ["/answer", "/ack"]) {
      const { status } = await post(w, path, { ...body, from_peer });
      assert.equal(status, 403, `${path} ${from_peer}`);
    }
  }
  await post(w, "/decline", { correlation_id: id, reason: "go_on", from_peer: "sam" });
  assert.equal((await budgets(w))[0]?.state, "spent");
});

Deno.test("after a stop, new asks of the chain stay refused", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  await w.tick();
  const id = (await budgets(w))[0]?.question_id ?? "";
  const body = { correlation_id: id, from_peer: "sam", option_id: "stop" };
  assert.equal((await post(w, "/answer", body, TERMINAL)).status, 200);
  const refused = await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "And?" });
  assert.deepEqual([refused.status, refused.error], [429, "budget_spent"]);
  assert.match(refused.detail, /is stopped/);
  assert.deepEqual(await budgets(w, { open: "true" }), []);
});

Deno.test("at two thirds the agent is told once, with its next hook [4.budget.told]", async () => {
  await using w = await agentsWorld();
  const session_id = "33333333-2222-4333-8444-555555555555";
  w.processes.start(41);
  const hook = (event: string, more: object = {}) => {
    const body = { hook_event_name: event, session_id, cwd: "/w/agent", ...more };
    return w.post("/hooks/claude-code", body, { "x-mesh-agent-pid": "41" })
      .then((response) => response.json());
  };
  await hook("SessionStart", { source: "startup" });
  const agent = peerOfSession(w, session_id)?.name ?? "";
  const first = await ask(w, "sam", agent, "Build it", { budget: "3-turns" });
  const context = async (prompt: string) =>
    (await hook("UserPromptSubmit", { prompt })).hookSpecificOutput?.additionalContext ?? "";
  assert.match(await context("Go on"), new RegExp(first));
  await ask(w, agent, "web", "Which port?");
  await w.clock.settle();
  await hook("Stop", { last_assistant_message: "Waiting", stop_hook_active: true });
  const told = await context("Still there?");
  assert.match(told, /^\[mesh\] Budget bud-\S+: 2 turns of 3 turns used\./m);
  await hook("Stop", { last_assistant_message: "Waiting", stop_hook_active: true });
  assert.equal((await context("And now?")).includes("bud-"), false);
});

Deno.test("a chain cannot leave its budget [4.budget.chain]", async () => {
  await using w = await agentsWorld();
  const first = await ask(w, "sam", "api", "Build it", { budget: "100-turns" });
  await w.clock.settle();
  const [{ budget_id = "" } = {}] = await budgets(w);
  const countsTo = async (query: Record<string, string>) =>
    (await budgets(w, query)).map((budget) => budget.budget_id);
  // A prompt of its own does not end what it owes, and neither does a message of no peer.
  await w.post("/peers/api/turn", { turn_state: "working", prompt: "Something else" });
  await notify(w, "stranger", "api", "Something else");
  await w.clock.settle();
  const plain = await ask(w, "api", "web");
  const followed = await ask(w, "api", "web", "?", { reply_to: await ask(w, "db", "web") });
  const { job_id } = await create(w, { prompt: "Tidy", assigned_peer: "db", created_by: "api" });
  const { parent_id, children } = await w.call(askMany, {
    body: { from_peer: "api", to_peers: ["web", "db"], text: "?" },
  });
  assert.equal(children.length, 2);
  for (const message of [plain, followed]) {
    assert.deepEqual(await countsTo({ message }), [budget_id]);
  }
  assert.deepEqual(await countsTo({ job: job_id }), [budget_id]);
  const [child] = children;
  const message = child && "correlation_id" in child ? child.correlation_id : parent_id;
  assert.deepEqual(await countsTo({ message }), [budget_id]);
  await w.clock.settle();
  assert.deepEqual(await countsTo({ message: await ask(w, "web", "db") }), [budget_id]);
  await w.call(ackAsk, { body: { correlation_id: first, from_peer: "api" } });
});

Deno.test("a message that a chain schedules counts to it when it is sent [4.budget.schedule]", async () => {
  await using w = await agentsWorld();
  const first = await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  await w.clock.settle();
  const body = { from_peer: "api", to_peer: "web", text: "Later", kind: "ask" as const };
  const later = await post(w, "/schedules", { ...body, fire_at: "in 1h" });
  assert.deepEqual([later.status, later.error], [429, "budget_spent"]);
  const id = (await budgets(w))[0]?.question_id;
  assert.equal(id, null);
  await w.tick();
  const question_id = (await budgets(w))[0]?.question_id ?? "";
  const answer = { correlation_id: question_id, from_peer: "sam", option_id: "go_on" };
  await w.call(answerAsk, { body: answer, headers: TERMINAL });
  await w.call(createSchedule, { body: { ...body, fire_at: "in 1h" } });
  await w.call(ackAsk, { body: { correlation_id: first, from_peer: "api", message: "Done" } });
  await w.tick(3_601);
  const sent = eventData(w, "ask").at(-1);
  assert.equal(sent?.["to"], "web");
  assert.equal((await budgets(w, { message: String(sent?.["correlation_id"]) })).length, 1);
});

Deno.test("a budget within another only narrows it [4.budget.nested]", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "5-turns" });
  await w.clock.settle();
  const inner = await ask(w, "api", "web", "Find it", { budget: "900-turns,1h" });
  const [narrow, wide] = await budgets(w, { message: inner });
  assert.deepEqual([narrow?.amount, wide?.amount], ["4-turns,1h", "5-turns"]);
  assert.equal(narrow?.parent_id, wide?.budget_id);
  await w.clock.settle();
  assert.deepEqual((await budgets(w)).map(({ used }) => used.turns), [1, 2]);
});

Deno.test("a reply takes its asker back to the work in which it asked [4.budget.reply]", async () => {
  await using w = await agentsWorld();
  const id = await ask(w, "api", "web", "Build it", { budget: "1-turns" });
  await w.clock.settle();
  await w.call(ackAsk, { body: { correlation_id: id, message: "Done", from_peer: "web" } });
  await w.clock.settle();
  const [budget] = await budgets(w);
  assert.deepEqual(budget?.by.map(({ name }) => name), ["web"]);
  assert.equal((await post(w, "/ask", { from_peer: "api", to_peer: "db", text: "?" })).status, 200);
});

Deno.test("an ask to many shares one budget", async () => {
  await using w = await agentsWorld();
  await w.call(askMany, {
    body: { from_peer: "sam", to_peers: ["api", "web"], text: "Ready?", budget: "2-turns" },
  });
  await w.clock.settle();
  const all = await budgets(w);
  assert.deepEqual(all.map(({ used, state }) => [used.turns, state]), [[2, "spent"]]);
});

Deno.test("a job has a budget, and its prompt is refused once that is spent [4.budget.job]", async () => {
  await using w = await agentsWorld();
  const { job_id } = await create(w, {
    prompt: "Tidy",
    assigned_peer: "api",
    created_by: "sam",
    budget: "1-turns",
  });
  await w.tick();
  const [budget] = await budgets(w, { job: job_id });
  assert.deepEqual([budget?.scope, budget?.subject, budget?.state], ["job", job_id, "spent"]);
  const refused = await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "?" });
  assert.equal(refused.error, "budget_spent");
  assert.equal((await job(w, job_id)).execution.budget, "1-turns");
});

Deno.test("each run of a recurring job has a budget of its own", async () => {
  await using w = await agentsWorld();
  const template = await createRecurring(w, {
    prompt: "Tidy",
    assigned_peer: "api",
    created_by: "sam",
    cron: "0 * * * *",
    budget: "2-turns",
  });
  for (let hour = 0; hour < 2; hour++) {
    await w.tick(3_600);
    await w.post("/peers/api/turn", { turn_state: "idle", last_message: "Done" });
    await w.tick();
  }
  const runs = (await budgets(w)).map(({ scope, amount }) => [scope, amount]);
  assert.equal(template.execution.budget, "2-turns");
  assert.deepEqual(runs.slice(0, 1), [["job", "2-turns"]]);
});

Deno.test("a mistake in the configured budgets stops the start, with its place", () => {
  const read = (settings: Readonly<Record<string, string>>) => world({ settings });
  assert.throws(() => read({ "budgets.day": "50k" }), /budgets\.day/);
  assert.throws(() => read({ "budgets.day": "2usd" }), /budgets\.day: found "2usd".*usage\.prices/);
  const off = { transcripts: "off", "budgets.peers": "{api: 5k-tokens}" };
  assert.throws(() => read(off), /budgets\.peers\.api.*transcripts: off/);
  assert.throws(() => read({ "breakers.loops": "maybe" }), /breakers\.loops/);
});

Deno.test("the time of turns is charged while they run", async () => {
  await using w = await agentsWorld();
  const id = await ask(w, "sam", "web", "Build it", { budget: "30s" });
  await w.post("/peers/web/turn", { turn_state: "working", prompt: framed(id) });
  for (let second = 0; second < 20; second++) await w.tick();
  const [half] = await budgets(w);
  assert.equal((half?.used.seconds ?? 0) >= 15, true);
  await w.post("/peers/web/turn", { turn_state: "awaiting_input" });
  for (let second = 0; second < 60; second++) await w.tick();
  assert.equal((await budgets(w))[0]?.state, "open");
  await w.post("/peers/web/turn", { turn_state: "working" });
  for (let second = 0; second < 15; second++) await w.tick();
  assert.equal((await budgets(w))[0]?.state, "spent");
});

Deno.test("the time before a message was read is not charged to its budget", async () => {
  await using w = await agentsWorld();
  await w.post("/peers/web/turn", { turn_state: "working", prompt: "Something else" });
  for (let second = 0; second < 40; second++) await w.tick();
  await ask(w, "sam", "web", "Build it", { budget: "1h" });
  for (let second = 0; second < 20; second++) await w.tick();
  const seconds = (await budgets(w))[0]?.used.seconds ?? 0;
  assert.equal(seconds >= 10 && seconds <= 21, true, String(seconds));
});

Deno.test("a mistake in a budget is refused, with what was meant", async () => {
  await using w = await agentsWorld();
  const sent = { from_peer: "sam", to_peer: "api", text: "?" };
  for (const budget of ["50k", "-1-turns", "NaN-tokens", "1e99-tokens", ""]) {
    const { status, detail } = await post(w, "/ask", { ...sent, budget });
    assert.equal(status, 422, budget);
    if (budget === "50k") assert.match(detail, /did you mean "50k-tokens"/);
  }
  const money = await post(w, "/ask", { ...sent, budget: "2usd" });
  assert.deepEqual([money.status, money.error], [422, "budget_needs_prices"]);
});

Deno.test("the tokens of an agent that records none are unknown, and not zero", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "5k-tokens,5-turns" });
  await w.clock.settle();
  const [budget] = await budgets(w);
  assert.deepEqual(budget?.by.map(({ turns, tokens_known }) => [turns, tokens_known]), [[
    1,
    false,
  ]]);
  const text = budget && budgetUsers(budget);
  assert.equal(text, "api 1 turn and an unknown number of tokens");
});

Deno.test("a budget of tokens is refused while no tokens are counted", async () => {
  await using w = await agentsWorld({ transcripts: "off" });
  const sent = { from_peer: "sam", to_peer: "api", text: "?" };
  assert.equal((await post(w, "/ask", { ...sent, budget: "5k-tokens" })).status, 422);
  assert.equal((await post(w, "/ask", { ...sent, budget: "5-turns" })).status, 200);
});

Deno.test("the metrics count budgets by state, and refused messages", async () => {
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  await w.clock.settle();
  await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "?" });
  const metrics = await (await w.fetch("/metrics")).text();
  assert.match(metrics, /mesh_budgets\{state="spent"\} 1\n/);
  assert.match(metrics, /mesh_limits_reached_total\{limit="budget_spent"\} 1\n/);
});

Deno.test("a budget outlives a restart, and no number falls", async () => {
  const db_path = await Deno.makeTempFile();
  const settings = { "human.name": "sam" };
  {
    await using w = world({ db_path, settings });
    await connectPeer(w, "web");
    await connectPeer(w, "api");
    await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
    await w.clock.settle();
  }
  {
    await using w = world({ db_path, settings });
    const states = (await budgets(w)).map(({ state, used }) => [state, used.turns]);
    assert.deepEqual(states, [["spent", 1]]);
    const refused = await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "?" });
    assert.equal(refused.error, "budget_spent");
  }
  await Deno.remove(db_path);
});

Deno.test("an ask that waits in the queue over a restart counts to its budget once it is read", async () => {
  const db_path = await Deno.makeTempFile();
  const settings = { "human.name": "sam" };
  {
    await using w = world({ db_path, settings });
    const api = await connectPeer(w, "api");
    await api.drop();
    await w.clock.settle();
    await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
  }
  {
    await using w = world({ db_path, settings });
    await connectPeer(w, "web");
    await connectPeer(w, "api");
    await w.clock.settle();
    const refused = await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "?" });
    assert.equal(refused.error, "budget_spent");
  }
  await Deno.remove(db_path);
});

Deno.test("the answer to go on as much again outlives restarts before and after it", async () => {
  using state = temporary();
  const start = () => agentsWorld({}, { db_path: `${state.path}/mesh.db` });
  let question_id = "";
  {
    await using w = await start();
    await ask(w, "sam", "api", "Build it", { budget: "1-turns" });
    await w.tick();
    question_id = (await budgets(w))[0]?.question_id ?? "";
  }
  {
    await using w = await start();
    const body = { correlation_id: question_id, from_peer: "sam", option_id: "go_on" };
    await w.call(answerAsk, { body, headers: TERMINAL });
  }
  {
    await using w = await start();
    const [granted] = await budgets(w);
    assert.deepEqual([granted?.state, granted?.amount, granted?.grants], ["open", "2-turns", 2]);
    await ask(w, "api", "web", "Which port?");
    await w.tick();
    const [spent] = await budgets(w);
    assert.deepEqual([spent?.state, spent?.used.turns], ["spent", 2]);
    assert.notEqual(spent?.question_id, question_id);
    const refused = await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "?" });
    assert.equal(refused.error, "budget_spent");
  }
});

Deno.test("a client that reports its first turn after it has read a message has one turn", async () => {
  await using w = await agentsWorld();
  const web = await connectPeer(w, "client", { circle: "main" });
  await ask(w, "sam", "client", "Build it", { budget: "3-turns" });
  await w.tick(2);
  const turns = async () => (await budgets(w))[0]?.used.turns;
  assert.equal(await turns(), 1);
  await web.send({ type: "status", status: "busy", turn_state: "working" });
  await w.tick(3);
  assert.equal(await turns(), 1);
  await web.send({ type: "status", status: "online", turn_state: "idle" });
  await web.send({ type: "status", status: "busy", turn_state: "working" });
  await w.tick(3);
  assert.equal(await turns(), 2);
});

Deno.test("budgets that could not be removed for the database still count", async () => {
  using faults = new SqliteFaults();
  await using w = await agentsWorld();
  await ask(w, "sam", "api", "Build it", { budget: "900-turns" });
  await w.clock.settle();
  await w.tick();
  await w.clock.advance(36 * DAY_MS);
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
  w.daemon.tick();
  await w.clock.settle();
  assert.equal(faults.hit, true);
  const id = await ask(w, "api", "web", "Which port?");
  assert.equal((await budgets(w, { message: id })).length, 1);
});
