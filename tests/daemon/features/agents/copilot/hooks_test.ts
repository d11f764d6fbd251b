/** Copilot CLI's hooks: payloads as the real program sends them, and the answers to them. */

import assert from "node:assert/strict";
import { copilotHooks } from "../../../../../daemon/features/agents/copilot/hooks.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, ask, get, post } from "../../../../support/daemon/peer_clients.ts";
import { answerTo } from "../../../../support/agents/hook_answers.ts";

function golden(path: string): string {
  return Deno.readTextFileSync(new URL(`../../../../golden/${path}`, import.meta.url));
}

const PROMPT = '@@SAY checking\n@@TOOL ping {"text":"hello"}\n@@SAY final answer';
const RAN = {
  tool: "mesh-probe-ping",
  input: { text: "hello" },
  result: { resultType: "success", textResultForLlm: 'pong ping {"text":"hello"}' },
};
// deno-fmt-ignore
const REPORTS: [event: string, expected: Record<string, unknown>][] = [
  ["sessionStart",        { turn_state: "idle", source: "new" }],
  ["userPromptSubmitted", { turn_state: "working", prompt: PROMPT }],
  ["preToolUse",          { turn_state: "working" }],
  ["permissionRequest",   { permission: { tool: "mesh-probe/ping", input: { text: "hello" } } }],
  ["postToolUse",         { is_within_turn: true, ran: RAN }],
  ["notification",        { turn_state: "awaiting_input", waits_for: { kind: "permission" } }],
  ["agentStop",           { turn_state: "idle", may_hold_turn: true, after_request: true }],
  ["sessionEnd",          { end_reason: "complete" }],
];

for (const [event, expected] of REPORTS) {
  Deno.test(`a real ${event} payload of Copilot CLI is read`, () => {
    const payload = JSON.parse(golden(`hooks/copilot/${event}.json`));
    const { sessionId: session_id, cwd, transcriptPath: transcript_path } = payload;
    const common = { event, session_id, cwd, transcript_path };
    assert.deepEqual(copilotHooks.read(payload), { ...common, ...expected });
  });
}

const ID = "4ece34a9-9295-42f4-88e9-8117639b0c1b";
const common = { sessionId: ID, cwd: "/w" };

Deno.test("a question is a dialog, other notifications are not, and an unknown event is read by name", () => {
  const notificationHook = (notification_type: string) =>
    copilotHooks.read({ ...common, hookName: "notification", notification_type }).turn_state;
  assert.equal(notificationHook("elicitation_dialog"), "awaiting_input");
  assert.equal(notificationHook("shell_completed"), undefined);
  const later = copilotHooks.read({ ...common, hookName: "somethingNew" });
  assert.deepEqual([later.event, later.turn_state], ["somethingNew", undefined]);
  for (const bad of [{ hookName: "agentStop" }, common, "text", null, []]) {
    assert.throws(() => copilotHooks.read(bad), /session_id|hook_event_name|expected object/i);
  }
});

Deno.test("context is added to a prompt and a tool result of Copilot CLI, and to nothing else", () => {
  const submitted = { ...common, hookName: "userPromptSubmitted", prompt: "hello" };
  assert.deepEqual(answerTo(copilotHooks, submitted, "[mesh] text"), {
    additionalContext: "[mesh] text",
  });
  assert.deepEqual(answerTo(copilotHooks, submitted, null), {});
  assert.deepEqual(answerTo(copilotHooks, { ...common, hookName: "postToolUse" }, "[mesh] text"), {
    additionalContext: "[mesh] text",
  });
  for (const hookName of ["sessionStart", "arrived", "agentStop"]) {
    const other = { ...common, hookName, source: "new" };
    assert.deepEqual(answerTo(copilotHooks, other, "[mesh] text"), {});
    assert.notEqual(copilotHooks.context_event, hookName);
  }
});

Deno.test("our own tools need no permission in Copilot CLI, tools with similar names do", () => {
  const permissionRequest = (toolName: string) => ({
    ...common,
    hookName: "permissionRequest",
    toolName,
    toolInput: {},
  });
  assert.deepEqual(answerTo(copilotHooks, permissionRequest("mesh/ack"), null), {
    behavior: "allow",
  });
  assert.equal(copilotHooks.read(permissionRequest("mesh/ack")).permission, undefined);
  for (const tool of ["mesh-probe/ping", "mesh", "other/mesh/ack", "bash"]) {
    assert.deepEqual(answerTo(copilotHooks, permissionRequest(tool), null), {});
    assert.equal(copilotHooks.read(permissionRequest(tool)).permission?.tool, tool);
  }
  assert.deepEqual(copilotHooks.formatDecision?.({ behavior: "allow", message: "" }), {
    behavior: "allow",
  });
  assert.deepEqual(copilotHooks.formatDecision?.({ behavior: "deny", message: "Not today" }), {
    behavior: "deny",
    message: "Not today",
  });
});

Deno.test("a tool of Copilot CLI that asks the person itself is not gated", async () => {
  const settings = { "human.name": "sam", "approvals.gated_tools": "*" };
  await using w = world({ hooks: { copilot: copilotHooks }, settings });
  const hook = (hookName: string, more: object) =>
    post(w, "/hooks/copilot", { ...common, sessionId: "s-1", hookName, ...more });
  await hook("arrived", {});
  for (const toolName of ["ask_user", "exit_plan_mode"]) {
    const asked = await hook("permissionRequest", { toolName, toolInput: { question: "Which?" } });
    assert.deepEqual(asked, { status: 200 }, toolName);
  }
  assert.deepEqual((await get(w, "/inbox")).items, []);
});

