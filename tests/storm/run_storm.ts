/** Runs a storm with every verb and every invariant. */

import { INVARIANTS } from "./invariants.ts";
import { Storm } from "./storm.ts";
import { VERBS } from "./verbs.ts";

/** Runs one storm; an error names the seed and the step. */
export async function storm(seed: number, steps: number): Promise<void> {
  await using current = new Storm(seed, { verbs: VERBS, invariants: INVARIANTS });
  for (let step = 1; step <= steps; step++) {
    try {
      await current.step();
    } catch (error) {
      const rerunCommand = `STORM_SEED=${seed} STORM_STEPS=${step} deno task storm`;
      throw new Error(`Seed ${seed} failed at step ${step}; repeat it with: ${rerunCommand}`, {
        cause: error,
      });
    }
  }
}
