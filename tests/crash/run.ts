/** A long crash test: `--kills N` (100), `--seed S`; prints the outcome. */

import type { Outcome } from "./verification.ts";
import { storm } from "./kill_storm.ts";

const START_MS_MAX = 2000;

const kills = Number(argument("--kills") ?? 100);
const seed = Number(argument("--seed") ?? Date.now() % 1_000_000);
const outcome = await storm(kills, seed);
print(`seed ${seed}`);
for (const [what, value] of Object.entries(outcome)) {
  print(`${what.padEnd(20)}${typeof value === "number" ? Math.round(value) : value}`);
}
Deno.exit(isSound(outcome) ? 0 : 1);

function isSound(outcome: Outcome): boolean {
  const { lost, undelivered, applied_twice, sent_twice, out_of_order } = outcome;
  const { unlisted, unaccounted, integrity, slowest_start_ms } = outcome;
  const failures = lost + undelivered + applied_twice + sent_twice + out_of_order + unlisted;
  return failures + unaccounted === 0 && integrity === "ok" && slowest_start_ms <= START_MS_MAX;
}

function argument(name: string): string | undefined {
  const at = Deno.args.indexOf(name);
  return at < 0 ? undefined : Deno.args[at + 1];
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
