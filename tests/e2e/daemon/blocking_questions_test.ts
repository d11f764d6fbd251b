/** Permissions that a real daemon is asked for: however the daemon ends, none is left open. */

import assert from "node:assert/strict";
import { RealDaemon } from "../../support/programs/child.ts";

const PERMISSION = {
  prompt: "Run rm?",
  scope: "tool_permission",
  options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
  correlation_id: "toolu_01",
};
const SETTINGS = { MESH_HUMAN__NAME: "sam" };

async function ask(base: string) {
  const body = JSON.stringify(PERMISSION);
  const response = await fetch(`${base}/questions/ask-blocking`, { method: "POST", body });
  return await response.json();
}

/** Resolves with the question's event: the question is on the disk then. */
async function waitForQuestion(base: string): Promise<void> {
  const stream = await fetch(`${base}/events/stream?replay=100`);
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let streamText = ""; !streamText.includes("event: question\n");) {
    const { value, done } = await reader.read();
    assert.equal(done, false);
    streamText += value;
  }
  await reader.cancel();
}

async function outcomeOf(base: string) {
  const { state, close_reason, outcome } = await (await fetch(`${base}/asks/toolu_01`)).json();
  return [state, close_reason, outcome];
}

Deno.test("a daemon that is stopped denies the pending permission, and says so", async () => {
  const state = Deno.makeTempDirSync();
  const first = await RealDaemon.start(state, { settings: SETTINGS });
  const line = ask(first.base);
  await waitForQuestion(first.base);
  await first.stop();
  const { outcome, option_id } = await line;
  assert.deepEqual([outcome, option_id], ["denied", null]);
  {
    await using second = await RealDaemon.start(state, { settings: SETTINGS });
    assert.deepEqual(await outcomeOf(second.base), ["closed", "evicted", "denied"]);
  }
  Deno.removeSync(state, { recursive: true });
});

Deno.test("a permission that was pending in a killed daemon is denied by the next one", async () => {
  const state = Deno.makeTempDirSync();
  const first = await RealDaemon.start(state, { settings: SETTINGS });
  const line = ask(first.base).catch(() => "cut");
  await waitForQuestion(first.base);
  await first.kill();
  assert.equal(await line, "cut");
  {
    await using second = await RealDaemon.start(state, { settings: SETTINGS });
    assert.deepEqual(await outcomeOf(second.base), ["closed", "evicted", "denied"]);
    assert.equal((await ask(second.base)).outcome, "denied");
    const { items } = await (await fetch(`${second.base}/inbox`)).json();
    assert.equal(items.length, 1);
  }
  Deno.removeSync(state, { recursive: true });
});