Deno.test("a tool of Copilot CLI beside one that waits does not end its question", async () => {
  const settings = { "human.name": "sam", "approvals.gated_tools": "bash" };
  await using w = world({ hooks: { copilot: copilotHooks }, settings });
  const hook = (hookName: string, more: object) =>
    post(w, "/hooks/copilot", { ...common, sessionId: "s-1", hookName, ...more });
  await hook("arrived", {});
  const input = { command: "ls" };
  const asked = hook("permissionRequest", { toolName: "bash", toolInput: input });
  await w.clock.settle();
  await hook("preToolUse", { toolName: "view", toolArgs: {} });
  await hook("postToolUse", { toolName: "view", toolArgs: {} });
  await w.clock.advance(2_000);
  const { items: [item] } = await get(w, "/inbox");
  assert.equal(item.state, "open");
  await post(w, `/inbox/${item.item_id}/reply`, { option_id: "allow" });
  assert.deepEqual(await asked, { status: 200, behavior: "allow" });
});

Deno.test("a session of Copilot CLI registers when announced, and a prompt proves its messages seen", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  const hook = (hookName: string, more = {}) =>
    post(w, "/hooks/copilot", { ...common, hookName, ...more });
  await hook("arrived");
  const { peers } = await get(w, "/peers");
  const [peer] = peers.filter(({ backend }: { backend: string }) => backend === "copilot");
  assert.deepEqual([peer.turn_state, peer.path], ["idle", "/w"]);
  await addPeer(w, "ada");
  const id = await ask(w, "ada", peer?.name ?? "", "Which port?");
  const began = await hook("sessionStart", { source: "new" });
  assert.equal(began.additionalContext, undefined, "kept for the prompt that follows");
  const { additionalContext } = await hook("userPromptSubmitted", { prompt: "Go on" });
  assert.match(additionalContext, new RegExp(`id="${id}".*Which port`));
  await hook("agentStop");
  const { stages } = await get(w, `/traces/${id}`);
  assert(stages.some(({ stage }: { stage: string }) => stage === "seen"));
  await hook("sessionEnd", { reason: "user_exit" });
  assert.equal((await get(w, `/peers/${peer.peer_id}`)).status, "offline");
});

Deno.test("the end of a session that its process has already left takes no peer offline", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  w.processes.start(7);
  const headers = { "x-mesh-agent-pid": "7" };
  const hook = (sessionId: string, hookName: string, more = {}) =>
    post(w, "/hooks/copilot", { ...common, sessionId, hookName, ...more }, headers);
  await hook("s-1", "arrived");
  await hook("s-2", "arrived"); // `/clear`: the new session's server reports first.
  await hook("s-1", "sessionEnd", { reason: "user_exit" });
  const { peers } = await get(w, "/peers");
  const found = peers.filter(({ backend }: { backend: string }) => backend === "copilot");
  assert.deepEqual(
    found.map((peer: Record<string, unknown>) => [peer["status"], peer["agent_pid"]]),
    [["online", 7]],
  );
});

Deno.test("a subagent of Copilot CLI gets no message, and asks as its session", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  const inside = { agentId: "a-1", parentAgentId: ID, agentType: "general-purpose" };
  const hook = (hookName: string, more = {}) =>
    post(w, "/hooks/copilot", { ...common, hookName, ...more });
  const within = (hookName: string, more = {}) =>
    hook(hookName, { ...inside, sessionId: "a-1", ...more });
  await within("userPromptSubmitted", { prompt: "Look" });
  const names = async () => {
    const { peers } = await w.call(listPeers, { query: {} });
    return peers.filter(({ backend }) => backend === "copilot");
  };
  assert.equal((await names()).length, 0, "its session is not registered yet");
  await hook("arrived");
  const [peer] = await names();
  await addPeer(w, "ada");
  const id = await ask(w, "ada", peer?.name ?? "", "Which port?");
  await hook("agentStop");
  const prompted = await within("userPromptSubmitted", { prompt: `Look at ${id}` });
  assert.equal(prompted.additionalContext, undefined);
  const states = (await names()).map(({ turn_state, addressable }) => [turn_state, addressable]);
  assert.deepEqual(states, [["idle", true], ["working", false]], "its start was missed");
  const permissionRequest = { toolName: "mesh/ack", toolInput: {} };
  assert.equal((await within("permissionRequest", permissionRequest)).behavior, "allow");
  const fromSubagent = { ...permissionRequest, parentAgentId: "a-0" };
  assert.equal((await within("permissionRequest", fromSubagent)).behavior, "allow");
  const report = copilotHooks.read({
    ...common,
    ...inside,
    sessionId: "a-1",
    hookName: "permissionRequest",
    toolName: "bash",
    toolInput: {},
  });
  assert.deepEqual([report.session_id, report.permission?.tool], [ID, "bash"]);
  const started = { ...common, ...inside, hookName: "subagentStart" };
  assert.deepEqual(copilotHooks.read(started).event, "subagentStart", "reported by its session");
  assert.equal((await names()).length, 2);
});

Deno.test("the daemon completes the payload of a script, which names the event in a header", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  const hook = (event: string, more: object) =>
    post(w, "/hooks/copilot", { ...common, sessionId: "s-1", ...more }, { "x-mesh-event": event });
  assert.equal((await hook("sessionStart", { source: "new" })).status, 200);
  const { peers: [idle] } = await get(w, "/peers");
  assert.deepEqual([idle.backend, idle.turn_state], ["copilot", "idle"]);
  await hook("userPromptSubmitted", { prompt: "Go on" });
  const { peers: [working] } = await get(w, "/peers");
  assert.equal(working.turn_state, "working");
});
