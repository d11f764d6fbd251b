/** A long fuzzing session; prints counts. */

import { readTaskArgs } from "../runner/task_args.ts";
import { runSchemathesis } from "./foreign/schemathesis.ts";
import { type Finding, runTarget } from "./target.ts";
import { TARGETS } from "./targets.ts";

const SCHEMATHESIS = "schemathesis";
/** Inputs of a round, as a multiple of the short run's. */
const ROUND_FACTOR = 3;
const ROUND_MS_MAX = 60_000;
/** The part of the time that the foreign fuzzer gets. */
const FOREIGN_PART = 0.3;

const args = readTaskArgs({
  task: "fuzz",
  summary: "Sends hostile input to every parser and route; prints counts",
  options: {
    "--minutes N": "minutes (10)",
    "--seed N": "the first seed",
    "--only NAME": "only the targets whose name has this part",
  },
});
const only = args.text("only") ?? "";

const names = [...TARGETS.map(({ name }) => name), SCHEMATHESIS];
const chosen = TARGETS.filter(({ name }) => name.includes(only));
const runsForeign = SCHEMATHESIS.includes(only);
if (chosen.length === 0 && !runsForeign) {
  print(`--only: found "${only}"; allowed: a part of ${names.join(", ")}`);
  Deno.exit(2);
}
const seed = args.number("seed", Date.now() % 1_000_000);
Deno.exit(await main(args.number("minutes", 10), seed) ? 0 : 1);

async function main(minutes: number, first_seed: number): Promise<boolean> {
  const foreign_minutes = chosen.length === 0 ? minutes : minutes * FOREIGN_PART;
  const own_minutes = runsForeign ? minutes - foreign_minutes : minutes;
  const { counts, findings, rounds } = await runRounds(own_minutes, first_seed);
  for (const [name, count] of [...counts].toSorted(([a], [b]) => a < b ? -1 : 1)) {
    print(`${String(count).padStart(9)}  ${name}`);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  print(
    `${total} inputs in ${rounds} rounds, from seed ${first_seed}: ${findings.length} findings`,
  );
  for (const { target, seed, message } of findings) {
    print(`\nFOUND by ${target}, again with --seed ${seed} --only "${target}":\n${message}`);
  }
  if (!runsForeign) return findings.length === 0;
  const foreign = await runSchemathesis(first_seed, foreign_minutes);
  print(foreign.skipped ? `skipped: ${SCHEMATHESIS}: ${foreign.skipped}` : foreign.report);
  return findings.length === 0 && foreign.sound;
}

/** Runs all targets again and again, each round with the next seed; one that failed stays out. */
async function runRounds(minutes: number, first_seed: number) {
  const counts = new Map<string, number>();
  const count = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const findings: Finding[] = [];
  const until = performance.now() + minutes * 60_000;
  let rounds = 0;
  for (; performance.now() < until && chosen.length > 0; rounds++) {
    for (const target of chosen) {
      if (performance.now() > until && rounds > 0) break;
      if (findings.some((finding) => finding.target === target.name)) continue;
      const options = { seed: first_seed + rounds, inputs: target.inputs * ROUND_FACTOR };
      const found = await runTarget(target, { ...options, ms_max: ROUND_MS_MAX, count });
      if (found) findings.push(found);
    }
  }
  return { counts, findings, rounds };
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
