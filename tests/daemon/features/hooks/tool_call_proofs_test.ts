/** Proofs, for each agent, that its model has read a message that a hook handed over in a turn. */

import assert from "node:assert/strict";
import type { HookReader } from "../../../../daemon/features/agents/adapter.ts";
import { copilotHooks } from "../../../../daemon/features/agents/copilot/hooks.ts";
import { codexHooks } from "../../../../daemon/features/agents/codex/hooks.ts";
import { geminiHooks } from "../../../../daemon/features/agents/gemini/hooks.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { get, notify, post } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

const STOP = { stop_hook_active: false, last_assistant_message: "Done" };
const MODEL = { llm_request: { model: "scripted" } };
const PROMPT = { prompt: "Run the tests" };
type Event = readonly [name: string, fields?: Readonly<Record<string, unknown>>];

interface Case {
  readonly agent: "claude-code" | "codex" | "gemini" | "copilot";
  readonly reader: HookReader;
  readonly prompt: Event;
  readonly hands_over: Event;
  /** Events that prove nothing, in this order. */
  readonly no_proof: readonly Event[];
  readonly proof: Event;
}

const CLAUDE = {
  agent: "claude-code",
  reader: claudeCodeHooks,
  prompt: ["UserPromptSubmit", PROMPT],
  hands_over: ["PostToolBatch"],
  no_proof: [
    ["PostToolUse"],
    ["UserPromptSubmit", PROMPT], // A message that enters the turn.
    ["Notification", { notification_type: "idle_prompt" }],
    ["PostToolBatch", { agent_id: "sub-1" }],
  ],
} as const;
const CODEX = {
  agent: "codex",
  reader: codexHooks(() => undefined),
  prompt: ["UserPromptSubmit", PROMPT],
  hands_over: ["PostToolUse"],
  no_proof: [
    ["PostToolUse"],
    ["PostModelRequest", { status: "failed" }],
    ["PostModelRequest", { status: "completed", agent_id: "sub-1" }],
  ],
} as const;
const GEMINI = {
  agent: "gemini",
  reader: geminiHooks,
  prompt: ["BeforeAgent", PROMPT],
  hands_over: ["AfterTool"],
  // A request is announced again when it failed.
  no_proof: [["AfterTool"], ["BeforeModel", MODEL], ["BeforeModel", MODEL]],
} as const;

const CASES: readonly Case[] = [
  { ...CLAUDE, proof: ["PostToolBatch"] },
  { ...CLAUDE, proof: ["Stop", STOP] },
  { ...CODEX, proof: ["PostModelRequest", { status: "completed" }] },
  { ...CODEX, proof: ["Stop", STOP] },
  { ...GEMINI, proof: ["AfterTool"] },
  { ...GEMINI, proof: ["AfterAgent", { prompt_response: "Done", stop_hook_active: false }] },
  {
    agent: "copilot",
    reader: copilotHooks,
    prompt: ["userPromptSubmitted", PROMPT],
    hands_over: ["postToolUse"],
    no_proof: [["preToolUse"], ["postToolUse"], ["notification", { notification_type: "x" }]],
    proof: ["agentStop", { stop_hook_active: false }],
  },
];

for (const { agent, reader, prompt, hands_over, no_proof, proof } of CASES) {
  Deno.test(`${agent}: ${proof[0]} proves what ${hands_over[0]} handed over, nothing before it`, async () => {
    await using w = world({ hooks: { [agent]: reader } });
    const event = async ([name, fields]: Event): Promise<string> => {
      const payload = agent === "copilot"
        ? { hookName: name, sessionId: "s-1", cwd: "/work/api", ...fields }
        : { hook_event_name: name, session_id: "s-1", cwd: "/work/api", ...fields };
      return JSON.stringify(await post(w, `/hooks/${agent}`, payload));
    };
    await event(prompt);
    const { peers: [{ name }] } = await get(w, "/peers");
    const { delivery_id } = await notify(w, "ada", name, "Stop", { urgent: true });
    const state = async () => (await get(w, `/messages/${delivery_id}`)).state;
    assert.match(await event(hands_over), /additionalContext.*Stop/);
    for (const other of no_proof) {
      await event(other);
      assert.equal(await state(), "sent", other[0]);
    }
    await event(proof);
    assert.equal(await state(), "seen");
  });
}

Deno.test("gemini: a turn without a report for a minute holds no message", async () => {
  await using w = world({ hooks: { gemini: geminiHooks } });
  const event = { session_id: "s-1", cwd: "/work/api" };
  await post(w, "/hooks/gemini", { ...event, hook_event_name: "BeforeAgent", ...PROMPT });
  const { peers: [{ peer_id }] } = await get(w, "/peers");
  const holds = () => {
    const peer = w.daemon.agentPeers.find(peer_id);
    assert.ok(peer);
    const message = { urgent: true, created_at: w.clock.now() };
    return w.daemon.urgentMessages.awaitsToolCall(peer, message);
  };
  await w.clock.advance(60_000);
  assert.equal(holds(), true);
  await w.clock.advance(1);
  assert.equal(holds(), false);
  await post(w, "/hooks/gemini", { ...event, hook_event_name: "BeforeModel", ...MODEL });
  assert.equal(holds(), true);
});
