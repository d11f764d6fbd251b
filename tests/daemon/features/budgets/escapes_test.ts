/** Chains that try to leave their budget, or to begin it anew. */

import assert from "node:assert/strict";
import { ackAsk } from "protocol/asks/contract.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { create, createRecurring } from "../../../support/daemon/jobs.ts";
import { agentInPane } from "../../../support/daemon/restarts.ts";
import { registerSpawned, spawningWorld } from "../../../support/daemon/spawns.ts";
import { framed } from "../../../support/sessions/usage_world.ts";
import { FakeSockets, type World, world } from "../../../support/world.ts";

/** The subjects of the budgets to which a message, a job or a peer counts. */
const budgetsOf = async (w: World, query: Record<string, string>) =>
  (await w.call(listBudgets, { query })).budgets.map(({ subject }) => subject);

const BODY = { to_peer: "web", text: "?" };

/** The peers api, web and db. The ask of `first` has a budget, and api works for it. */
async function chain(budget = "100-turns") {
  const sockets = new FakeSockets();
  const w = world({ settings: { "human.name": "sam", "breakers.loops": "off" }, sockets });
  for (const name of ["api", "web", "db"]) await connectPeer(w, name, { circle: "main" });
  await w.clock.settle();
  const first = await ask(w, "sam", "api", "Build it", { budget });
  await w.clock.settle();
  return Object.assign(w, { first, sockets });
}

Deno.test("an ask with an id of the asker's choice counts to the budget [4.budget.chain]", async () => {
  await using w = await chain();
  for (const correlation_id of ["ask-aaaaaaaaaaaa", "mine"]) {
    const message = await ask(w, "api", "web", "?", { correlation_id });
    assert.deepEqual(await budgetsOf(w, { message }), [w.first], correlation_id);
  }
});

Deno.test("a follow-up of an ask with another budget counts to the budget of its sender", async () => {
  await using w = await chain();
  const outside = await ask(w, "db", "api", "?", { budget: "900-turns" });
  await w.clock.settle();
  await w.call(ackAsk, { body: { correlation_id: outside, from_peer: "api", message: "Yes" } });
  await ask(w, "sam", "api", "Go on", { reply_to: w.first });
  await w.clock.settle();
  const message = await ask(w, "api", "web", "?", { reply_to: outside });
  assert.deepEqual(await budgetsOf(w, { message }), [w.first]);
});

Deno.test("a peer that is asked by the chain, and its own peers, count to the budget", async () => {
  await using w = await chain();
  await ask(w, "api", "web", "?");
  await w.clock.settle();
  const message = await ask(w, "web", "db", "?");
  await w.clock.settle();
  assert.deepEqual(await budgetsOf(w, { message }), [w.first]);
  assert.deepEqual(await budgetsOf(w, { peer: "db" }), [w.first]);
});

Deno.test("the replies that a chain gets do not take it out of its budget", async () => {
  await using w = await chain();
  const correlation_id = await ask(w, "api", "web", "?");
  await w.clock.settle();
  await w.call(ackAsk, { body: { correlation_id, from_peer: "web", message: "Go on" } });
  await w.clock.settle();
  assert.deepEqual(await budgetsOf(w, { peer: "api" }), [w.first]);
});

Deno.test("an answered ask with a budget of its own takes its asker back to the outer budget", async () => {
  await using w = await chain();
  const correlation_id = await ask(w, "api", "web", "?", { budget: "5-turns" });
  await w.clock.settle();
  await w.call(ackAsk, { body: { correlation_id, from_peer: "web", message: "Go on" } });
  await w.clock.settle();
  assert.deepEqual(await budgetsOf(w, { peer: "api" }), [w.first]);
});

Deno.test("jobs, recurring jobs and schedules of a chain count to the budget when they run", async () => {
  await using w = await chain();
  const by = { assigned_peer: "web", created_by: "api" };
  const { job_id } = await create(w, { prompt: "Tidy", ...by });
  assert.deepEqual(await budgetsOf(w, { job: job_id }), [w.first]);
  await createRecurring(w, { prompt: "Remove old branches", ...by, cron: "0 * * * *" });
  const schedule = { from_peer: "api", to_peer: "db", text: "Later", kind: "ask" as const };
  await w.call(createSchedule, { body: { ...schedule, fire_at: "in 2h" } });
  await w.call(ackAsk, { body: { correlation_id: w.first, from_peer: "api", message: "Done" } });
  for (let minute = 0; minute < 125; minute++) await w.tick(60);
  const later = eventData(w, "ask").find(({ to }) => to === "db");
  assert.deepEqual(await budgetsOf(w, { message: String(later?.["correlation_id"]) }), [w.first]);
  assert.deepEqual(await budgetsOf(w, { peer: "web" }), [w.first]);
});

