/** The marks of agents in the dashboard. */

import assert from "node:assert/strict";
import { AGENTS } from "../../../../daemon/features/agents/registry.ts";
import { AGENT_MARKS } from "../../../../dashboard/components/icons/drawings.ts";

Deno.test("every agent that mesh knows has a mark of its own in the dashboard", () => {
  assert.deepEqual(Object.keys(AGENT_MARKS), AGENTS.map(({ id }) => id).toSorted());
  assert.equal(new Set(Object.values(AGENT_MARKS)).size, AGENTS.length);
});
