/** The scenarios of selftest with a twin of an agent: a sound one passes, each vice is found. */

import assert from "node:assert/strict";
import { tryOut } from "../../../cli/selftest/run.ts";
import { SCENARIOS } from "../../../cli/selftest/scenarios.ts";
import { Twin, type Vice } from "../../support/selftest/scripted_agent.ts";

const { signal } = new AbortController();

async function results(vice: Vice | undefined, ...names: readonly string[]) {
  await using twin = new Twin(vice);
  const { trial } = twin;
  await trial.start();
  const found: Record<string, string> = {};
  for (const scenario of SCENARIOS) {
    if (names.length > 0 && !names.includes(scenario.name)) continue;
    if (!(await scenario.fits?.(trial) ?? true)) continue;
    const { result, rung, detail } = await tryOut(scenario, trial, signal);
    found[scenario.name] = `${result} ${rung}: ${detail}`;
  }
  return found;
}

Deno.test("a sound agent passes every scenario that fits it, by the rung that it has", async () => {
  assert.deepEqual(await results(undefined), {
    "idle": "passed native: null",
    "draft": "passed native: draft kept",
    "busy": "passed native: read after the turn",
    "dialog": "passed native: waited with the agent; the dialog was left alone",
    "daemon killed": "passed native: null",
    "detached": "passed native: null",
    "resumed": "passed native: waited for it; the same peer",
  });
});

// deno-fmt-ignore
const VICES: [vice: Vice, scenario: string, found: RegExp][] = [
  ["hears nothing",         "idle",    /^failed native: Waited in vain for the message at the model, which is nowhere .*, attempting \(native\), sent$/],
  ["tells of no prompt",    "idle",    /^failed native: Waited in vain for the proof that it was seen$/],
  ["says all twice",        "idle",    /^failed native: The message came 2 times$/],
  ["drops the draft",       "draft",   /^failed native: The draft is gone$/],
  ["sends the draft",       "draft",   /^failed native: The draft is gone$/],
  ["answers the dialog",    "dialog",  /^failed native: The message has answered the dialog$/],
  ["comes back as another", "resumed", /^failed native: Waited in vain for the message at the model, which is nowhere .*, queued$/],
];

for (const [vice, scenario, found] of VICES) {
  Deno.test(`an agent that ${vice} is found out`, async () => {
    const said = await results(vice, scenario);
    assert.match(said[scenario] ?? "", found);
  });
}

Deno.test("after a failure the agent is started anew, and the next scenario is tried", async () => {
  const found = await results("answers the dialog", "dialog", "detached");
  assert.match(found["dialog"] ?? "", /^failed/);
  assert.equal(found["detached"], "passed native: null");
});

Deno.test("an interruption is no result", async () => {
  await using twin = new Twin("hears nothing");
  const { trial } = twin;
  await trial.start();
  const [idle] = SCENARIOS;
  assert(idle);
  const interrupted = AbortSignal.abort(new Error("Interrupted"));
  await assert.rejects(() => tryOut(idle, trial, interrupted), /Interrupted/);
});
