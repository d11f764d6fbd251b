/** A long storm over panes: `--minutes N` (5), `--seed S`; prints the outcome. */

import { evaluate, isSound } from "./verification.ts";
import { PaneStorm } from "./storm.ts";

const MINUTES = 5;
const STEPS = 120;

const until = performance.now() + Number(argument("--minutes") ?? MINUTES) * 60_000;
let seed = Number(argument("--seed") ?? Date.now() % 1_000_000);
let isSoundSoFar = true;
while (isSoundSoFar && performance.now() < until) {
  await using storm = await PaneStorm.start(seed);
  for (let step = 0; step < STEPS; step++) await storm.step();
  const outcome = await evaluate(storm);
  print(`seed ${seed}: ${JSON.stringify(outcome)}`);
  isSoundSoFar = isSound(outcome);
  seed++;
}
Deno.exit(isSoundSoFar ? 0 : 1);

function argument(name: string): string | undefined {
  const at = Deno.args.indexOf(name);
  return at < 0 ? undefined : Deno.args[at + 1];
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
