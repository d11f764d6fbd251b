import assert from "node:assert/strict";
import { digestOf, type SimulationName, SIMULATIONS, storm } from "./run_storm.ts";

/** A short form: `deno task storm` runs thousands of seeds, and longer ones. */
const DAEMON_RUNS = [
  { first: 1, last: 100, steps: 24 },
  { first: 1, last: 3, steps: 400 },
];
const RELAY_SEEDS = 20;
const RELAY_STEPS = 30;
const MACHINES_SEEDS = 15;
const RESTORES_SEEDS = 10;
const MACHINES_STEPS = 30;
const WAKES_SEEDS = 25;
const WAKES_STEPS = 60;
const PROOFS_SEEDS = 20;
const PROOFS_STEPS = 60;

for (const { first, last, steps } of DAEMON_RUNS) {
  Deno.test(`no message is lost, sent twice or reported out of order (seeds ${first} to ${last}, ${steps} steps) [c2.delivery.steps] [c2.delivery.order]`, async () => {
    for (let seed = first; seed <= last; seed++) await storm("daemon", seed, steps);
  });
}

Deno.test("a remote client gets correct answers, and nothing leaves its account [c9.tunnel.lost]", async () => {
  for (let seed = 1; seed <= RELAY_SEEDS; seed++) await storm("relay", seed, RELAY_STEPS);
});

Deno.test("machines lose no message, apply none twice, and report correctly about each other", async () => {
  for (let seed = 1; seed <= MACHINES_SEEDS; seed++) {
    await storm("machines", seed, MACHINES_STEPS);
  }
});

Deno.test("machines with restored databases assign no id twice, and lose and repeat nothing else", async () => {
  for (let seed = 1; seed <= RESTORES_SEEDS; seed++) {
    await storm("restores", seed, MACHINES_STEPS);
  }
});

Deno.test("no session is ever opened twice, whenever the daemon is killed in a wake, and no ask is lost", async () => {
  for (let seed = 1; seed <= WAKES_SEEDS; seed++) await storm("wakes", seed, WAKES_STEPS);
});

Deno.test("no checked answer is lost or reaches its asker without a true outcome, whenever the daemon is killed", async () => {
  for (let seed = 1; seed <= PROOFS_SEEDS; seed++) await storm("proofs", seed, PROOFS_STEPS);
});

for (const of of Object.keys(SIMULATIONS) as SimulationName[]) {
  Deno.test(`the same seed makes the same ${of} twice, in everything that can be seen`, async () => {
    for (let seed = 1; seed <= 2; seed++) {
      assert.equal(await digestOf(of, seed, 40), await digestOf(of, seed, 40), `seed ${seed}`);
    }
  });
}
