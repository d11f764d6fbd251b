import { storm } from "./run_storm.ts";

/** A few hundred verbs each; `deno task storm` runs longer, and with other seeds. */
const SEEDS = [1, 3, 8, 17, 20, 21, 24, 25];
const STEPS = 400;

for (const seed of SEEDS) {
  Deno.test(`no message is lost, sent twice or reported out of order (seed ${seed}) [c2.delivery.steps] [c2.delivery.order]`, async () => {
    await storm(seed, STEPS);
  });
}
