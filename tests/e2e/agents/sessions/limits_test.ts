/** Real agents at limits of their accounts: what follows waits, and goes on after the reset. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { listLimits } from "protocol/limits/contract.ts";
import { getMessage } from "protocol/messages/log.ts";
import { codexCli, geminiCli } from "../../../support/e2e/installed_agents.ts";
import { withAgentFixture } from "../../../support/e2e/agent_harness.ts";
import { prepareGemini } from "../../../support/e2e/agent_setups.ts";
import { CodexLab } from "../../../support/e2e/codex_lab.ts";
import { inLongForm, Lab, withLab } from "../../../support/e2e/lab.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { ANSWERS } from "../../../support/e2e/model_rules.ts";
import { until } from "../../../support/waiting.ts";

/** Time from the limit to its reset, in which the agent and the daemon have to notice it. */
const LIMIT_S = 20;

/** Claude Code goes on up to two minutes after the reset. */
const CONTINUES_MS_MAX = 240_000;

/** The answer of the provider at a limit, as Codex 0.169.0 and 0.171.0 read it. */
function usageLimit(resets_s: number): Response {
  const body = { error: { type: "usage_limit_reached", message: "Used up", resets_at: resets_s } };
  return Response.json(body, {
    status: 429,
    headers: {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": String(resets_s),
      "x-codex-secondary-used-percent": "42",
      "x-codex-secondary-window-minutes": "10080",
      "x-codex-secondary-reset-at": String(resets_s + 300_000),
    },
  });
}

/** The headers of an answer about a plan, as Claude Code 2.1.329 reads them. */
function planHeaders(resets_s: number, status: string, used: string): Record<string, string> {
  const name = "anthropic-ratelimit-unified";
  return {
    [`${name}-status`]: status,
    [`${name}-reset`]: String(resets_s),
    [`${name}-representative-claim`]: "five_hour",
    [`${name}-5h-status`]: status,
    [`${name}-5h-reset`]: String(resets_s),
    [`${name}-5h-utilization`]: used,
    [`${name}-7d-status`]: "allowed",
    [`${name}-7d-reset`]: String(resets_s + 300_000),
    [`${name}-7d-utilization`]: "0.42",
    [`${name}-overage-status`]: "rejected",
    [`${name}-overage-disabled-reason`]: "org_level_disabled",
  };
}

/** The answer of the provider to a plan that is used up. */
function planUsedUp(resets_s: number): Response {
  const message = "This request would exceed your account's rate limit.";
  return Response.json({ type: "error", error: { type: "rate_limit_error", message } }, {
    status: 429,
    headers: { ...planHeaders(resets_s, "rejected", "1.0"), "retry-after": String(LIMIT_S) },
  });
}

/** Continues with the ask that a limit cut off, as the daemon's message names it. */
const GOES_ON = {
  match: /The limit of your account is over\. .*(ask-[0-9a-f]+)/,
  steps: [
    { tool: "ack", args: { correlation_id: "$1", message: "Port 8080" } },
    { say: "Answered" },
  ],
};

async function askCodex(lab: CodexLab, text: string): Promise<string> {
  const body = { from_peer: "script", to_peer: "api-codex", text, bypass_circle: true };
  return (await lab.call(openAsk, { body })).correlation_id ?? "";
}

withLab(
  import.meta.url,
  "Codex: a limit ends the turn, the next ask waits, and both are answered after the reset",
  async () => {
    await using lab = await new CodexLab([GOES_ON, ANSWERS], ["api"]).open();
    await lab.startCodex("api");
    const ask = (text: string) => askCodex(lab, text);
    const limit = async () => (await lab.call(listLimits, { query: {} })).limits[0];
    const resets_s = Math.floor(Date.now() / 1000) + LIMIT_S;
    lab.refuse(() => usageLimit(resets_s));
    const cut = await ask("Which port?");
    await until("the limit", async () => (await limit())?.state === "exhausted");
    const { window, resets_at, evidence } = await limit() ?? {};
    assert.equal(window, "five_hour");
    assert.equal(Date.parse(resets_at ?? ""), resets_s * 1000);
    assert.equal(evidence?.source, "session file");
    const waiting = await ask("And which host?");
    const { state, reason } = await lab.call(getMessage, { params: { id: waiting } });
    assert.deepEqual([state, reason], ["queued", "account_limited"]);
    const { waits_for } = await lab.peer("api-codex") ?? {};
    assert.deepEqual([waits_for?.kind, waits_for?.detail], ["limit", "five_hour"]);
    lab.refuse(undefined);
    for (const id of [waiting, cut]) {
      await until(`an answer to ${id}`, async () => {
        return (await lab.call(getAsk, { params: { id } })).reply !== null;
      });
    }
    await until("the end of the limit", async () => (await limit())?.state === "clear");
    assert(Date.now() >= resets_s * 1000);
  },
  codexCli,
);

