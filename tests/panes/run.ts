/** A long storm over panes; prints the outcome. */

import { readTaskArgs } from "../runner/task_args.ts";
import { evaluate, isSound } from "./verification.ts";
import { PaneStorm } from "./storm.ts";

const MINUTES = 5;
const STEPS = 120;

const args = readTaskArgs({
  task: "panes",
  summary: "Ends panes, programs, tmux and the daemon at random; prints what was received",
  options: { "--minutes N": `minutes (${MINUTES})`, "--seed N": "the first seed" },
});
const until = performance.now() + args.number("minutes", MINUTES) * 60_000;
let seed = args.number("seed", Date.now() % 1_000_000);
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

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
