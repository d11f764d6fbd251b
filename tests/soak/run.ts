/** A long soak; prints a table. */

import { readTaskArgs } from "../runner/task_args.ts";
import { soundness, table } from "./report.ts";
import { Soak } from "./soak.ts";

const args = readTaskArgs({
  task: "soak",
  summary: "Keeps 50 peers busy; prints a table of what grows",
  options: {
    "--minutes N": "minutes (60)",
    "--rate N": "verbs a second (20)",
    "--seed N": "the seed",
  },
});
const options = {
  minutes: args.number("minutes", 60),
  rate: args.number("rate", 20),
  seed: args.number("seed", Date.now() % 1_000_000),
  /** On standard error, so that standard output has the table alone. */
  onSample: (sample: unknown) => write(Deno.stderr, JSON.stringify(sample)),
};

await using soak = new Soak(options);
const outcome = await soak.run();
print(`seed ${options.seed}, ${options.minutes} minutes, ${options.rate} verbs a second`);
for (const line of table(soak, outcome)) print(line);
const problems = soundness(soak, outcome);
for (const problem of problems) print(`PROBLEM: ${problem}`);
Deno.exitCode = problems.length === 0 ? 0 : 1;

function print(line: string): void {
  write(Deno.stdout, line);
}

function write(stream: typeof Deno.stdout | typeof Deno.stderr, line: string): void {
  stream.writeSync(new TextEncoder().encode(`${line}\n`));
}
