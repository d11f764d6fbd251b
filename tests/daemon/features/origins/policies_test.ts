/** The rules on chains: acts that they deny, what passes, and how they explain themselves. */

import assert from "node:assert/strict";
import { explainPolicy, readAct } from "protocol/origins/policy.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { listInbox } from "protocol/inbox.ts";
import { setPeer } from "protocol/peers/groups.ts";
import { readConfig } from "../../../../daemon/app/config.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { FakeSockets, type World, world } from "../../../support/world.ts";

/** Agents api and web of a mesh with these rules; api works for a guest, and web for nobody. */
async function rulesWorld(policy: string) {
  const w = world({ settings: { "human.name": "sam", policy } });
  for (const name of ["api", "web", "db"]) await connectPeer(w, name, { circle: "main" });
  const { ctx, directory, origins } = w.daemon;
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  const { peer_id } = directory.findAnywhere("api");
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
  return w;
}

const refusal = async (w: World, path: string, body: object) => {
  const { status, error = null, detail = "" } = await post(w, path, body);
  return { code: [status, error], detail: String(detail) };
};

Deno.test("a guest's chain may not spawn, make jobs or ask the human, and the refusal names rule and root [4.policy.denied]", async () => {
  await using w = await rulesWorld('[{"origin":"guest","deny":["spawn","jobs","ask: human"]}]');
  const denied = [403, "policy_denied"];
  const job = { prompt: "Build", assigned_peer: "web", created_by: "api" };
  const made = await refusal(w, "/jobs", job);
  assert.deepEqual(made.code, denied);
  assert.match(made.detail, /policy\.0 denies jobs .*guest mcp-share-0123456789ab/);
  const spawn = { path: "/work", backend: "codex", from_peer: "api" };
  assert.deepEqual((await refusal(w, "/spawn", spawn)).code, denied);
  const toHuman = { from_peer: "api", to_peer: "sam", text: "May I?" };
  assert.deepEqual((await refusal(w, "/ask", toHuman)).code, denied);
  assert.deepEqual((await refusal(w, "/ask", { ...toHuman, to_peer: "web" })).code, [200, null]);
  assert.deepEqual((await refusal(w, "/notify", toHuman)).code, [200, null]);
  assert.deepEqual((await refusal(w, "/jobs", { ...job, created_by: "db" })).code, [200, null]);
  const events = eventData(w, "policy_denied").map(({ rule, verb, from }) => [rule, verb, from]);
  assert.deepEqual(events, [
    ["policy.0", "jobs", "api"],
    ["policy.0", "spawn", "api"],
    ["policy.0", "ask", "api"],
  ]);
});

Deno.test("a rule counts for agents that the chain reaches, and replies always pass", async () => {
  await using w = await rulesWorld('[{"origin":"guest","deny":["ask","notify","broadcast"]}]');
  const { ctx, directory, origins } = w.daemon;
  const body = { from_peer: "api", to_peer: "web", text: "Which port?" };
  assert.deepEqual((await refusal(w, "/ask", body)).code, [403, "policy_denied"]);
  assert.deepEqual((await refusal(w, "/broadcast", { from_peer: "api", text: "Hi" })).code, [
    403,
    "policy_denied",
  ]);
  const id = await ask(w, "db", "api", "Which port?");
  await w.clock.settle();
  const answer = { correlation_id: id, message: "8080", from_peer: "api" };
  assert.deepEqual((await refusal(w, "/ack", answer)).code, [200, null]);
  const { peer_id } = directory.findAnywhere("web");
  const spawned = directory.findAnywhere("api").peer_id;
  ctx.db.transact((tx) => origins.inherit(tx, peer_id, spawned));
  const next = { ...body, from_peer: "web", to_peer: "db" };
  assert.deepEqual((await refusal(w, "/ask", next)).code, [403, "policy_denied"]);
});

Deno.test("rules name tags and peers, and another machine's guest is a guest", async () => {
  await using w = await rulesWorld('[{"origin":"guest","deny":["ask: @tests","ask: db"]}]');
  const { policies } = w.daemon;
  const chain = { name: null, root: "ask-1", surface: null, machine: "far" } as const;
  const from = { peer_id: null, name: "x" }, to = { peer_id: "peer-1", name: "db", role: "agent" };
  const check = (origin: "machine" | "person", reported: "guest" | null) => () =>
    policies.mustAllow({ ...chain, origin, reported }, { verb: "ask", from, to });
  assert.throws(check("machine", "guest"), /policy\.0/);
  check("machine", null)();
  check("person", "guest")();
  const tagged = await w.call(setPeer, {
    params: { id: "web" },
    query: {},
    body: { tags: ["tests"] },
  });
  await w.clock.settle();
  assert.deepEqual(tagged.tags, ["tests"]);
  const body = { from_peer: "api", to_peer: "web", text: "?" };
  assert.deepEqual((await refusal(w, "/ask", body)).code, [403, "policy_denied"]);
});

