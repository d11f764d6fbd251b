/** Tests of the dashboard in a real browser. */

import assert from "node:assert/strict";
import { print } from "../waiting.ts";
import { DashboardLab } from "./dashboard_lab.ts";

/** A test with a lab; it fails if a page did what none may do. */
export function browserTest(
  name: string,
  run: (lab: DashboardLab) => Promise<void>,
  settings: Record<string, string> = {},
): void {
  Deno.test(name, async () => {
    const lab = await DashboardLab.start(settings);
    if (!lab) return print(`skipped: ${name} (no Chromium; install the package chromium)`);
    await using _lab = lab;
    await run(lab);
    assert.deepEqual(lab.offences, []);
  });
}
