/** A short storm on a real tmux and a real daemon; `deno task panes` runs a long one. */

import assert from "node:assert/strict";
import { withTmux } from "../support/host/private_tmux.ts";
import { PaneStorm } from "./storm.ts";
import { evaluate, isSound } from "./verification.ts";

const STEPS = 90;
const SEED = 2;

withTmux(
  "panes, programs, tmux and the daemon end at random: no message is misread, repeated or lost [c3.pane.owner]",
  async () => {
    await using storm = await PaneStorm.start(SEED);
    for (let step = 0; step < STEPS; step++) await storm.step();
    const outcome = await evaluate(storm);
    assert.ok(isSound(outcome), JSON.stringify(outcome));
    assert.ok(outcome.delivered > 0 && outcome.restarts > 0, "Nothing happened in this storm");
  },
);
