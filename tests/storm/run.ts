/** A long storm: `--minutes N` (5 by default); `STORM_SEED` and `STORM_STEPS` repeat one run. */

import { storm } from "./run_storm.ts";

const MINUTES = 5;
const STEPS = 1500;

const steps = Number(Deno.env.get("STORM_STEPS") ?? STEPS);
const seed = Deno.env.get("STORM_SEED");
const at = Deno.args.indexOf("--minutes");
const minutes = at < 0 ? MINUTES : Number(Deno.args[at + 1]);
const until = performance.now() + minutes * 60_000;

if (seed !== undefined) await storm(Number(seed), steps);
else await many();

/** Runs one seed after the other until the time is up. */
async function many(): Promise<void> {
  const first = Date.now() % 1_000_000;
  let next = first;
  while (performance.now() < until) await storm(next++, steps);
  print(`${next - first} storms of ${steps} steps, from seed ${first}: all invariants held`);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
