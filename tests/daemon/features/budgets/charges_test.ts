/** The charges to budgets: tokens and money from session files, turns, time, days. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import { dateOf } from "kit/core/local_time.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import { type World } from "../../../support/world.ts";
import { ask, connectPeer, eventData, post } from "../../../support/daemon/peer_clients.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { API, framed, prompt, usageWorld, WEB } from "../../../support/sessions/usage_world.ts";

const budgets = async (w: World, query: Record<string, string> = {}) =>
  (await w.call(listBudgets, { query })).budgets;

/** The ask reaches its agent, which begins a turn with it. */
async function read(w: World, peer: string, id: string): Promise<void> {
  await prompt(w, peer, framed(id));
}

async function end(w: World, peer: string): Promise<void> {
  await w.post(`/peers/${peer}/turn`, { turn_state: "idle", last_message: "Done" });
  for (let second = 0; second < 3; second++) await w.tick();
}

Deno.test("the tokens of all agents of a chain are charged to its budget [4.budget.tokens]", async () => {
  await using at = await usageWorld();
  const { w } = at;
  const first = await ask(w, "sam", "api", "Build it", { budget: "300-tokens" });
  await read(w, "api", first);
  at.answers(API);
  const second = await ask(w, "api", "web", "Which port?");
  await read(w, "web", second);
  at.answers(WEB);
  at.answers(WEB, { input: 50, output: 0 });
  await end(w, "web");
  const [budget] = await budgets(w);
  assert.deepEqual(budget?.by.map(({ name, tokens }) => [name, tokens]), [["web", 160], [
    "api",
    110,
  ]]);
  assert.deepEqual([budget?.used.tokens, budget?.share, budget?.state], [270, 0.9, "open"]);
  assert.notEqual(budget?.warned_at, null);
  at.answers(WEB);
  await w.tick();
  assert.equal((await budgets(w))[0]?.state, "spent");
  const refused = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "And?" });
  assert.match(refused.detail, /380 tokens of 300 tokens, by web 270 tokens, api 110 tokens/);
});

Deno.test("a turn that goes on is counted within seconds", async () => {
  await using at = await usageWorld();
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api", "Build it", { budget: "50-tokens" }));
  at.answers(API);
  for (let second = 0; second < 8; second++) await w.tick();
  const refused = await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "And?" });
  assert.equal(refused.error, "budget_spent");
});

Deno.test("time whose charge was not stored is charged at the next tick", async () => {
  using faults = new SqliteFaults();
  await using at = await usageWorld();
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api", "Build it", { budget: "1h" }));
  for (let second = 0; second < 20; second++) {
    faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
    await w.tick();
    faults.disarm();
  }
  await w.tick(6);
  assert.equal(faults.hit, true);
  const [budget] = await budgets(w);
  assert.ok((budget?.used.seconds ?? 0) >= 20, JSON.stringify(budget?.used));
});

Deno.test("what is used never falls: a session's file is cut, replaced or smaller [4.budget.forged]", async () => {
  await using at = await usageWorld();
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api", "Build it", { budget: "5k-tokens" }));
  at.answers(API, { input: 1000 });
  const used = async () => (await budgets(w))[0]?.used.tokens ?? 0;
  assert.equal(await used(), 1010);
  const file = at.file(API);
  const text = Deno.readTextFileSync(file);
  Deno.writeTextFileSync(file, text.slice(0, 20));
  assert.equal(await used(), 1010);
  Deno.writeTextFileSync(file, text.replace("1000", "1"));
  assert.equal(await used(), 1010);
  Deno.writeTextFileSync(file, text.replace("1000", "-5000").replace("msg_1", "msg_9"));
  assert.equal(await used() >= 1010, true);
  Deno.writeTextFileSync(file, text.replace("1000", "1e400").replace("msg_1", "msg_10"));
  assert.equal(await used() >= 1010, true);
  Deno.removeSync(file);
  assert.equal(await used() >= 1010, true);
});

Deno.test("a prompt with an old message does not take tokens out of the budget", async () => {
  await using at = await usageWorld();
  const { w } = at;
  const old = await ask(w, "web", "api", "Before");
  await read(w, "api", old);
  await read(w, "api", await ask(w, "sam", "api", "Build it", { budget: "5k-tokens" }));
  await w.daemon.ctx.db.transact((tx) =>
    tx.run("update messages set seen_at = 1, sent_at = 1, state = 'seen' where text = 'Before'")
  );
  await w.daemon.ctx.db.transact((tx) =>
    tx.run("update budget_members set owed_by = (select peer_id from peers where name = 'api')")
  );
  await read(w, "api", old);
  at.answers(API);
  assert.equal((await budgets(w))[0]?.used.tokens, 110);
});

