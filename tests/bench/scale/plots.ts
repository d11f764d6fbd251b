/** Draws the plots of `docs/performance.md` from the figures in `docs/pictures/scale.json`. */

import { fileURLToPath } from "node:url";
import { panels } from "./report/panels.ts";
import { readRun } from "./report/run_file.ts";
import { tablesOf } from "./report/table.ts";

const PICTURES = fileURLToPath(new URL("../../../docs/pictures", import.meta.url));

for (const measured of readRun(`${PICTURES}/scale.json`).parts) {
  const { part, growth } = measured;
  const title = `What operations cost with growing ${growth[0]?.of}`;
  if (growth.length > 0) {
    Deno.writeTextFileSync(`${PICTURES}/scale-${part}.svg`, panels(title, growth));
  }
  print(`\n${part}, measured at ${measured.at}\n\n${tablesOf(measured).join("\n")}`);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
