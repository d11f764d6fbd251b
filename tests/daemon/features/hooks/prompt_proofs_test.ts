/** Proofs, for each agent, that its model has read the messages of a prompt's hook. */

import assert from "node:assert/strict";
import type { HookReader } from "../../../../daemon/features/agents/adapter.ts";
import { codexHooks } from "../../../../daemon/features/agents/codex/hooks.ts";
import { geminiHooks } from "../../../../daemon/features/agents/gemini/hooks.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { AgentAtWork } from "../../../support/agents/agent_at_work.ts";
import { get, notify, post } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

const PROMPT = { prompt: "Run the tests" };
const STOP = { stop_hook_active: false, last_assistant_message: "Done" };
const DAY_MS = 86_400_000;
type Event = readonly [name: string, fields?: Readonly<Record<string, unknown>>];

interface Case {
  readonly title: string;
  readonly agent: "claude-code" | "codex" | "gemini";
  readonly reader: HookReader;
  readonly prompt: Event;
  /** Events after the prompt, the last of which decides. */
  readonly then: readonly Event[];
  readonly state: "sent" | "seen";
}

const CLAUDE = {
  agent: "claude-code",
  reader: claudeCodeHooks,
  prompt: ["UserPromptSubmit", PROMPT],
} as const;
const CODEX = { ...CLAUDE, agent: "codex", reader: codexHooks(() => undefined) } as const;
const GEMINI = { agent: "gemini", reader: geminiHooks, prompt: ["BeforeAgent", PROMPT] } as const;

const CASES: readonly Case[] = [
  { ...CLAUDE, title: "the end of the turn", then: [["Stop", STOP]], state: "seen" },
  {
    ...CLAUDE,
    title: "a turn that failed, nor the turn after it",
    then: [["StopFailure", { error: "rate_limit" }], ["UserPromptSubmit", PROMPT], ["Stop", STOP]],
    state: "sent",
  },
  {
    ...CODEX,
    title: "an interrupted turn, nor the turn after it",
    then: [["Interrupt"], ["UserPromptSubmit", PROMPT], ["Stop", STOP]],
    state: "sent",
  },
  {
    ...CODEX,
    title: "a request that failed",
    then: [["PostModelRequest", { status: "failed" }]],
    state: "sent",
  },
  {
    ...CODEX,
    title: "the answer to a request that was tried again",
    then: [["PostModelRequest", { status: "failed" }], ["PostModelRequest", {
      status: "completed",
    }]],
    state: "seen",
  },
  {
    ...GEMINI,
    title: "a request that is only announced",
    then: [["BeforeModel", { llm_request: { model: "scripted" } }]],
    state: "sent",
  },
];

for (const { title, agent, reader, prompt, then, state } of CASES) {
  const proves = state === "seen" ? "proves" : "does not prove";
  Deno.test(`${agent}: ${title} ${proves} what the prompt's hook handed over`, async () => {
    await using w = world({ hooks: { [agent]: reader } });
    const event = async ([hook_event_name, fields]: Event): Promise<string> => {
      const payload = { session_id: "s-1", cwd: "/work/api", hook_event_name, ...fields };
      return JSON.stringify(await post(w, `/hooks/${agent}`, payload));
    };
    await event(["SessionStart", { source: "startup" }]);
    const { peers: [{ name }] } = await get(w, "/peers");
    const { delivery_id } = await notify(w, "ada", name, "Use port 8080");
    assert.match(await event(prompt), /additionalContext.*Use port 8080/);
    for (const each of then) await event(each);
    assert.equal((await get(w, `/messages/${delivery_id}`)).state, state);
  });
}

Deno.test("a message that a hook handed over and that was deleted stops no later event", async () => {
  await using agent = await new AgentAtWork().start();
  const { delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", { urgent: true });
  assert.match(await agent.toolCall(), />Stop</);
  await agent.w.clock.advance(31 * DAY_MS);
  await agent.w.tick();
  const response = await agent.w.fetch(`/messages/${delivery_id}`);
  assert.equal(response.status, 404);
  await response.body?.cancel();
  await agent.stop();
  const { peers } = await get(agent.w, "/peers?role=agent");
  const peer = peers.find(({ name }: { name: string }) => name === agent.name);
  assert.equal(peer.turn_state, "idle");
});

for (const [event, urgent] of [["UserPromptSubmit", false], ["PostToolUse", true]] as const) {
  Deno.test(`${event}: an answer that its hook did not wait for proves nothing`, async () => {
    await using agent = new AgentAtWork({ adapters: [] });
    await agent.start();
    const { delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", { urgent });
    const payload = { session_id: "s-1", cwd: "/work/api", hook_event_name: event, ...PROMPT };
    const response = await agent.w.fetch("/hooks/codex", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(payload),
      signal: AbortSignal.abort(),
    });
    await response.body?.cancel();
    assert.equal(await agent.state(delivery_id), "sent");
    await agent.modelAnswer();
    await agent.stop();
    assert.equal(await agent.state(delivery_id), "sent");
    assert.deepEqual(agent.markers, []);
  });
}
