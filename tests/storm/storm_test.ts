import assert from "node:assert/strict";
import { digestOf, type SimulationName, SIMULATIONS, storm } from "./run_storm.ts";

/** Many short runs, and some long ones. `deno task storm` runs more, with other seeds. */
const RUNS = [
  { of: "daemon", seeds: 1000, steps: 24 },
  { of: "daemon", seeds: 4, steps: 400 },
  { of: "relay", seeds: 100, steps: 30 },
] as const;
/** Seeds that one test runs. */
const SEEDS_PER_TEST = 250;

const WHAT: Readonly<Record<SimulationName, string>> = {
  daemon: "no message is lost, sent twice or reported out of order",
  relay: "a remote client is told the truth, and nothing leaves its account",
};
const IDS: Readonly<Record<SimulationName, string>> = {
  daemon: "[c2.delivery.steps] [c2.delivery.order]",
  relay: "[c9.tunnel.lost]",
};

for (const { of, seeds, steps } of RUNS) {
  for (let first = 1; first <= seeds; first += SEEDS_PER_TEST) {
    const last = Math.min(seeds, first + SEEDS_PER_TEST - 1);
    Deno.test(`${WHAT[of]} (seeds ${first} to ${last}, ${steps} steps) ${IDS[of]}`, async () => {
      for (let seed = first; seed <= last; seed++) await storm(of, seed, steps);
    });
  }
}

for (const of of Object.keys(SIMULATIONS) as SimulationName[]) {
  Deno.test(`the same seed makes the same ${of} twice, in everything that can be seen`, async () => {
    for (let seed = 1; seed <= 5; seed++) {
      assert.equal(await digestOf(of, seed, 40), await digestOf(of, seed, 40), `seed ${seed}`);
    }
  });
}
