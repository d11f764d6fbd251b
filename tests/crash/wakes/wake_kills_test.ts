/** Kills a real daemon in each phase of a wake: the agent runs once, and answers once. */

import assert from "node:assert/strict";
import { hasTmux } from "../../../cli/client/isolated_env.ts";
import { killInPhases, PHASES } from "./wake_kills.ts";

/** One in each phase. */
const KILLS = 5;

Deno.test("kill -9 in each stored phase of a wake: one instance, nothing lost, one answer", {
  ignore: !hasTmux(Deno.env.toObject()),
}, async () => {
  const { hits, faults } = await killInPhases({ kills: KILLS, seed: 1 });
  assert.deepEqual(Object.entries(faults).filter(([, count]) => count > 0), []);
  assert.deepEqual(PHASES.filter((phase) => !hits[phase]), [], "phases that no kill has met");
});