Deno.test("a fork of a session is not charged again", async () => {
  await using at = await usageWorld();
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api", "Build it", { budget: "5k-tokens" }));
  at.answers(API);
  await budgets(w);
  Deno.copyFileSync(at.file(API), at.file(WEB));
  await read(w, "web", await ask(w, "api", "web", "Go on"));
  assert.equal((await budgets(w))[0]?.used.tokens, 110);
});

const PRICES = "{currency: USD, as_of: 2029-12-01, models: {opus-5: {input: 1000, output: 1000}}}";

Deno.test("money is charged by the configured prices [4.budget.money]", async () => {
  await using at = await usageWorld({ settings: { "usage.prices": PRICES } });
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api", "Build it", { budget: "0.2usd" }));
  at.answers(API);
  at.answers(API, { model: "unknown", input: 7, output: 3 });
  const [budget] = await budgets(w);
  assert.deepEqual([budget?.used.cost, budget?.unpriced_tokens, budget?.state], [0.11, 10, "open"]);
  at.answers(API);
  assert.equal((await budgets(w))[0]?.state, "spent");
  const euro = { from_peer: "sam", to_peer: "web", text: "?", budget: "1eur" };
  assert.equal((await post(w, "/ask", euro)).error, "budget_needs_prices");
});

Deno.test("a day's budget stops all agents, and the next day begins anew [4.budget.day]", async () => {
  await using at = await usageWorld({ settings: { "budgets.day": "200-tokens" } });
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api"));
  at.answers(API);
  await end(w, "api");
  const [day] = await budgets(w);
  const today = dateOf(new Date(w.clock.now()));
  assert.deepEqual([day?.scope, day?.day, day?.used.tokens], ["day", today, 110]);
  await read(w, "web", await ask(w, "api", "web"));
  at.answers(WEB);
  await end(w, "web");
  const again = { from_peer: "web", to_peer: "api", text: "?" };
  assert.equal((await post(w, "/ask", again)).error, "budget_spent");
  assert.equal(eventData(w, "inbox_item").filter(({ from }) => from === "mesh").length, 1);
  await w.clock.advance(DAY_MS);
  assert.equal((await post(w, "/ask", again)).status, 200);
});

Deno.test("a clock that is set back over midnight does not begin a day again [4.budget.midnight]", async () => {
  await using at = await usageWorld({ settings: { "budgets.day": "100-tokens" } });
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api"));
  at.answers(API);
  await end(w, "api");
  const again = { from_peer: "web", to_peer: "api", text: "?" };
  assert.equal((await post(w, "/ask", again)).error, "budget_spent");
  w.clock.step(-DAY_MS);
  assert.equal((await post(w, "/ask", again)).error, "budget_spent");
  w.clock.step(2 * DAY_MS);
  assert.equal((await post(w, "/ask", again)).status, 200);
});

Deno.test("a peer has a budget for each day, by its name [4.budget.peer]", async () => {
  await using at = await usageWorld({ settings: { "budgets.peers": "{'a*': 100-tokens}" } });
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api"));
  at.answers(API);
  await read(w, "web", await ask(w, "sam", "web"));
  at.answers(WEB);
  const [budget, ...others] = await budgets(w);
  assert.deepEqual([budget?.scope, budget?.name, budget?.state, others], [
    "peer",
    "api",
    "spent",
    [],
  ]);
  assert.equal(
    (await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "?" })).status,
    429,
  );
  assert.equal(
    (await post(w, "/ask", { from_peer: "api", to_peer: "web", text: "?" })).status,
    429,
  );
  assert.equal(
    (await post(w, "/ask", { from_peer: "sam", to_peer: "web", text: "?" })).status,
    200,
  );
});

Deno.test("without a budget, no turn and no token is charged", async () => {
  await using at = await usageWorld();
  const { w } = at;
  await read(w, "api", await ask(w, "sam", "api"));
  at.answers(API);
  await end(w, "api");
  await connectPeer(w, "far");
  assert.deepEqual(await budgets(w), []);
  assert.deepEqual(eventData(w, "budget"), []);
});
