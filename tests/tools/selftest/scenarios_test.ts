/** The self-test's scenarios with a fake agent: a correct one passes, each defect is found. */

import assert from "node:assert/strict";
import { runScenario } from "../../../tools/selftest/agent_run.ts";
import { systemClock } from "kit/core/clock.ts";
import { removeFolder } from "../../../tools/selftest/harness.ts";
import { SCENARIOS } from "../../../tools/selftest/scenarios.ts";
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

Deno.test("a correct agent passes every applicable scenario over its transport", async () => {
  assert.deepEqual(await results(undefined), {
    "idle": "passed native: null",
    "draft": "passed native: draft kept",
    "busy": "passed native: read after the turn",
    "dialog": "passed native: held by the agent; the dialog was not answered",
    "daemon killed": "passed native: null",
    "detached": "passed native: null",
    "resumed": "passed native: held until the agent was back; the same peer",
  });
});

// deno-fmt-ignore
const DEFECTS: [defect: Defect, scenario: string, found: RegExp][] = [
  ["hears nothing",         "idle",    /^failed native: .* the message to reach the model, which is not .*, attempting \(native\), sent$/],
  ["tells of no prompt",    "idle",    /^failed native: .* the message to be marked as seen$/],
  ["says all twice",        "idle",    /^failed native: The message arrived 2 times instead of once$/],
  ["drops the draft",       "draft",   /^failed native: The draft was lost$/],
  ["sends the draft",       "draft",   /^failed native: The draft was lost$/],
  ["answers the dialog",    "dialog",  /^failed native: The message answered the dialog$/],
  ["comes back as another", "resumed", /^failed native: .* the message to reach the model, which is not .*, queued \(recipient_offline\)$/],
];

for (const [defect, scenario, found] of DEFECTS) {
  Deno.test(`an agent that ${defect} is detected`, async () => {
    const outcomes = await results(defect, scenario);
    assert.match(outcomes[scenario] ?? "", found);
  });
}

Deno.test("after a failure the agent is restarted, and the next scenario runs", async () => {
  const found = await results("answers the dialog", "dialog", "detached");
  assert.match(found["dialog"] ?? "", /^failed/);
  assert.equal(found["detached"], "passed native: null");
});

Deno.test("an unexpected error is a result, so that the results of other agents are kept", async () => {
  await using agent = new FakeAgent();
  const [scenario] = SCENARIOS;
  assert(scenario);
  const run = () => Promise.reject(new TypeError("Directory not empty (os error 39)"));
  const { result, detail } = await runScenario({ ...scenario, run }, agent.driver, signal);
  assert.deepEqual([result, detail], [
    "failed",
    "Unexpected error: Directory not empty (os error 39)",
  ]);
});

Deno.test("a folder in which processes still write is removed once they have ended", async () => {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-selftest-" });
  const failures = ["ENOTEMPTY", "ENOENT", "ENOTEMPTY"];
  await removeFolder(dir, systemClock, (path, options) => {
    const code = failures.shift();
    if (code !== undefined) throw Object.assign(new Error("os error"), { code });
    Deno.removeSync(path, options);
  });
  assert.throws(() => Deno.statSync(dir), Deno.errors.NotFound);
  const refuse = () => {
    throw Object.assign(new Error("os error"), { code: "EROFS" });
  };
  await assert.rejects(removeFolder("/", systemClock, refuse), /os error/);
});

Deno.test("an interruption produces no result", async () => {
  await using agent = new FakeAgent("hears nothing");
  const { driver } = agent;
  await driver.start();
  const [idle] = SCENARIOS;
  assert(idle);
  const interrupted = AbortSignal.abort(new Error("Interrupted"));
  await assert.rejects(() => runScenario(idle, driver, interrupted), /Interrupted/);
});
