/** The cost of messages outside of every budget, in statements of the database. */

import assert from "node:assert/strict";
import { ackAsk } from "protocol/asks/contract.ts";
import { ask, connectPeer, notify } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

/** Statements that read while the work runs and until the world is quiet. */
async function readsOf(w: World, work: () => Promise<unknown>): Promise<number> {
  const { db } = w.daemon.ctx;
  const [all, get, values] = [db.all.bind(db), db.get.bind(db), db.values.bind(db)];
  let reads = 0;
  db.all = (row, sql, params) => (reads++, all(row, sql, params));
  db.get = (row, sql, params) => (reads++, get(row, sql, params));
  db.values = (value, sql, params) => (reads++, values(value, sql, params));
  await work();
  await w.clock.settle();
  Object.assign(db, { all, get, values });
  return reads;
}

/** The statements of an ask, of its answer, and of a notify between peers without a budget. */
async function costs(w: World): Promise<[asked: number, answered: number, notified: number]> {
  // The first messages fill caches.
  for (let round = 0; round < 2; round++) await notify(w, "web", "db");
  await ask(w, "web", "db");
  await w.clock.settle();
  let correlation_id = "";
  const asked = await readsOf(w, async () => correlation_id = await ask(w, "web", "db"));
  const answer = { correlation_id, from_peer: "db", message: "Yes" };
  const answered = await readsOf(w, () => w.call(ackAsk, { body: answer }));
  return [asked, answered, await readsOf(w, () => notify(w, "web", "db"))];
}

/** Look-ups of each: for an answer those of the ask. */
const READS_MAX = [0, 7, 0];
/** Look-ups that budgets may add: for an answer the ask, and to which budget it counts. */
const MORE_MAX = [0, 4, 0];

async function peersWorld(): Promise<World> {
  const w = world({ settings: { "human.name": "sam" } });
  for (const name of ["api", "web", "db"]) await connectPeer(w, name, { circle: "main" });
  await w.clock.settle();
  return w;
}

Deno.test("an ask between agents reads nothing of its chain from the database", async () => {
  await using w = await peersWorld();
  const reads = await costs(w);
  assert.deepEqual(reads.map((count, at) => Math.max(count, READS_MAX[at] ?? 0)), READS_MAX);
});

Deno.test("a message outside of every budget costs a few look-ups by key more while budgets exist [4.budget.cost]", async () => {
  await using plain = await peersWorld();
  const without = await costs(plain);
  await using budgeted = await peersWorld();
  for (let number = 0; number < 50; number++) {
    await ask(budgeted, "sam", "api", "Build it", { budget: "900-turns" });
  }
  await budgeted.clock.settle();
  const more = (await costs(budgeted)).map((count, at) => count - (without[at] ?? 0));
  assert.deepEqual(more.map((count, at) => Math.max(count, MORE_MAX[at] ?? 0)), MORE_MAX);
});
