/**
 * The scale proof: what each operation costs as the work grows, and what it holds up meanwhile.
 * `--quick` is short, `--only NAME` runs one part (or several, with commas between them), `--out
 * FILE` names the JSON file, and `--sources` runs the daemon from the sources. `plots.ts` draws the
 * file.
 */

import { parseArgs } from "node:util";
import { buildParts, runParts } from "../../support/programs/program.ts";
import { busyProcessors, LOAD_MAX, machineLines, machineNow } from "../report/machine.ts";
import { grants } from "./parts/grants.ts";
import { machines } from "./parts/machines.ts";
import { messages } from "./parts/messages.ts";
import { openAsks } from "./parts/open_asks.ts";
import { peers } from "./parts/peers.ts";
import { relay } from "./parts/relay.ts";
import { retention } from "./parts/retention.ts";
import { schedules } from "./parts/schedules.ts";
import type { Scale, ScalePart } from "./report/growth.ts";
import { type MeasuredScale, writeParts } from "./report/run_file.ts";
import { tablesOf } from "./report/table.ts";

const QUICK: Scale = {
  messages: 20_000,
  open_asks: 4000,
  peers: 200,
  schedules: 400,
  daemons: 100,
  grants: 10_000,
  machines: 20,
  sizes: 3,
  rounds: 3,
  seconds: 3,
};
const FULL: Scale = {
  messages: 1_000_000,
  open_asks: 100_000,
  peers: 10_000,
  schedules: 10_000,
  daemons: 5000,
  grants: 1_000_000,
  machines: 200,
  sizes: 4,
  rounds: 5,
  seconds: 20,
};
const PARTS: Readonly<Record<string, ScalePart>> = {
  messages,
  retention,
  openAsks,
  peers,
  schedules,
  relay,
  grants,
  machines,
};
const OUT = `${import.meta.dirname}/../out/scale.json`;

const { values } = parseArgs({
  args: [...Deno.args],
  options: {
    quick: { type: "boolean", default: false },
    sources: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    out: { type: "string", default: OUT },
  },
});
const machine = machineNow();
machineLines(machine).forEach(print);
await (values.sources ? buildParts() : runParts());
for (const name of chosenParts()) writeParts(values.out, [await run(name)]);
print(`\n${values.out}`);

/** Throws for the name of no part. */
function chosenParts(): string[] {
  const names = values.only.split(",").filter((name) => name !== "");
  const unknown = names.find((name) => !(name in PARTS));
  if (unknown === undefined) return names.length > 0 ? names : Object.keys(PARTS);
  const parts = Object.keys(PARTS).join(", ");
  throw new Error(`--only "${unknown}" names no part; the parts are ${parts}`);
}

async function run(name: string): Promise<MeasuredScale> {
  const part = PARTS[name];
  if (!part) throw new Error(`There is no part "${name}"`);
  const remarks: string[] = [];
  const remark = (text: string) => {
    remarks.push(text);
    print(text);
  };
  print(`\n${name}`);
  const busy = await busyProcessors();
  if (busy > LOAD_MAX) remark(`Not quiet: ${busy.toFixed(1)} processors were busy before this.`);
  const measured = await part(values.quick ? QUICK : FULL, remark);
  const at = new Date().toISOString();
  const result = { part: name, at, machine, busy, remarks, ...measured };
  tablesOf(result).forEach(print);
  return result;
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
