/** The cost of budgets to messages that count to none, and of reports of tool calls to hooks. */

import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { world } from "../../support/world.ts";
import { LoadGenerator } from "../load/generator.ts";
import type { FloodRate, Latencies } from "../load/job.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";

const BUDGETS = 50;
const PEERS = 20;
const IN_FLIGHT = 64;
/** Characters of a tool call's result, such as a file that was read. */
const RESULT_CHARS = 30_000;

/** Asks outside of every budget, at a daemon with budgets beside a daemon without any. */
export async function budgets({ rounds, count, seconds }: Effort): Promise<Figure[]> {
  await using started = new AsyncDisposableStack();
  const start = async () => {
    const { path } = started.use(temporary());
    const { port, pid, base } = started.use(await RealDaemon.start(path));
    return { port, pid, bare: false, base };
  };
  const [budgeted, plain] = [await start(), await start()];
  await giveBudgets(budgeted.base);
  const load = started.use(await LoadGenerator.start());
  const latency = (server: typeof plain) => () =>
    load.run<Latencies>({ ...server, kind: "latency", peers: PEERS, count, path: "/ask" });
  const job = { kind: "flood", peers: PEERS, in_flight: IN_FLIGHT, seconds, path: "/ask" };
  const flood = (server: typeof plain) => () => load.run<FloodRate>({ ...server, ...job });
  const all = await interleave(rounds, {
    budgeted: latency(budgeted),
    plain: latency(plain),
    budgetedFlood: flood(budgeted),
    plainFlood: flood(plain),
  });
  const max = { of: "ratio", max: 1.1 } as const;
  const beside = (samples: readonly number[]) => ({ name: "without", samples });
  return [
    {
      what: "ask → frame while a budget exists, p50",
      unit: "ms",
      ours: all.budgeted.map(({ p50 }) => p50),
      yardstick: beside(all.plain.map(({ p50 }) => p50)),
      budget: max,
    },
    {
      what: "ask in a flood while a budget exists: processor time",
      unit: "µs",
      ours: all.budgetedFlood.map(({ cpu_us }) => cpu_us),
      yardstick: beside(all.plainFlood.map(({ cpu_us }) => cpu_us)),
      budget: max,
    },
  ];
}

async function giveBudgets(base: string): Promise<void> {
  const send = async (path: string, body: unknown) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(base + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    await response.body?.cancel();
  };
  await send("/peers", { name: "budgeted", path: "/work", backend: "sdk" });
  const ask = { from_peer: "bench", to_peer: "budgeted", text: "?", budget: "900-turns" };
  for (let number = 0; number < BUDGETS; number++) await send("/ask", ask);
}

/** Time that a hook of a tool call takes longer because loops are searched for in its report. */
export async function callReports({ rounds, count }: Effort): Promise<Figure[]> {
  await using searching = await reportingAgent({});
  await using off = await reportingAgent({ "breakers.loops": "off" });
  const timed = (agent: typeof off) => async () => {
    const from = performance.now();
    for (let number = 0; number < count; number++) await agent.reportCall(number);
    return (performance.now() - from) / count;
  };
  const all = await interleave(rounds, { searching: timed(searching), off: timed(off) });
  const ours = all.searching.map((ms, round) => ms - (all.off[round] ?? 0));
  const what = "hook of a tool call with 30 kB: search for loops";
  return [{ what, unit: "ms", ours, budget: { of: "value", max: 2 } }];
}

/** An agent in a turn whose hooks report its calls. */
async function reportingAgent(settings: Readonly<Record<string, string>>) {
  const w = world({ hooks: { "claude-code": claudeCodeHooks }, settings });
  w.processes.start(41);
  const session_id = "33333333-2222-4333-8444-555555555555";
  const hook = async (event: string, more: object = {}) => {
    const body = { hook_event_name: event, session_id, cwd: "/w/agent", ...more };
    await (await w.post("/hooks/claude-code", body, { "x-mesh-agent-pid": "41" })).text();
  };
  await hook("SessionStart", { source: "startup" });
  await hook("UserPromptSubmit", { prompt: "Build it" });
  const tool_response = "x".repeat(RESULT_CHARS);
  return {
    reportCall(number: number): Promise<void> {
      const tool_input = { file_path: `/w/agent/${number}.ts` };
      return hook("PostToolUse", { tool_name: "Read", tool_input, tool_response });
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}
