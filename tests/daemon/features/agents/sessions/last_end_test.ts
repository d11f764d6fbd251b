/** Agents' own files say how a turn ended that no hook reported. */

import assert from "node:assert/strict";
import { claudeEnds } from "../../../../../daemon/features/agents/claude_code/turn_ends.ts";
import { codexEnds } from "../../../../../daemon/features/agents/codex/turn_ends.ts";
import { copilotEnds } from "../../../../../daemon/features/agents/copilot/turn_ends.ts";
import { geminiEnds } from "../../../../../daemon/features/agents/gemini/turn_ends.ts";
import { withEnd } from "../../../../../daemon/features/agents/sessions/last_end.ts";
import type { AgentPeer, TurnEnd } from "../../../../../daemon/features/agents/adapter.ts";
import { SHARED } from "../../../../support/agents/codex_server.ts";
import { SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

const ID = "11111111-2222-4333-8444-555555555555";
const at = (second: number) => new Date(1_795_000_000_000 + second * 1000).toISOString();
const time = (second: number) => Date.parse(at(second));

/** The records of an agent for a prompt, an interruption and a failure at a second. */
interface AgentRecords {
  readonly agent: string;
  readonly file: string;
  readonly head?: unknown;
  readonly ends: (folder: string) => (id: string) => TurnEnd | undefined;
  readonly prompt: (second: number, text: string) => unknown;
  readonly interrupted: readonly ((second: number) => unknown)[];
  readonly failed?: (second: number) => unknown;
  /** Records that resemble an end but show none. */
  readonly others: readonly ((second: number) => unknown)[];
}

const claudeUser = (second: number, content: unknown, more = {}) => {
  return { type: "user", timestamp: at(second), uuid: `${second}`, message: { content }, ...more };
};
const text = (text: string) => [{ type: "text", text }];
const codexEvent = (second: number, payload: unknown) => {
  return { timestamp: at(second), ordinal: second, type: "event_msg", payload };
};
const copilotRecord = (second: number, type: string, data: unknown, more = {}) => {
  return { type, data, timestamp: at(second), id: `${second}`, ...more };
};

const RECORDINGS: readonly AgentRecords[] = [
  {
    agent: "Claude Code",
    file: `projects/-w/${ID}.jsonl`,
    ends: (folder) => claudeEnds([folder]),
    prompt: claudeUser,
    interrupted: [
      (second) => claudeUser(second, text("[Request interrupted by user]")),
      (second) =>
        claudeUser(second, [
          { type: "tool_result", tool_use_id: "t", content: "rejected", is_error: true },
          ...text("[Request interrupted by user for tool use]"),
        ]),
    ],
    others: [
      // A text of a person, and an event in a subagent.
      (second) => claudeUser(second, "[Request interrupted by user]"),
      (second) => claudeUser(second, text("[Request interrupted by user]"), { isSidechain: true }),
      (second) => ({
        ...claudeUser(second, text("[Request interrupted by user]")),
        type: "assistant",
      }),
    ],
  },
  {
    agent: "Codex",
    file: `sessions/2026/11/27/rollout-2026-11-27T10-00-00-${ID}.jsonl`,
    ends: codexEnds,
    prompt: (second, text) => ({
      timestamp: at(second),
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    }),
    interrupted: [
      (second) => codexEvent(second, { type: "turn_aborted", reason: "interrupted" }),
    ],
    failed: (second) =>
      codexEvent(second, {
        type: "task_complete",
        error: { message: "You've hit your usage limit", codex_error_info: "usage_limit_exceeded" },
      }),
    others: [
      (second) => codexEvent(second, { type: "task_complete", last_agent_message: "Done" }),
      (second) => codexEvent(second, { type: "task_complete", error: null }),
    ],
  },
  {
    agent: "Copilot CLI",
    file: `session-state/${ID}/events.jsonl`,
    ends: copilotEnds,
    prompt: (second, content) => copilotRecord(second, "user.message", { content }),
    interrupted: [(second) => copilotRecord(second, "abort", { reason: "user_abort" })],
    failed: (second) =>
      copilotRecord(second, "session.error", {
        errorType: "usage_limit_exceeded",
        statusCode: 429,
      }),
    others: [
      (second) => copilotRecord(second, "session.error", { errorType: "query" }, { agentId: "a" }),
      (second) => copilotRecord(second, "assistant.message", { content: '"abort"' }),
    ],
  },
  {
    agent: "Gemini CLI",
    file: "tmp/api/chats/session-2026-11-27T10-00-11111111.jsonl",
    head: { sessionId: ID, kind: "main" },
    ends: geminiEnds,
    prompt: (second, text) => {
      return { id: `${second}`, type: "user", timestamp: at(second), content: [{ text }] };
    },
    interrupted: [
      (second) => ({ id: "i", type: "info", timestamp: at(second), content: "Request cancelled." }),
    ],
    others: [
      (second) => {
        const content = "Request cancelled.";
        return { id: "g", type: "gemini", timestamp: at(second), content };
      },
      (second) => ({ id: "j", type: "info", timestamp: at(second), content: "Update available" }),
    ],
  },
];

/** Reads the last end in the records of an agent. */
function readerOf({ file, head, ends }: AgentRecords) {
  return (...records: unknown[]): TurnEnd | undefined => {
    using folder = new SessionsFolder();
    const lines = [...(head ? [head] : []), ...records].map((record) =>
      `${JSON.stringify(record)}\n`
    );
    folder.write(file, lines.join(""));
    return ends(folder.path)(ID);
  };
}

for (const recording of RECORDINGS) {
  const { agent, prompt, interrupted, failed, others } = recording;
  const read = readerOf(recording);
  const source = "session file";

  Deno.test(`${agent}: an interruption is found with its time, and with the prompts after it`, () => {
    for (const interrupt of interrupted) {
      const end = { how: "interrupted", at: time(2), source };
      assert.deepEqual(read(prompt(1, "Go"), interrupt(2)), { ...end, prompts_since: [] });
      const next = read(prompt(1, "Go"), interrupt(2), prompt(3, "On"), prompt(4, "And on"));
      assert.deepEqual(next, { ...end, prompts_since: ["On", "And on"] });
    }
  });

  Deno.test(`${agent}: the newest of several ends counts, even if an older history follows`, () => {
    const [interrupt] = interrupted;
    assert(interrupt);
    const history = [prompt(1, "Go"), interrupt(2), prompt(3, "On")];
    const found = read(...history, interrupt(4), ...history, prompt(5, "At last"));
    assert.deepEqual(found, {
      how: "interrupted",
      at: time(4),
      source,
      prompts_since: ["At last"],
    });
  });

  Deno.test(`${agent}: nothing else is an end`, () => {
    assert.equal(read(prompt(1, "Go"), ...others.map((other) => other(2))), undefined);
  });

  if (!failed) continue;
  Deno.test(`${agent}: a limit that ended the turn is found with its class`, () => {
    const end = { how: "failed", at: time(2), text: "usage_limit_exceeded", source };
    const { limit: _, ...found } = read(prompt(1, "Go"), failed(2)) ?? {};
    assert.deepEqual(found, { ...end, prompts_since: [] });
  });
}

// deno-fmt-ignore
const OBSERVED: [what: string, peer: Partial<AgentPeer>, end: { at: number; prompts_since: string[] }, idle: boolean][] = [
  ["a working agent whose turn has ended is idle",      { turn_state: "working", turn_at: time(1) }, { at: time(2), prompts_since: [] },     true ],
  ["an agent at a dialog whose turn has ended is idle", { turn_state: "awaiting_input", turn_at: time(1) }, { at: time(2), prompts_since: [] }, true],
  ["an agent that works since then goes on",            { turn_state: "working", turn_at: time(3) }, { at: time(2), prompts_since: [] },     false],
  ["an agent that was prompted since then goes on",     { turn_state: "working", turn_at: time(1) }, { at: time(2), prompts_since: ["On"] }, false],
];

for (const [what, peer, end, idle] of OBSERVED) {
  Deno.test(what, () => {
    const seen = { alive: true, turn_state: null, source: "process table" };
    const found = { how: "interrupted" as const, source: "session file", ...end };
    const observed = withEnd(seen, { ...SHARED, ...peer }, () => found);
    assert.equal(observed?.turn_state, idle ? "idle" : null);
    assert.deepEqual(observed?.end, found);
  });
}

const RESET_S = Date.UTC(2026, 10, 27, 14, 50) / 1000;

/** The last end in the records of one agent. */
function endIn(agent: string, ...lines: unknown[]) {
  const recording = RECORDINGS.find((found) => found.agent === agent);
  assert.ok(recording);
  return readerOf(recording)(...lines);
}

Deno.test("Claude Code: a limit is found with the time at which it is reset", () => {
  const limited = {
    ...claudeUser(2, text("You've hit your 5-hour limit")),
    type: "assistant",
    apiError: "usage_limit_reached",
    apiErrorParams: {
      rate_limit_info: { status: "rejected", resetsAt: RESET_S, rateLimitType: "five_hour" },
    },
  };
  const end = endIn("Claude Code", claudeUser(1, "Go"), limited);
  assert.deepEqual(
    [end?.how, end?.text, end?.resets_at, end?.prompts_since],
    ["failed", "usage_limit_reached", RESET_S * 1000, []],
  );
  const facts = { window: "five_hour", text: "You've hit your 5-hour limit", continues: true };
  assert.deepEqual(end?.limit, facts);
});

Deno.test("Codex: a limit is found with the last reset of the limits that are reached", () => {
  const usage = (primary: number, secondary: number) =>
    codexEvent(3, {
      type: "token_count",
      info: null,
      rate_limits: {
        limit_id: "codex",
        primary: { used_percent: primary, window_minutes: 300, resets_at: RESET_S },
        secondary: { used_percent: secondary, window_minutes: 10_080, resets_at: RESET_S + 60 },
      },
    });
  const error = { message: "Limit", codex_error_info: "usage_limit_exceeded" };
  const failed = codexEvent(2, { type: "task_complete", error });
  const resetAfter = (line: unknown) => endIn("Codex", failed, line)?.resets_at;
  assert.equal(resetAfter(usage(100, 42)), RESET_S * 1000);
  assert.equal(resetAfter(usage(100, 100)), (RESET_S + 60) * 1000);
  assert.equal(resetAfter(usage(83, 42)), undefined);
  assert.equal(endIn("Codex", failed, usage(100, 100))?.limit?.window, "seven_day");
});

Deno.test("Codex: an account without credit is told from a limit that resets", () => {
  const error = { message: "Quota exceeded. Check your plan.", codex_error_info: "other" };
  const end = endIn("Codex", codexEvent(2, { type: "task_complete", error }));
  assert.equal(end?.text, "insufficient_quota");
});

Deno.test("Copilot CLI: the status of the response tells what the class of the error leaves open", () => {
  const classOf = (fields: Record<string, unknown>) =>
    endIn("Copilot CLI", copilotRecord(2, "session.error", fields))?.text;
  assert.equal(classOf({ errorType: "query", statusCode: 402, message: "Pay" }), "billing_error");
  const message = "429 Sorry, you have exceeded your quota";
  assert.equal(classOf({ errorType: "rate_limit", statusCode: 429, message }), "quota_exceeded");
  assert.equal(classOf({ errorType: "rate_limit", statusCode: 429 }), "rate_limit");
});
