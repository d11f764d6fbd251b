/** Many simulations, or one that is repeated and prints everything that can be seen. */

import process from "node:process";
import { readTaskArgs } from "../runner/task_args.ts";
import { run, type SimulationName, SIMULATIONS, stepsUpTo, storm } from "./run_storm.ts";

const MINUTES = 5;
const STEPS = 40;
/** Every so many seeds, one is long: queues and ledgers are full only then. */
const LONG_EVERY = 100;
const LONG_STEPS = 400;

const args = readTaskArgs({
  task: "storm",
  summary: "Runs seeded simulations, and checks every invariant after each step",
  options: {
    "--seeds N": "so many seeds, instead of --minutes",
    "--minutes N": `minutes (${MINUTES})`,
    "--from N": "the first seed",
    "--steps N": `steps of each (${STEPS})`,
    "--seed N": "repeat this seed, and print what can be seen",
    "--only STEPS": "with --seed: only these steps, such as 3,9,12",
    "--of NAME": `one of ${Object.keys(SIMULATIONS).join(", ")} (all)`,
  },
});

const names = namesOf(args.text("of"));
const repeated = args.number("seed");
if (repeated !== undefined) await repeat(repeated);
else await many();

/** Repeats one simulation, with everything that can be seen from outside. */
async function repeat(seed: number): Promise<void> {
  const steps = args.text("only")?.split(",").map(toStep) ??
    stepsUpTo(args.number("steps", STEPS));
  for (const of of names) await run({ of, seed, steps, trace: print });
}

/** Runs one seed after the other until their number is reached or the time is up. */
async function many(): Promise<void> {
  const seeds = args.number("seeds", Infinity);
  const minutes = args.number("minutes", MINUTES);
  const until = seeds === Infinity ? performance.now() + minutes * 60_000 : Infinity;
  const from = args.number("from", Date.now() % 1_000_000);
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
  const usual = seed % LONG_EVERY === 0 ? LONG_STEPS : STEPS;
  const steps = args.number("steps", usual);
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

function toStep(given: string): number {
  if (/^\d+$/.test(given)) return Number(given);
  return fail(`--only must be numbers of steps, such as 3,9,12, and has "${given}"`);
}

function fail(why: string): never {
  print(why);
  process.exit(2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
