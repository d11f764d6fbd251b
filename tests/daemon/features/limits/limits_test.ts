/** Limits of accounts: reports of agents, holds of queues, the probe after the reset. */

import assert from "node:assert/strict";
import { listLimits } from "protocol/limits/contract.ts";
import { getAsk } from "protocol/asks/contract.ts";
import { LIMITED_UNTIL, limitWorld } from "../../../support/daemon/limits.ts";
import { ask, eventData, get, notify } from "../../../support/daemon/peer_clients.ts";

Deno.test("a limit of an agent holds the queues of all peers of its account until its reset", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit } = at;
  await hitLimit(api);
  const found = await limit();
  assert.equal(found.state, "exhausted");
  assert.equal(found.window, "five_hour");
  assert.deepEqual(found.peers.map(({ name }) => name).sort(), [api.name, web.name].sort());
  assert.equal(found.waits_for, "reset");
  const id = await ask(w, "cli", web.name, "Ready?");
  await w.tick(5);
  const trace = await get(w, `/traces/${id}`);
  assert.equal((await w.call(getAsk, { params: { id } })).delivered_at, null);
  assert.equal((await at.message(id)).reason, "account_limited");
  assert.equal(trace.status, 200);
  const { waits_for } = await get(w, `/peers/${web.peer_id}`);
  assert.equal(waits_for.kind, "limit");
  assert.equal(waits_for.detail, "five_hour");
  assert.deepEqual(eventData(w, "limit_changed").map(({ state }) => state), ["exhausted"]);
});

Deno.test("after the reset one message goes first, and the rest after its turn ended well", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit } = at;
  await hitLimit(api);
  const first = await ask(w, "cli", api.name, "One?");
  const second = await ask(w, "cli", api.name, "Two?");
  const other = await ask(w, "cli", web.name, "Three?");
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick();
  const states = async () => {
    const found = await Promise.all([first, second, other].map((id) => at.message(id)));
    return found.map(({ state }) => state);
  };
  assert.deepEqual(await states(), ["sent", "queued", "queued"]);
  assert.equal((await at.message(second)).reason, "limit_probe");
  assert.equal((await limit()).state, "probing");
  assert.equal((await limit()).waits_for, "probe");
  await at.hook(api, "UserPromptSubmit", { prompt: `[mesh] <peer-message id="${first}">One?` });
  await at.hook(api, "Stop", { stop_hook_active: false, last_assistant_message: "Yes" });
  await w.tick(2);
  assert.deepEqual(await states(), ["seen", "sent", "sent"]);
  assert.equal((await limit()).state, "clear");
});
