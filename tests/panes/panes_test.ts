/** A short storm over a real tmux and a real daemon; `deno task panes` has no end of them. */

import assert from "node:assert/strict";
import { withTmux } from "../support/host/private_tmux.ts";
import { PaneStorm } from "./storm.ts";
import { evaluate, isSound } from "./verification.ts";

const STEPS = 90;
const SEED = 2;

withTmux(
  "whatever ends, panes, programs, tmux or the daemon: no message is read by another, twice, or lost [c3.pane.owner]",
  async () => {
    await using storm = await PaneStorm.start(SEED);
    for (let step = 0; step < STEPS; step++) await storm.step();
    const outcome = await evaluate(storm);
    assert.ok(isSound(outcome), JSON.stringify(outcome));
    assert.ok(outcome.delivered > 0 && outcome.restarts > 0, "A storm in which nothing happens");
  },
);
