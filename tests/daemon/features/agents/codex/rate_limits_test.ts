/** Codex's shared server is asked how far the account is used. */

import assert from "node:assert/strict";
import { adapterOf } from "../../../../support/agents/codex_adapter.ts";
import { type Answers, CodexHome } from "../../../../support/agents/codex_server.ts";

const RESET_S = 1_795_908_672;
/** The answer of Codex 0.171.0 with the login of a plan, to a server in place of the provider. */
const ANSWER = {
  ordinaryUsageAllowed: null,
  rateLimits: {
    limitId: "codex",
    limitName: null,
    primary: { usedPercent: 83, windowDurationMins: 300, resetsAt: RESET_S },
    secondary: { usedPercent: 42, windowDurationMins: 10_080, resetsAt: RESET_S + 300_000 },
    credits: { hasCredits: true, unlimited: false, balance: "12.5" },
    planType: "plus",
    rateLimitReachedType: null,
  },
};

async function windowsOf(answers: Answers) {
  await using home = new CodexHome().listen(answers);
  const windows = await adapterOf(home).askForWindows?.();
  assert.deepEqual(home.asked.map(({ method }) => method), ["account/rateLimits/read"]);
  return windows?.map(({ window, used_percent, resets_at }) => [window, used_percent, resets_at]);
}

Deno.test("the server of a plan's login answers with both windows", async () => {
  assert.deepEqual(await windowsOf({ "account/rateLimits/read": () => ANSWER }), [
    ["five_hour", 83, RESET_S * 1000],
    ["seven_day", 42, (RESET_S + 300_000) * 1000],
  ]);
});

Deno.test("an account with an API key, and an unknown answer, tell of no windows", async () => {
  const refusal = new Error("codex account authentication required to read rate limits");
  assert.equal(await windowsOf({ "account/rateLimits/read": () => refusal }), undefined);
  assert.equal(await windowsOf({ "account/rateLimits/read": () => ({ limits: [] }) }), undefined);
});

Deno.test("without a shared server no program is started, and nothing is known", async () => {
  await using home = new CodexHome();
  assert.equal(await adapterOf(home).askForWindows?.(), undefined);
});
