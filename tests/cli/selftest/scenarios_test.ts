/** The scenarios of selftest with a twin of an agent: a sound one passes, each vice is found. */

import assert from "node:assert/strict";
import { runScenario } from "../../../cli/selftest/agent_run.ts";
import { SCENARIOS } from "../../../cli/selftest/scenarios.ts";
import { type Defect, FakeAgent } from "../../support/selftest/scripted_agent.ts";

const { signal } = new AbortController();

async function results(defect: Defect | undefined, ...names: readonly string[]) {
  await using agent = new FakeAgent(defect);
  const { driver } = agent;
  await driver.start();
  const found: Record<string, string> = {};
  for (const scenario of SCENARIOS) {
    if (names.length > 0 && !names.includes(scenario.name)) continue;
    if (!(await scenario.applies?.(driver) ?? true)) continue;
    const { result, transport, detail } = await runScenario(scenario, driver, signal);
    found[scenario.name] = `${result} ${transport}: ${detail}`;
  }
  return found;
}

Deno.test("a sound agent passes every scenario that fits it, by its own transport", async () => {
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
const DEFECTS: [defect: Defect, scenario: string, found: RegExp][] = [
  ["hears nothing",         "idle",    /^failed native: Timed out waiting for the message at the model, which is nowhere .*, attempting \(native\), sent$/],
  ["tells of no prompt",    "idle",    /^failed native: Timed out waiting for the proof that it was seen$/],
  ["says all twice",        "idle",    /^failed native: The message came 2 times$/],
  ["drops the draft",       "draft",   /^failed native: The draft is gone$/],
  ["sends the draft",       "draft",   /^failed native: The draft is gone$/],
  ["answers the dialog",    "dialog",  /^failed native: The message has answered the dialog$/],
  ["comes back as another", "resumed", /^failed native: Timed out waiting for the message at the model, which is nowhere .*, queued$/],
];

for (const [defect, scenario, found] of DEFECTS) {
  Deno.test(`an agent that ${defect} is found out`, async () => {
    const outcomes = await results(defect, scenario);
    assert.match(outcomes[scenario] ?? "", found);
  });
}

Deno.test("after a failure the agent is started anew, and the next scenario is tried", async () => {
  const found = await results("answers the dialog", "dialog", "detached");
  assert.match(found["dialog"] ?? "", /^failed/);
  assert.equal(found["detached"], "passed native: null");
});

Deno.test("an interruption is no result", async () => {
  await using agent = new FakeAgent("hears nothing");
  const { driver } = agent;
  await driver.start();
  const [idle] = SCENARIOS;
  assert(idle);
  const interrupted = AbortSignal.abort(new Error("Interrupted"));
  await assert.rejects(() => runScenario(idle, driver, interrupted), /Interrupted/);
});
