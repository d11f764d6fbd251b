/** Budgets over two machines: what is known here counts, and the rest is marked as elsewhere. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import { laptopAndBuildbox, pass } from "../../../support/machines/memory_network.ts";

Deno.test("a turn on another machine counts, marked as elsewhere, and its asks count when they come back", async () => {
  await using two = await laptopAndBuildbox();
  const { laptop, buildbox, api } = two;
  const body = { from_peer: "web", to_peer: "api@buildbox", text: "Build it", budget: "2-turns" };
  const { correlation_id } = await laptop.call(openAsk, { body });
  await pass([laptop, buildbox], 3);
  const budgets = async () => (await laptop.call(listBudgets, { query: {} })).budgets;
  const [budget] = await budgets();
  assert.equal(budget?.subject, correlation_id);
  assert.deepEqual(budget?.by.map(({ turns, elsewhere }) => [turns, elsewhere]), [[1, true]]);
  assert.deepEqual((await buildbox.call(listBudgets, { query: {} })).budgets, []);
  const id = String(api.of("ask").at(-1)?.correlation_id);
  const back = { from_peer: "api", to_peer: "web@laptop", text: "Which port?", reply_to: id };
  await buildbox.call(openAsk, { body: back });
  await pass([laptop, buildbox], 3);
  assert.deepEqual((await budgets()).map(({ used }) => used.turns), [2]);
  assert.equal((await budgets())[0]?.state, "spent");
});
