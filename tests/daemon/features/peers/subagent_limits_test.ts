/** The limits of subagents: how many have a record, and for how long. */

import assert from "node:assert/strict";
import { listPeers } from "protocol/peers/contract.ts";
import { ENDED_MAX, ENDED_MS_MAX, RUNNING_MAX, SILENT_MS_MAX } from "protocol/peers/subagents.ts";
import { worldWithSession } from "../../../support/agents/subagents.ts";
import { eventData, post } from "../../../support/daemon/peer_clients.ts";
import type { World } from "../../../support/world.ts";

async function subagents(w: World): Promise<string[]> {
  const { peers } = await w.call(listPeers, { query: { subagents: "true" } });
  return peers.map(({ name }) => name);
}

Deno.test("the last ended subagents are kept for a day, then their rows are deleted", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  for (let n = 1; n <= ENDED_MAX + 2; n++) {
    await session.subagentStarts(`a-${n}`);
    await w.tick();
    await session.subagentStops(`a-${n}`);
  }
  const { children, children_count } = await session.record();
  assert.equal(children_count, ENDED_MAX);
  assert.match(children.at(-1)?.name ?? "", /explore-3$/);
  assert.match(children[0]?.name ?? "", /explore-22$/);
  assert.equal(eventData(w, "peer_removed").length, 2);
  assert.equal((await subagents(w)).length, ENDED_MAX);
  await w.tick(ENDED_MS_MAX / 1000 + 60);
  assert.equal((await session.record()).children_count, 0);
  assert.deepEqual(await subagents(w), []);
});

Deno.test("pruning offline peers leaves ended subagents, which go by themselves", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await session.subagentStarts("a-1");
  await session.subagentStops("a-1");
  const { closed, kept } = await post(w, "/peers/prune", { dry_run: false });
  assert.deepEqual([closed, kept], [[], []]);
  assert.equal((await session.record()).children_count, 1);
});

Deno.test("a subagent without a sign for hours is not seen, and one that works stays", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await session.subagentStarts("a-1");
  await session.subagentStarts("a-2");
  await w.tick(SILENT_MS_MAX / 1000 - 120);
  await session.subagentStarts("a-2");
  assert.deepEqual((await session.children()).map((text) => text.split(" ")[1]), ["busy", "busy"]);
  await w.tick(240);
  const [second, first] = await session.children();
  assert.match(first ?? "", / offline$/);
  assert.match(second ?? "", / busy$/);
});

Deno.test("a session that starts 1,000 subagents has a bounded number of records", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  for (let n = 1; n <= 1000; n++) await session.subagentStarts(`a-${n}`);
  const { children, children_count } = await session.record();
  assert.deepEqual([children.length, children_count], [20, RUNNING_MAX]);
  await session.subagentStops("a-1000");
  assert.equal((await session.record()).children_count, RUNNING_MAX, "It has no record");
  await session.stop([]);
  assert.equal((await session.record()).children_count, ENDED_MAX);
  assert.equal((await subagents(w)).length, ENDED_MAX);
});