/** Time after a reset in which nothing may go on; the daemon tries an account sooner. */
const HELD_MS = 12_000;

/** The quiet hours from this minute for some minutes, and their end. */
function quietFromNow(minutes: number): { hours: string; end: number } {
  const now = Date.now(), end = new Date(now + minutes * 60_000).setSeconds(0, 0);
  const [from, to] = [now, end].map((at) => new Date(at).toTimeString().slice(0, 5));
  return { hours: `${from}-${to}`, end };
}

/** A Codex at a limit that is reset, and an ask that waits since, although the provider answers. */
async function codexAfterReset(lab: CodexLab) {
  await lab.startCodex("api");
  const limit = async () => (await lab.call(listLimits, { query: {} })).limits[0];
  const resets_s = Math.floor(Date.now() / 1000) + LIMIT_S;
  lab.refuse(() => usageLimit(resets_s));
  await askCodex(lab, "Which port?");
  await until("the limit", async () => (await limit())?.state === "exhausted");
  const id = await askCodex(lab, "And which host?");
  lab.refuse(undefined);
  await systemClock.sleep(resets_s * 1000 + HELD_MS - Date.now());
  assert.equal((await lab.call(getMessage, { params: { id } })).state, "queued");
  assert.equal((await limit())?.state, "exhausted");
  return { id, limit };
}

inLongForm(withLab)(
  import.meta.url,
  "Codex: what waits for a reset within the quiet hours goes on at their end",
  async () => {
    const { hours, end } = quietFromNow(3);
    await using lab = new CodexLab([GOES_ON, ANSWERS], ["api"]);
    await lab.open({ limits: { quiet_hours: hours } });
    const { id, limit } = await codexAfterReset(lab);
    const { waits_for, resumes_at } = await limit() ?? {};
    assert.deepEqual([waits_for, Date.parse(resumes_at ?? "")], ["quiet_hours", end]);
    await until("the answer", async () => {
      return (await lab.call(getAsk, { params: { id } })).reply !== null;
    }, end - Date.now() + CONTINUES_MS_MAX);
    assert(Date.now() >= end);
    await until("the end of the limit", async () => (await limit())?.state === "clear");
  },
  codexCli,
);

inLongForm(withLab)(
  import.meta.url,
  "Codex: with limits.resume never, nothing goes on after the reset by itself",
  async () => {
    await using lab = new CodexLab([GOES_ON, ANSWERS], ["api"]);
    await lab.open({ limits: { resume: "never" } });
    const { limit } = await codexAfterReset(lab);
    const { waits_for, resumes_at } = await limit() ?? {};
    assert.deepEqual([waits_for, resumes_at], ["approval", null]);
  },
  codexCli,
);

inLongForm(withLab)(
  import.meta.url,
  "Claude Code: one session's limit holds the other, and its own continuation frees both",
  async () => {
    const projects = ["api", "web"];
    const options = { rules: [ANSWERS], bare: true, permissions: ["mcp__mesh"], projects };
    await using lab = new Lab({ ...options, subscription: true });
    await lab.mesh.setUp();
    await lab.mesh.up();
    const { call } = lab.mesh;
    const api = await lab.claude("api");
    await lab.claude("web");
    await until("both peers", async () => {
      const { peers } = await call(listPeers, { query: {} });
      return peers.filter(({ backend, status }) => backend === "claude-code" && status === "online")
        .length === 2;
    });
    await api.sendPrompt("Name a lake");
    await until("a good turn", () => lab.model.asked("Name a lake").length > 0 && api.isIdle);
    const limit = async () =>
      (await call(listLimits, { query: {} })).limits.find(({ backend }) =>
        backend === "claude-code"
      );
    const resets_s = Math.floor(Date.now() / 1000) + LIMIT_S;
    lab.model.refusal = ({ method, url }) =>
      method === "POST" && url.includes("/messages") ? planUsedUp(resets_s) : undefined;
    await api.sendPrompt("Name a river");
    await until("the limit", async () => (await limit())?.state === "exhausted");
    const found = await limit();
    assert.deepEqual([found?.window, found?.peers.length], ["five_hour", 2]);
    assert.equal(Date.parse(found?.resets_at ?? ""), resets_s * 1000);
    const body = { from_peer: "script", to_peer: "web-claude-code", text: "Which port?" };
    const { correlation_id: id } = await call(openAsk, { body: { ...body, bypass_circle: true } });
    assert(id);
    lab.model.refusal = undefined;
    await until("the reset", async () => (await limit())?.waits_for === "agent");
    assert.equal((await call(getMessage, { params: { id } })).state, "queued");
    const isAnswered = async () => (await call(getAsk, { params: { id } })).reply !== null;
    await until("an answer", isAnswered, CONTINUES_MS_MAX);
    assert.equal((await limit())?.state, "clear");
    assert(lab.model.asked("usage limit has reset").length > 0, "Claude Code went on by itself");
  },
);

