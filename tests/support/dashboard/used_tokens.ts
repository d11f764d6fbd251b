/** Agents whose sessions have tokens of several days, in the home of a lab's daemon. */

import type { Backend } from "protocol/agents/contract.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import type { DashboardLab } from "./dashboard_lab.ts";

const DAY_MS = 86_400_000;
const CLAUDE_ID = "11111111-2222-4333-8444-555555555555";
const COPILOT_ID = "22222222-2222-4333-8444-555555555555";

/** Prices of one of the two models, as a setting of the daemon. */
export const PRICES = {
  MESH_USAGE__PRICES: "{currency: EUR, as_of: 2026-11-01, models: {'claude-opus-*': " +
    "{input: 5, cached_input_read: 0.5, cached_input_write: 6.25, output: 25}}}",
};

const lines = (records: readonly unknown[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

/** Registers two agents with tokens: `ledger`, a Claude Code, and `scout`, a Copilot CLI. */
export async function useTokens(lab: DashboardLab): Promise<void> {
  const write = (folder: string, name: string, text: string) => {
    Deno.mkdirSync(`${lab.state}/${folder}`, { recursive: true });
    Deno.writeTextFileSync(`${lab.state}/${folder}/${name}`, text);
  };
  const answers = [5, 4, 2, 1, 0, 0].map((days, index) => ({
    type: "assistant",
    timestamp: daysAgo(days),
    message: {
      id: `msg_${index}`,
      model: "claude-opus-4-8",
      usage: {
        input_tokens: 2_000 + 700 * index,
        output_tokens: 9_000 - 1_100 * index,
        cache_read_input_tokens: 400_000 - 40_000 * index,
        cache_creation_input_tokens: 30_000,
      },
    },
  }));
  write(".claude/projects/-home-sam-ledger", `${CLAUDE_ID}.jsonl`, lines(answers));
  const usage = {
    model: "gpt-5.5",
    inputTokens: 224_800,
    outputTokens: 3_100,
    cacheReadTokens: 190_000,
    reasoningTokens: 1_900,
    maxPromptTokens: 258_400,
  };
  const record = { type: "session.usage_record", id: COPILOT_ID, timestamp: daysAgo(0) };
  write(
    `.copilot/session-state/${COPILOT_ID}`,
    "events.jsonl",
    lines([{ ...record, data: { usage } }]),
  );
  const register = (name: string, backend: Backend, runtime_session_id: string) =>
    lab.call(registerPeer, {
      body: { name, path: `/home/sam/${name}`, circle: "shop", backend, runtime_session_id },
    });
  await register("ledger", "claude-code", CLAUDE_ID);
  await register("scout", "copilot", COPILOT_ID);
}
