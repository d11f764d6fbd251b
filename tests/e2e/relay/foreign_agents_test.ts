/** Agents as apps at the relay, by `deno task apps`: here those that need the least time. */

import assert from "node:assert/strict";
import { AGENT_APPS } from "../../apps/agents.ts";
import { agentApp } from "../../apps/clients.ts";
import { runApp, STEPS } from "../../apps/session.ts";
import { installRelease } from "../../support/e2e/installed_agents.ts";
import { ALL_AGENTS, withLab } from "../../support/e2e/lab.ts";
import { OAuthRelay } from "../../support/e2e/oauth_lab.ts";

const SHORT = "Claude Code";

for (const agent of AGENT_APPS) {
  if (!ALL_AGENTS && agent.title !== SHORT) continue;
  const name =
    `${agent.title} logs in, calls tools, refreshes, is revoked, and reads only [4.oauth.foreign] [c11.oauth.read-only]`;
  withLab(import.meta.url, name, async () => {
    const { packages, install } = agentApp(agent);
    const app = install("", packages);
    assert(!("skipped" in app));
    await using relay = await OAuthRelay.start();
    const outcome = await runApp(relay, app);
    assert.deepEqual([...outcome], STEPS.map((step) => [step, "ok"]));
  }, () => installRelease(agent.release));
}
