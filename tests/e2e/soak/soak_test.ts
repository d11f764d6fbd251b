/** A soak of two minutes; `deno task soak` takes an hour. */

import assert from "node:assert/strict";
import { withTmux } from "../../support/host/private_tmux.ts";
import { soundness, table } from "../../soak/report.ts";
import { Soak } from "../../soak/soak.ts";

const OPTIONS = { minutes: 2, rate: 40, seed: 15 };

async function soakForTwoMinutes(): Promise<void> {
  await using soak = new Soak(OPTIONS);
  const outcome = await soak.run();
  assert.deepEqual(soundness(soak, outcome), [], table(soak, outcome).join("\n"));
}

// Measurements are read from Linux's /proc.
if (Deno.build.os === "linux") {
  withTmux(
    "fifty peers, restarts and real panes: nothing grows, and every message ends",
    soakForTwoMinutes,
  );
}