Deno.test("a spent chain starts no job, schedule or agent, by whichever way", async () => {
  await using w = await chain("1-turns");
  const by = { created_by: "api", assigned_peer: "web" };
  const attempts: [path: string, body: object][] = [
    ["/ask", { ...BODY, from_peer: "api", correlation_id: "ask-bbbbbbbbbbbb" }],
    ["/ask", { ...BODY, from_peer: "api", budget: "900-turns" }],
    ["/ask", { ...BODY, from_peer: "api", reply_to: w.first }],
    ["/notify", { ...BODY, from_peer: "api" }],
    ["/asks/many", { from_peer: "api", to_peers: ["web", "db"], text: "?" }],
    ["/jobs", { title: "Tidy", prompt: "Tidy", ...by }],
    ["/jobs", { title: "Tidy", prompt: "Tidy", ...by, budget: "900-turns" }],
    ["/schedules", { ...BODY, from_peer: "api", kind: "ask", fire_at: "in 1h" }],
  ];
  for (const [path, body] of attempts) {
    const { status, error, detail } = await post(w, path, body);
    assert.deepEqual([status, error], [429, "budget_spent"], `${path}: ${detail}`);
  }
  await notify(w, "stranger", "api", "Begin anew");
  await w.clock.settle();
  assert.equal((await post(w, "/ask", { ...BODY, from_peer: "api" })).error, "budget_spent");
});

Deno.test("an agent of the chain sends in no other name, and can still answer", async () => {
  await using w = await chain();
  w.processes.start(41);
  w.processes.start(42, 41);
  await addPeer(w, "agent", { backend: "claude-code", circle: "main", agent_pid: 41 });
  const first = await ask(w, "sam", "agent", "Build it", { budget: "1-turns" });
  await w.post("/peers/agent/turn", { turn_state: "working", prompt: framed(first) });
  w.sockets.holders = [42];
  const other = await post(w, "/ask", { ...BODY, from_peer: "db" });
  assert.deepEqual([other.status, other.error], [403, "not_your_identity"]);
  const unknown = await post(w, "/ask", { ...BODY, from_peer: "fresh" });
  assert.deepEqual([unknown.status, unknown.error], [403, "budget_of_other_name"]);
  const answer = { correlation_id: first, from_peer: "agent", message: "Done" };
  assert.equal((await post(w, "/ack", answer)).status, 200);
});

Deno.test("a program that an agent of the chain registers counts to the budget", async () => {
  await using w = await chain();
  w.processes.start(41);
  w.processes.start(42, 41);
  await addPeer(w, "agent", { backend: "claude-code", circle: "main", agent_pid: 41 });
  const first = await ask(w, "sam", "agent", "Build it", { budget: "100-turns" });
  await w.post("/peers/agent/turn", { turn_state: "working", prompt: framed(first) });
  w.sockets.holders = [42];
  const program = await addPeer(w, "program", { circle: "main" });
  const headers = { "x-mesh-certificate": program.birth_certificate ?? "" };
  const sent = await post(w, "/ask", { ...BODY, from_peer: "program" }, headers);
  assert.deepEqual(await budgetsOf(w, { message: sent.correlation_id }), [first]);
});

Deno.test("a fork of an agent counts to the budget, and a spent budget starts none", async () => {
  await using fixture = await spawningWorld({ settings: { "human.name": "sam" } });
  const { w, folder } = fixture;
  await agentInPane(fixture, { circle: "main" });
  await connectPeer(w, "web", { circle: "main" });
  const first = await ask(w, "sam", "api", "Build it", { budget: "2-turns" });
  await w.post("/peers/api/turn", { turn_state: "working", prompt: framed(first) });
  const fork = (name: string) => post(w, "/peers/api/fork", { from_peer: "api", name });
  const { pane_id } = await fork("copy");
  const copy = await registerSpawned(w, pane_id, { runtime_session_id: "s-2", path: folder });
  await w.clock.settle();
  assert.deepEqual(await budgetsOf(w, { peer: copy.peer_id }), [first]);
  const message = await ask(w, copy.peer_id, "web", "?");
  assert.deepEqual(await budgetsOf(w, { message }), [first]);
  await w.clock.settle();
  const refused = await fork("another");
  assert.deepEqual([refused.status, refused.error], [429, "budget_spent"]);
});
