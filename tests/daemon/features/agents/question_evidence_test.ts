/** The rule that decides from evidence whether a question waits, and its readers' files. */

import assert from "node:assert/strict";
import type { Evidence } from "../../../../daemon/features/agents/adapter.ts";
import { endingOf, SETTLE_MS } from "../../../../daemon/features/agents/question_evidence.ts";
import { fileEvidence } from "../../../../daemon/features/agents/claude_code/question_evidence.ts";
import { rolloutEvidence } from "../../../../daemon/features/agents/codex/question_evidence.ts";
import { recordEvidence } from "../../../../daemon/features/agents/copilot/question_evidence.ts";

const ASKED = 10_000, NOW = 20_000;
const LATE = ASKED + 1, JUST_NOW = NOW - SETTLE_MS + 1, BEFORE = ASKED - 1;

type Case = [
  name: string,
  evidence: [finding: Evidence["finding"], at: number][],
  outcome?: string,
];

// deno-fmt-ignore
const CASES: readonly Case[] = [
  ["nothing is known",                               []],
  ["its dialog is open",                             [["waits", NOW]]],
  ["the session works since before the question",    [["working", BEFORE], ["not_done", BEFORE]]],
  ["the session was idle before the question",       [["idle", BEFORE]]],
  ["the call has a result",                          [["allowed", LATE]], "allowed_there"],
  ["the call was refused",                           [["denied", LATE]], "denied_there"],
  ["it was refused, and the turn ended",             [["idle", JUST_NOW], ["denied", LATE]], "denied_there"],
  ["it has a result, and another dialog is open",    [["waits", NOW], ["allowed", LATE]], "allowed_there"],
  ["another call has ended, and a dialog is open",   [["idle", LATE], ["waits", NOW]]],
  ["the session works, and the call runs",           [["working", LATE], ["not_done", BEFORE]], "allowed_there"],
  ["the session works, and no file says more",       [["working", LATE]], "ended_there"],
  ["the session works between two dialogs",          [["working", JUST_NOW], ["not_done", BEFORE]]],
  ["the turn is over, and no file says how",         [["idle", LATE]], "ended_there"],
  ["the turn has ended just now",                    [["idle", JUST_NOW]]],
  ["the process is gone",                            [["gone", 0], ["waits", NOW]], "ended_there"],
  ["the process is gone, after a refusal",           [["gone", 0], ["denied", LATE]], "denied_there"],
  ["the hook has hung up just now",                  [["gone", JUST_NOW]]],
];

Deno.test("evidence decides whether a question waits, and how it ended", () => {
  for (const [name, given, outcome] of CASES) {
    const evidence = given.map(([finding, at]) => ({ source: "hook", finding, at }));
    const judged = { asked_at: ASKED, now: NOW, settle_ms: SETTLE_MS };
    assert.equal(endingOf(evidence, judged)?.outcome, outcome, name);
  }
});

Deno.test("without records that could say more, a state counts at once", () => {
  const evidence = [{ source: "hook", finding: "idle" as const, at: NOW }];
  const judged = { asked_at: ASKED, now: NOW, settle_ms: 0 };
  assert.equal(endingOf(evidence, judged)?.outcome, "ended_there");
});

const at = (ms: number) => new Date(ms).toISOString();
const lines = (...records: object[]) => records.map((record) => JSON.stringify(record)).join("\n");

const INPUT = { file_path: "/work/made.txt", content: "x" };
const used = (id: string, input: object = INPUT, timestamp = at(ASKED - 50)) => ({
  timestamp,
  message: { content: [{ type: "tool_use", id, name: "Write", input }] },
});
const result = (id: string, more: object = {}, timestamp = at(ASKED + 50)) => ({
  timestamp,
  message: { content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] },
  ...more,
});
const CALL = {
  tool: "Write",
  input: INPUT,
  agent_id: undefined,
  asked_at: ASKED,
};
const findingsOf = (found: readonly Evidence[]) => found.map(({ finding }) => finding);

Deno.test("Claude Code's session file shows the outcome of a call", () => {
  const refused = { toolDenialKind: "user-rejected", toolUseResult: "User rejected tool use" };
  // deno-fmt-ignore
  const cases: [finding: string[], ...records: object[]][] = [
    [[]],
    [[],           used("t1", { ...INPUT, content: "y" }), result("t1")],
    [["not_done"], used("t1")],
    [["allowed"],  used("t1"), result("t1")],
    [["denied"],   used("t1"), result("t1", refused)],
    [["denied"],   used("t1"), result("t1", { toolUseResult: refused.toolUseResult })],
    [["not_done"], used("t1"), used("t2", { other: 1 }), result("t2")],
    // As a second process writes it that resumes the session.
    [["not_done"], used("t1"), result("t1", { toolDenialKind: "interrupted" })],
    [["allowed"],  used("t1"), result("t1", { toolDenialKind: "interrupted" }), result("t1")],
    // The same call was made before, and has its result from then.
    [["not_done"], used("t0", INPUT, at(1)), result("t0", {}, at(2)), used("t1")],
    [[],           used("t0", INPUT, at(1)), result("t0", {}, at(2))],
  ];
  for (const [finding, ...records] of cases) {
    assert.deepEqual(findingsOf(fileEvidence(lines(...records), CALL)), finding);
  }
  const torn = lines(used("t1"), result("t1")).slice(0, -5);
  assert.deepEqual(findingsOf(fileEvidence(torn, CALL)), ["not_done"]);
});

Deno.test("Codex's rollout says that a turn was interrupted or has ended", () => {
  const line = (type: string, ms: number) => ({ timestamp: at(ms), payload: { type } });
  const text = lines(line("turn_aborted", BEFORE), line("task_complete", LATE));
  assert.deepEqual(findingsOf(rolloutEvidence(text, CALL)), ["idle"]);
  assert.deepEqual(findingsOf(rolloutEvidence(lines(line("turn_aborted", LATE)), CALL)), [
    "denied",
  ]);
});

Deno.test("Copilot CLI's records say that a call ran, or that its turn was interrupted", () => {
  const call = { ...CALL, tool: "bash", input: { command: "ls" } };
  const record = (type: string, data: object, ms = LATE) => ({ type, timestamp: at(ms), data });
  const args = { command: "ls", description: "Lists" };
  const start = record("tool.execution_start", {
    toolCallId: "c1",
    toolName: "bash",
    arguments: args,
  }, BEFORE);
  const done = (toolCallId: string) => record("tool.execution_complete", { toolCallId });
  // deno-fmt-ignore
  const cases: [finding: string[], ...records: object[]][] = [
    [[],          start],
    [["allowed"], start, done("c1")],
    [[],          start, done("c2")],
    [["denied"],  start, record("abort", {})],
    [["idle"],    start, record("assistant.turn_end", {})],
    [[],          start, { ...record("assistant.turn_end", {}), agentId: "a1" }],
    [[],          record("abort", {}, BEFORE), start],
  ];
  for (const [finding, ...records] of cases) {
    assert.deepEqual(findingsOf(recordEvidence(lines(...records), call)), finding);
  }
});
