/** `mesh budgets`, and the budgets that other commands give and show. */

import assert from "node:assert/strict";
import { answeringDaemon } from "../../../support/cli/answering_daemon.ts";

const USED = { tokens: 34_000, turns: 3, seconds: 90, cost: 0 };
const BUDGET = {
  budget_id: "bud-0123456789ab",
  scope: "ask",
  subject: "ask-3f9c04d1a2b7",
  name: null,
  day: null,
  parent_id: null,
  from_peer_id: null,
  from: "sam",
  state: "open",
  amount: "50k-tokens,5m",
  grants: 1,
  used: USED,
  share: 0.68,
  currency: null,
  by: [
    { peer_id: "peer-1", name: "api", ...USED, elsewhere: false, tokens_known: true },
    {
      peer_id: "peer-2",
      name: "web",
      ...USED,
      tokens: 0,
      seconds: 0,
      elsewhere: true,
      tokens_known: false,
    },
  ],
  unpriced_tokens: 0,
  created_at: "2026-11-28T12:00:00.000Z",
  warned_at: "2026-11-28T12:10:00.000Z",
  spent_at: null,
  question_id: null,
};

Deno.test("budgets shows what was used, and by whom [4.budget.cli]", async () => {
  const asked: string[] = [];
  await using p = answeringDaemon({
    "GET /budgets": ({ route }) => {
      asked.push(route);
      return { budgets: [BUDGET] };
    },
  });
  const { out } = await p.mesh(["budgets", "api"]);
  assert.match(
    out,
    /bud-0123456789ab +ask-3f9c04d1a2b7 +open +34k tokens of 50k tokens, 1m30s of 5m/,
  );
  assert.match(
    out,
    /api 34k tokens and 1m30s, web \(on another machine: only its turns are known\)/,
  );
  await p.mesh(["budgets", "--all"]);
  assert.deepEqual(asked.map((route) => route.slice("GET ".length)), [
    ...["/budgets?peer=api&open=true", "/budgets"],
  ]);
});

Deno.test("usage lists the budgets below the sessions", async () => {
  await using p = answeringDaemon({
    "GET /usage": () => ({ usage: [] }),
    "GET /budgets": () => ({ budgets: [BUDGET] }),
  });
  assert.match((await p.mesh(["usage"])).out, /bud-0123456789ab/);
});

Deno.test("ask passes a budget on", async () => {
  const bodies: unknown[] = [];
  await using p = answeringDaemon({
    "POST /ask": ({ body }) => {
      bodies.push(body);
      return {
        correlation_id: "ask-3f9c04d1a2b7",
        trace_id: "ask-3f9c04d1a2b7",
        to_peer_id: "peer-1",
        to_peer_name: "api",
        delivery_state: "queued",
      };
    },
  });
  await p.mesh(["ask", "api", "Build it", "--budget", "50k-tokens"]);
  assert.equal((bodies[0] as { budget?: string }).budget, "50k-tokens");
});
