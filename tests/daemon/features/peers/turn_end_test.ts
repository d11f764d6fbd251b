/** The rule that decides from all evidence whether a turn has ended, and how. */

import assert from "node:assert/strict";
import type { TurnEnd } from "../../../../daemon/features/agents/adapter.ts";
import {
  endOfTurn,
  type TurnEvidence,
  UNREPORTED_MS,
} from "../../../../daemon/features/peers/turn_end.ts";

const BEGUN = 1_000;
const TURN = { begun_at: BEGUN, ids: ["attempt-1", "notif-1"] };

const end = (how: TurnEnd["how"], at: number, more: Partial<TurnEnd> = {}): TurnEnd => {
  return { how, at, source: "hook", ...more };
};
const interruptionFound = (at: number, ...prompts_since: string[]) =>
  end("interrupted", at, { source: "session file", prompts_since });
const idle = (at: number) => ({ at, source: "session registry" });

const OWN = "[mesh] [job work-1, attempt-1] Mend it", OTHER = "What time is it?";

// deno-fmt-ignore
const CASES: [what: string, evidence: Partial<TurnEvidence>, how: TurnEnd["how"] | undefined, source?: string][] = [
  // A single source.
  ["nothing is known",                                {},                                        undefined],
  ["its final message was reported",                  { ends: [end("completed", 2_000)] },       "completed"],
  ["its final message came in the same millisecond",  { ends: [end("completed", BEGUN)] },       "completed"],
  ["a hook reports that its user interrupted it",     { ends: [end("interrupted", 2_000)] },     "interrupted"],
  ["an error or a limit ended it",                    { ends: [end("failed", 2_000)] },          "failed"],
  ["its process has ended",                           { ends: [end("killed", 2_000)] },          "killed"],
  ["the session file shows an interruption",          { ends: [interruptionFound(2_000)] },                  "interrupted", "session file"],
  // Ends of other turns.
  ["an end before it began is of an earlier turn",    { ends: [interruptionFound(999)] },                    undefined],
  ["its prompt waited while another turn ended",      { ends: [interruptionFound(2_000, OWN)] },             undefined],
  ["another prompt follows the interruption",         { ends: [interruptionFound(2_000, OTHER)] },           "interrupted"],
  ["its prompt is the second after the interruption", { ends: [interruptionFound(2_000, OTHER, OWN)] },      undefined],
  // Several sources.
  ["a message after an interruption is of another turn", { ends: [end("completed", 3_000), interruptionFound(2_000)] }, "interrupted"],
  ["a message after an error is of another turn",     { ends: [end("failed", 2_000), end("completed", 3_000)] }, "failed"],
  ["an interruption after its message is of another", { ends: [end("completed", 2_000), interruptionFound(3_000)] }, "completed"],
  ["an old interruption beside its message",          { ends: [interruptionFound(500), end("completed", 2_000)] }, "completed"],
  ["its prompt ran after an interruption, and ended", { ends: [interruptionFound(2_000, OWN), end("completed", 3_000)] }, "completed"],
  ["two sources report one interruption",             { ends: [end("interrupted", 2_005), interruptionFound(2_000)] }, "interrupted", "session file"],
  // An idle agent, and no end.
  ["it has been idle for a moment",                   { idle: idle(2_000), now: 2_000 + UNREPORTED_MS - 1 }, undefined],
  ["it stays idle",                                   { idle: idle(2_000), now: 2_000 + UNREPORTED_MS }, "unreported", "session registry"],
  ["it is idle since before the turn",                { idle: idle(BEGUN), now: 99_000 },        undefined],
  ["it was idle, and begins with another prompt",     { idle: idle(2_000), now: 2_001, prompt: OTHER }, "unreported"],
  ["it was idle, and begins with the turn's prompt",  { idle: idle(2_000), now: 2_001, prompt: OWN }, undefined],
  ["another prompt comes while it works",             { prompt: OTHER },                         undefined],
  ["it was idle before the turn, and has a prompt",   { idle: idle(900), prompt: OTHER },        undefined],
  ["an end counts more than being idle",              { idle: idle(2_000), ends: [interruptionFound(1_900)], now: 99_000 }, "interrupted"],
];

for (const [what, evidence, how, source] of CASES) {
  Deno.test(`${what}: ${how === undefined ? "the turn goes on" : `it is ${how}`}`, () => {
    const found = endOfTurn(TURN, { now: 5_000, ends: [], idle: null, ...evidence });
    assert.equal(found?.how, how);
    if (source !== undefined) assert.equal(found?.source, source);
  });
}
