/**
 * The bench: every figure beside its yardstick and its budget, as a table and as JSON. `--quick`
 * is short, `--only NAME` runs one part (or several, with commas between them), `--peers` adds
 * other products, `--sources` runs the daemon from the sources, and `--compare FILE` adds a table
 * of the changes since an earlier run.
 */

import { buildParts, runParts } from "../support/programs/program.ts";
import { budgets, callReports } from "./parts/budgets.ts";
import { commands, hooks, toolCalls } from "./parts/commands.ts";
import { dashboard } from "./parts/dashboard.ts";
import { firstLoad } from "./parts/first_load.ts";
import { idle, idlePeers, idleWithSpawnedPeers } from "./parts/idle.ts";
import { idleInNetwork } from "./parts/joined.ts";
import { machines } from "./parts/machines.ts";
import { broadcast, floods, latency, reply } from "./parts/messages.ts";
import { otherProducts } from "./parts/other_products.ts";
import { requestsThroughRelay } from "./parts/relay.ts";
import { coldStart, restart } from "./parts/starts.ts";
import { identities } from "./parts/identities.ts";
import { tokenChecks } from "./parts/token_checks.ts";
import type { Effort, Part } from "./report/figures.ts";
import {
  busyProcessors,
  LOAD_MAX,
  machineLines,
  machineNow,
  processorTicks,
  stolenPercent,
} from "./report/machine.ts";
import { readOptions } from "./report/options.ts";
import { type MeasuredPart, readFigures, writeRun } from "./report/run_file.ts";
import { comparisonLines, headLine, linesOf } from "./report/table.ts";

const QUICK: Effort = {
  rounds: 5,
  seconds: 2,
  count: 200,
  idle_seconds: 6,
  idle_peers: 300,
  queued: 100_000,
  runs: 1,
};
const FULL: Effort = {
  rounds: 7,
  seconds: 5,
  count: 500,
  idle_seconds: 30,
  idle_peers: 2000,
  queued: 100_000,
  runs: 3,
};
const PARTS: readonly Part[] = [
  latency,
  reply,
  broadcast,
  floods,
  budgets,
  idle,
  idleWithSpawnedPeers,
  idlePeers,
  coldStart,
  restart,
  hooks,
  callReports,
  toolCalls,
  commands,
  tokenChecks,
  identities,
  requestsThroughRelay,
  dashboard,
  firstLoad,
  machines,
  idleInNetwork,
];
const STOLEN_PERCENT_MAX = 1;

const options = readOptions(Deno.args, [...PARTS, otherProducts].map(({ name }) => name));
// A file that cannot be read is refused before the long work.
const before = options.compare === undefined ? [] : readFigures(options.compare);
const effort = options.quick ? QUICK : FULL;
const machine = machineNow();
machineLines(machine).forEach(print);
await (options.sources ? buildParts() : runParts());
print(`\n${headLine()}`);
const parts: MeasuredPart[] = [];
for (const part of chosenParts()) parts.push(await run(part));
if (before.length > 0) {
  const after = parts.flatMap(({ figures }) => figures);
  print(`\n${comparisonLines(before, after).join("\n")}`);
}
print(`\n${writeRun(`${import.meta.dirname}/out`, { machine, effort, parts })}`);

function chosenParts(): readonly Part[] {
  const { only, peers } = options;
  if (only.length > 0) return [...PARTS, otherProducts].filter(({ name }) => only.includes(name));
  return peers ? [...PARTS, otherProducts] : PARTS;
}

async function run(part: Part): Promise<MeasuredPart> {
  const remarks: string[] = [];
  const remark = (text: string) => {
    remarks.push(text);
    print(text);
  };
  print(`\n${part.name}`);
  const load = await busyProcessors();
  if (load > LOAD_MAX) remark(`! Not quiet: ${load.toFixed(1)} processors were busy before this.`);
  const ticks = processorTicks();
  const figures = await part(effort, remark);
  const stolen_percent = stolenPercent(ticks);
  if (stolen_percent >= STOLEN_PERCENT_MAX) {
    remark(`! The host gave ${stolen_percent.toFixed(0)} % of the processor time to others.`);
  }
  figures.flatMap((figure) => linesOf(figure)).forEach(print);
  return { part: part.name, load, stolen_percent, remarks, figures };
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
