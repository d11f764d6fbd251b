/** The bench: every figure beside its baseline and its budget, as a table and as JSON. */

import { checks } from "./token_checks.ts";
import { dashboard } from "./dashboard.ts";
import {
  calm,
  type Effort,
  type Figure,
  fleetFigures,
  hook,
  idle,
  live,
  starts,
} from "./figures.ts";
import { runParts } from "../support/programs/program.ts";
import { relayed } from "./relay_overhead.ts";

const QUICK: Effort = { seconds: 3, count: 500, idle_seconds: 30, sockets: 300, queued: 100_000 };
const FULL: Effort = { seconds: 60, count: 5000, idle_seconds: 60, sockets: 2000, queued: 100_000 };

/** `--only NAME` measures one part. */
const PARTS = [live, calm, fleetFigures, idle, starts, hook, checks, relayed, dashboard];

const at = Deno.args.indexOf("--only");
const only = at < 0 ? undefined : Deno.args[at + 1];
const effort = Deno.args.includes("--quick") ? QUICK : FULL;
// The compiled program is measured, because it is what is shipped; `--sources` measures the sources.
if (!Deno.args.includes("--sources")) await runParts();
const figures: Figure[] = [];
for (const part of PARTS.filter(({ name }) => only === undefined || name === only)) {
  const partFigures = await part(effort);
  for (const figure of partFigures) print(row(figure));
  figures.push(...partFigures);
}
const out = `${import.meta.dirname}/out`;
Deno.mkdirSync(out, { recursive: true });
const path = `${out}/${new Date().toISOString().replaceAll(":", "-")}.json`;
Deno.writeTextFileSync(path, JSON.stringify({ effort, figures }, null, 2));
print(`\n${path}`);

function row(
  { what, value, unit, budget, bare, higher_is_better = false, note = "" }: Figure,
): string {
  const isWithinBudget = higher_is_better ? value >= budget : value <= budget;
  const ratio = !bare ? "" : `${(value / bare).toFixed(2)} × ${short(bare)}`;
  const cells = [
    what.padEnd(34),
    `${short(value)} ${unit}`.padStart(14),
    `${higher_is_better ? "≥" : "≤"} ${short(budget)}`.padStart(10),
    isWithinBudget ? "kept  " : "missed",
    ratio.padEnd(16),
    note,
  ];
  return cells.join("  ").trimEnd();
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
