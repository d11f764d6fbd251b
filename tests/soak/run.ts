/** A long soak: `--minutes N` (60), `--rate N` verbs a second (20), `--seed S`; prints a table. */

import { parseArgs } from "node:util";
import { soundness, table } from "./report.ts";
import { Soak } from "./soak.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    minutes: { type: "string", default: "60" },
    rate: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const options = {
  minutes: Number(values.minutes),
  rate: Number(values.rate),
  seed: Number(values.seed),
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