withLab(
  import.meta.url,
  "Claude Code: the status line that setup adds tells how far the windows of a plan are used",
  async () => {
    await using lab = new Lab({ rules: [ANSWERS], bare: true, subscription: true });
    const resets_s = Math.floor(Date.now() / 1000) + 7_200;
    lab.model.headers = planHeaders(resets_s, "allowed_warning", "0.83");
    await lab.mesh.setUp({ args: ["--status-line"] });
    await lab.mesh.up();
    const api = await lab.claude("api");
    await api.sendPrompt("Name a lake");
    const windows = await until("the windows", async () => {
      const { limits } = await lab.mesh.call(listLimits, { query: {} });
      const found = limits.find(({ backend }) => backend === "claude-code")?.windows ?? [];
      return found.length > 0 && found;
    });
    assert.deepEqual(windows.map(({ window, used_percent }) => [window, used_percent]), [
      ["five_hour", 83],
      ["seven_day", 42],
    ]);
    assert.equal(Date.parse(windows[0]?.resets_at ?? ""), resets_s * 1000);
    assert(Date.now() - Date.parse(windows[0]?.at ?? "") < 60_000);
  },
);

/** The answer of the provider to a daily quota that is used up, as Gemini CLI 0.61.0 reads it. */
function dailyQuota(): Response {
  const quotaId = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";
  const type = "type.googleapis.com/google.rpc";
  const error = {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    message: "You exceeded your current quota, please check your plan and billing details.",
    details: [
      { "@type": `${type}.QuotaFailure`, violations: [{ quotaId }] },
      { "@type": `${type}.RetryInfo`, retryDelay: "3600s" },
    ],
  };
  return Response.json({ error }, { status: 429 });
}

inLongForm(withAgentFixture)(
  import.meta.url,
  "Gemini CLI: a dialog at a daily quota is a limit, and no text is typed into it",
  { agent: geminiCli, prepare: prepareGemini },
  async (fixture) => {
    const { call, agentUnderTest: { model } } = fixture;
    const peer = await fixture.start();
    await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"));
    await until("the end of the turn", () => fixture.screen.includes("DONE 1"));
    model.refusal = ({ method }) => method === "POST" ? dailyQuota() : undefined;
    await fixture.sendPrompt("Name a lake");
    await until("the limit", async () => {
      return (await call(listLimits, { query: {} })).limits[0]?.state === "exhausted";
    });
    const id = await fixture.ask(peer.peer_id, "Which host?");
    await until("the reason", async () => {
      return (await call(getMessage, { params: { id } })).reason === "account_limited";
    });
    assert(fixture.screen.includes("1. Keep trying"), "the dialog is left as it was");
  },
);

/** Time for which a wait is observed: longer than that of a storm. */
const WAIT_MS = 14_000;

/** Programs that take all processors until they are disposed of. */
function busyLoops(count: number): AsyncDisposable {
  const loop = ["-c", "while :; do :; done"];
  const loops = Array.from({ length: count }, () => new Deno.Command("sh", { args: loop }).spawn());
  return {
    async [Symbol.asyncDispose]() {
      for (const loop of loops) loop.kill("SIGKILL");
      await Promise.all(loops.map(({ status }) => status));
    },
  };
}

inLongForm(withAgentFixture)(
  import.meta.url,
  "Gemini CLI on a busy machine: a slow provider is waited for, and a storm of requests interrupted",
  {
    agent: geminiCli,
    // A fixed model is not chosen by another one, whose requests are those of the storm.
    prepare: (lab, bin) => ({ ...prepareGemini(lab, bin), command: ["gemini"] }),
  },
  async (fixture) => {
    const { call, agentUnderTest: { model } } = fixture;
    const peer = await fixture.start();
    await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"));
    await until("the end of the turn", () => fixture.screen.includes("DONE 1"));
    await using _ = busyLoops(3 * navigator.hardwareConcurrency);
    const limit = async () => (await call(listLimits, { query: {} })).limits[0];
    const answers = Promise.withResolvers<void>();
    model.refusal = ({ method }) =>
      method === "POST" ? answers.promise.then(() => dailyQuota()) : undefined;
    await fixture.sendPrompt("Name a lake");
    await fixture.waitForTurn("working");
    await systemClock.sleep(WAIT_MS);
    assert.equal((await limit())?.state, "clear", "an agent that waits is at no limit");
    answers.resolve();
    await until("the storm to be found", async () => (await limit())?.state === "exhausted");
    assert.equal((await limit())?.evidence?.source, "process table");
    await until("the interrupt", () => fixture.screen.includes("Request cancelled"));
  },
);
