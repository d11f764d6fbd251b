/** Runs simulations, and shrinks one that fails. */

import { deterministicRuntime } from "../support/deterministic_runtime.ts";
import { isHealed, RELAY_INVARIANTS } from "./relay/invariants.ts";
import { RelayStorm } from "./relay/relay_storm.ts";
import { RELAY_VERBS } from "./relay/verbs.ts";
import { INVARIANTS } from "./daemon/invariants.ts";
import { FINAL_INVARIANTS, MACHINES_INVARIANTS } from "./machines/invariants.ts";
import { MachinesStorm } from "./machines/machines_storm.ts";
import { restoreRules } from "./machines/restores.ts";
import { MACHINES_VERBS } from "./machines/verbs.ts";
import { shrink } from "./shrink.ts";
import { type Simulation, type SimulationOptions, StepError } from "./simulation.ts";
import { Storm } from "./daemon/storm.ts";
import { TraceDigest } from "./trace_digest.ts";
import { OPENING_VERBS, VERBS } from "./daemon/verbs.ts";
import { ProofStorm } from "./proofs/proof_storm.ts";
import { PROOF_VERBS } from "./proofs/verbs.ts";
import { WAKE_VERBS } from "./wakes/verbs.ts";
import { WakeStorm } from "./wakes/wake_storm.ts";

const RELAY_RULES = { verbs: RELAY_VERBS, invariants: RELAY_INVARIANTS, isHealed };
const MACHINES_RULES = {
  verbs: MACHINES_VERBS,
  invariants: MACHINES_INVARIANTS,
  finalInvariants: FINAL_INVARIANTS,
};
const RULES = { opening: OPENING_VERBS, verbs: VERBS, invariants: INVARIANTS };

/**
 * The simulated systems: one daemon with its clients; a relay with daemons and remote clients;
 * machines that talk over a bus; machines whose databases go back to an earlier moment; agents that
 * sleep and are woken; agents whose answers are checked.
 */
export const SIMULATIONS = {
  daemon: (options: SimulationOptions): Simulation => new Storm({ ...options, rules: RULES }),
  relay: (options: SimulationOptions): Simulation =>
    new RelayStorm({ ...options, rules: RELAY_RULES }),
  machines: (options: SimulationOptions): Simulation =>
    new MachinesStorm({ ...options, rules: MACHINES_RULES }),
  restores: (options: SimulationOptions): Simulation =>
    new MachinesStorm({ ...options, rules: restoreRules(), skipping: ["laptop", "desktop"] }),
  wakes: (options: SimulationOptions): Simulation =>
    new WakeStorm({ ...options, verbs: WAKE_VERBS }),
  proofs: (options: SimulationOptions): Simulation =>
    new ProofStorm({ ...options, verbs: PROOF_VERBS }),
} as const;

export type SimulationName = keyof typeof SIMULATIONS;

/** A run: what is simulated, its seed, and the numbers of its steps. */
export interface Plan extends SimulationOptions {
  readonly of: SimulationName;
  readonly steps: readonly number[];
}

/** All steps up to a number. */
export function stepsUpTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** Takes the steps of one run; throws a `StepError` for the first that fails. */
export async function run({ of, steps, ...options }: Plan): Promise<void> {
  using _runtime = deterministicRuntime();
  await using simulation = SIMULATIONS[of](options);
  for (const number of steps) await simulation.step(number);
  await simulation.finish?.();
}

/** Takes all steps; an error names the fewest that fail, and the command that repeats them. */
export async function storm(of: SimulationName, seed: number, steps: number): Promise<void> {
  const failed = await failureOf({ of, seed, steps: stepsUpTo(steps) });
  if (!failed) return;
  const least = await shrink(stepsUpTo(Math.min(failed.number, steps)), async (fewer) => {
    const found = await failureOf({ of, seed, steps: fewer });
    return found?.invariant === failed.invariant;
  });
  const shrunk = await failureOf({ of, seed, steps: least }) ?? failed;
  throw new Error(
    `Seed ${seed} broke at step ${failed.number}: ${failed.invariant}\n` +
      `The fewest steps that break it:\n  ${shrunk.verbNames.join("\n  ")}\n` +
      `Repeat them: deno task storm --of ${of} --seed ${seed} --only ${least.join(",")}`,
    { cause: shrunk.cause },
  );
}

/** The digest of everything that a run shows. */
export async function digestOf(of: SimulationName, seed: number, steps: number): Promise<string> {
  const digest = new TraceDigest();
  await run({ of, seed, steps: stepsUpTo(steps), trace: digest.add });
  return digest.hex();
}

async function failureOf(plan: Plan): Promise<StepError | undefined> {
  try {
    await run(plan);
    return undefined;
  } catch (error) {
    // A failed storm may fail again when it is stopped.
    const first = error instanceof SuppressedError ? error.suppressed : error;
    if (first instanceof StepError) return first;
    throw error;
  }
}