Deno.test("the rules are listed, and tell what they would do with an act", async () => {
  await using w = await rulesWorld('[{"origin":"guest","deny":["spawn","ask: human"]}]');
  const test = async (origin: "guest" | "app", act: string) =>
    (await w.call(explainPolicy, { query: { origin, act } })).verdict;
  assert.deepEqual(await test("guest", "spawn"), { allowed: false, rule: "policy.0" });
  assert.deepEqual(await test("app", "spawn"), { allowed: true, rule: null });
  assert.deepEqual(await test("guest", "ask: human"), { allowed: false, rule: "policy.0" });
  assert.deepEqual(await test("guest", "ask: api"), { allowed: true, rule: null });
  const { rules } = await w.call(explainPolicy, { query: {} });
  assert.deepEqual(rules, [{ rule: "policy.0", origin: "guest", deny: ["spawn", "ask: human"] }]);
  const wrong = await (await w.fetch("/policy?origin=guest&act=spwan")).json();
  assert.deepEqual([wrong.error, /did you mean spawn/.test(wrong.hint)], ["unknown_act", true]);
});

Deno.test("a rule of the configuration may be written as YAML, and mistakes name what was meant", () => {
  const read = (yaml: string) => readConfig({ HOME: "/home/sam" }, () => yaml).policy;
  assert.deepEqual(read("policy:\n- origin: guest\n  deny: [spawn, ask: human]\n"), [
    { origin: "guest", deny: ["spawn", "ask: human"] },
  ]);
  assert.deepEqual(read(""), []);
  assert.throws(() => read("policy: [{origin: guest, deny: [spwan]}]"), /Did you mean spawn\?/);
  assert.throws(() => read("policy: [{origin: gest, deny: [spawn]}]"), /Did you mean guest\?/);
  assert.throws(() => read("policy: [{orgin: guest, deny: [spawn]}]"), /Did you mean origin\?/);
  assert.throws(() => read("policy: [{origin: person, deny: [spawn]}]"), /policy/);
  assert.throws(() => read("policy: [{origin: guest, deny: ['spawn: api']}]"), /no recipient/);
  assert.deepEqual(readAct("ask: @tests"), { verb: "ask", recipient: "@tests" });
});

Deno.test("a permission that a guest's chain asks for shows its origin to the person", async () => {
  await using w = world({
    hooks: { "claude-code": claudeCodeHooks },
    settings: {
      "human.name": "sam",
      "approvals.gated_tools": "*",
      policy: '[{"origin":"guest","deny":["ask"]}]',
    },
  });
  await addPeer(w, "api", { backend: "claude-code", runtime_session_id: "s-1", path: "/work" });
  const { ctx, directory, origins } = w.daemon;
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  const { peer_id } = directory.findAnywhere("api");
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
  const asked = w.post("/hooks/claude-code", {
    session_id: "s-1",
    cwd: "/work",
    hook_event_name: "PermissionRequest",
    tool_name: "Bash",
    tool_input: { command: "make" },
  });
  await w.clock.settle();
  const [item] = (await w.call(listInbox, { query: {} })).items;
  assert.match(item?.text ?? "", /It works for: guest mcp-share-0123456789ab/);
  assert.equal(item?.question?.act?.covers_text, false);
  const reply = { surface: "cli", text: "", option_id: "deny" };
  await w.post(`/inbox/${item?.item_id}/reply`, reply);
  await w.clock.advance(400_000);
  await asked;
});

Deno.test("a program in the shell of an agent that works for a guest cannot act in no agent's name", async () => {
  const sockets = new FakeSockets();
  const policy = '[{"origin":"guest","deny":["spawn","jobs","ask: human"]}]';
  await using w = world({ settings: { "human.name": "sam", policy }, sockets });
  w.processes.start(41);
  const { peer_id } = await addPeer(w, "api", { circle: "main", agent_pid: 41 });
  await connectPeer(w, "web", { circle: "main" });
  const { ctx, origins } = w.daemon;
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
  sockets.holders = [41];
  const denied = [403, "policy_denied"];
  assert.deepEqual((await refusal(w, "/spawn", { path: "/work", backend: "codex" })).code, denied);
  const job = { prompt: "Build", assigned_peer: "web" };
  assert.deepEqual((await refusal(w, "/jobs", job)).code, denied);
  const body = { from_peer: "a-script", to_peer: "sam", text: "May I?" };
  assert.deepEqual((await refusal(w, "/ask", body)).code, denied);
  sockets.holders = [];
  assert.deepEqual((await refusal(w, "/ask", body)).code, [200, null]);
});
