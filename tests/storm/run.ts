/**
 * Many simulations: `--seeds N` or `--minutes N` (5), `--from SEED`, `--steps N`,
 * `--of daemon|relay|machines|restores` (all).
 * `--seed S`, with `--steps N` or `--only 3,9,12`, repeats one and prints what can be seen.
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { run, type SimulationName, SIMULATIONS, stepsUpTo, storm } from "./run_storm.ts";

const MINUTES = 5;
const STEPS = 40;
/** Every so many seeds, one is long: queues and ledgers are full only then. */
const LONG_EVERY = 100;
const LONG_STEPS = 400;

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    minutes: { type: "string" },
    from: { type: "string" },
    steps: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
    of: { type: "string" },
  },
});

const names = namesOf(values.of);
if (values.seed !== undefined) await repeat(numberOf("seed", values.seed));
else await many();

/** Repeats one simulation, with everything that can be seen from outside. */
async function repeat(seed: number): Promise<void> {
  const last = numberOf("steps", values.steps ?? String(STEPS));
  const steps = values.only?.split(",").map((step) => numberOf("only", step)) ?? stepsUpTo(last);
  for (const of of names) await run({ of, seed, steps, trace: print });
}

/** Runs one seed after the other until their number is reached or the time is up. */
async function many(): Promise<void> {
  const seeds = values.seeds === undefined ? Infinity : numberOf("seeds", values.seeds);
  const minutes = numberOf("minutes", values.minutes ?? String(MINUTES));
  const until = seeds === Infinity ? performance.now() + minutes * 60_000 : Infinity;
  const from = values.from === undefined ? Date.now() % 1_000_000 : numberOf("from", values.from);
  const began = process.cpuUsage();
  let failed = 0;
  let seed = from;
  for (; seed < from + seeds && performance.now() < until; seed++) {
    for (const of of names) if (!await passes(of, seed)) failed++;
  }
  const { user, system } = process.cpuUsage(began);
  const seconds = Math.round((user + system) / 1_000_000);
  print(
    `${seed - from} seeds from ${from}, ${names.join(" and ")}: ${failed} failed (${seconds} s)`,
  );
  if (failed > 0) process.exitCode = 1;
}

async function passes(of: SimulationName, seed: number): Promise<boolean> {
  const isLong = values.steps === undefined && seed % LONG_EVERY === 0;
  const steps = isLong ? LONG_STEPS : numberOf("steps", values.steps ?? String(STEPS));
  try {
    await storm(of, seed, steps);
    return true;
  } catch (error) {
    print(
      error instanceof Error ? `${error.message}\n${error.cause ?? error.stack}` : String(error),
    );
    return false;
  }
}

function namesOf(given: string | undefined): SimulationName[] {
  const all = Object.keys(SIMULATIONS) as SimulationName[];
  const found = all.filter((name) => given === undefined || name === given);
  if (found.length === 0) fail(`--of must be ${all.join(" or ")}, and is "${given}"`);
  return found;
}

function numberOf(option: string, given: string): number {
  const number = Number(given);
  if (given === "" || !Number.isFinite(number)) {
    fail(`--${option} must be a number, and is "${given}"`);
  }
  return number;
}

function fail(why: string): never {
  print(why);
  process.exit(2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
