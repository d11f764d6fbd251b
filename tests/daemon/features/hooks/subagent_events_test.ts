/** Events inside a subagent: they are no turn of the session, and prove nothing about its model. */

import assert from "node:assert/strict";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { subscribe } from "../../../support/daemon/schedules.ts";
import { realPayload, SessionHooks, worldWithSession } from "../../../support/agents/subagents.ts";

const INSIDE = { agent_id: "a-1", agent_type: "Explore" };

// deno-fmt-ignore
const REAL: readonly [agent: string, start: string, stop: string, type: string][] = [
  ["claude-code", "SubagentStart", "SubagentStop", "explore"],
  ["codex",       "SubagentStart", "SubagentStop", "default"],
  ["copilot",     "subagentStart", "subagentStop", "explore"],
];

for (const [agent, start, stop, type] of REAL) {
  Deno.test(`real payloads of ${agent} start and end a child of the session`, async () => {
    await using at = await worldWithSession();
    const { w } = at;
    const started = realPayload(agent, start), ended = realPayload(agent, stop);
    const session_id = String(started["session_id"] ?? started["sessionId"]);
    const session = new SessionHooks(w, session_id);
    const report = (payload: Record<string, unknown>, hookName: string) =>
      post(w, `/hooks/${agent}`, agent === "copilot" ? { ...payload, hookName } : payload);
    assert.deepEqual(await report(started, start), { status: 200 }, "Not registered yet");
    assert.equal(session.peer_id, "");
    const [begin, named] = agent === "copilot"
      ? [{ sessionId: session_id, source: "new" }, "sessionStart"]
      : [{ session_id, hook_event_name: "SessionStart", source: "startup" }, ""];
    await report({ ...begin, cwd: "/work/web" }, named);
    await report(started, start);
    const { name } = await session.record();
    assert.deepEqual(await session.children(), [`${name}.${type}-1 busy`]);
    await report(ended, stop);
    assert.deepEqual(await session.children(), [`${name}.${type}-1 offline`]);
  });
}

Deno.test("a prompt in a subagent of Codex gets no message of its session and proves none", async () => {
  await using at = await worldWithSession();
  const { w } = at;
  await addPeer(w, "ada");
  const payload = realPayload("codex", "UserPromptSubmitInSubagent");
  const session = new SessionHooks(w, String(payload["session_id"]));
  const report = (fields: Record<string, unknown>) =>
    post(w, "/hooks/codex", { session_id: session.session_id, cwd: "/work/web", ...fields });
  await report({ hook_event_name: "SessionStart", source: "startup" });
  const { name } = await session.record();
  const { delivery_id } = await notify(w, "ada", name, "Mind the port");
  const prompt = `Look at ${delivery_id}`;
  assert.deepEqual(await post(w, "/hooks/codex", { ...payload, prompt }), { status: 200 });
  assert.equal((await get(w, `/messages/${delivery_id}`)).state, "queued");
  const { turn_state, model } = await session.record();
  assert.deepEqual([turn_state, model], ["idle", null]);
  const own = await report({ hook_event_name: "UserPromptSubmit", prompt: "Go on" });
  assert.match(own.hookSpecificOutput.additionalContext, /Mind the port/);
});

Deno.test("an event in a subagent does not prove that the session read its messages", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await addPeer(w, "ada");
  const { name } = await session.record();
  const { delivery_id } = await notify(w, "ada", name, "Mind the port");
  const state = async () => (await get(w, `/messages/${delivery_id}`)).state;
  await session.subagentStarts("a-1");
  await session.send("UserPromptSubmit", { prompt: "Go on" });
  await session.send("PostToolUse", { ...INSIDE, tool_name: "Bash" });
  await session.subagentStops("a-1");
  assert.notEqual(await state(), "seen");
  await session.stop();
  assert.equal(await state(), "seen");
});

Deno.test("the stop of a subagent is no stop of its session", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await addPeer(w, "ada");
  const { name } = await session.record();
  await ask(w, "ada", name, "Which port?");
  await session.send("UserPromptSubmit", { prompt: "Go on" });
  const said = { ...INSIDE, stop_hook_active: false, last_assistant_message: "All done" };
  assert.deepEqual(await session.send("SubagentStop", said), { status: 200 }, "No reminder");
  assert.equal((await session.record()).turn_state, "working");
  const { turns } = await get(w, `/peers/${session.peer_id}/turns`);
  assert.deepEqual(turns.map(({ text }: { text: string }) => text), ["Go on"]);
  assert.equal((await session.stop()).decision, "block", "The session is reminded");
});

Deno.test("a subagent's permission question outlives its session's turn, not the subagent", async () => {
  const settings = { "human.name": "sam", "approvals.gated_tools": "Bash" };
  await using at = await worldWithSession({ settings, without_process: true });
  const { w, session } = at;
  const request = { ...INSIDE, tool_name: "Bash", tool_input: { command: "make" } };
  const open = async () => {
    const { asks } = await get(w, "/asks?state=open");
    return asks.map(({ correlation_id }: { correlation_id: string }) => correlation_id);
  };
  await session.subagentStarts("a-1");
  const first = session.send("PermissionRequest", request);
  await w.clock.settle();
  assert.equal((await session.record()).turn_state, "awaiting_input", "Its terminal has a dialog");
  await session.stop();
  assert.equal((await open()).length, 1);
  const [correlation_id] = await open();
  await post(w, "/answer", { correlation_id, option_id: "allow" });
  assert.equal((await first).hookSpecificOutput.decision.behavior, "allow");
  for (const end of ["SubagentStop", "SessionEnd"]) {
    const pending = session.send("PermissionRequest", request);
    await w.clock.settle();
    assert.equal((await open()).length, 1);
    if (end === "SubagentStop") await session.subagentStops("a-1");
    else await session.send("SessionEnd", { reason: "other" });
    assert.deepEqual(await pending, { status: 200 }, end);
    assert.deepEqual(await open(), [], end);
  }
});

for (const next of ["PostToolUse", "SubagentStop"]) {
  Deno.test(`an idle session is idle again at the ${next} after its subagent's dialog`, async () => {
    await using at = await worldWithSession();
    const { w, session } = at;
    const ada = await connectPeer(w, "ada");
    const { name } = await session.record();
    await session.subagentStarts("a-1");
    await session.stop();
    await subscribe(w, `peer:${name} finished`);
    await session.send("PermissionRequest", { ...INSIDE, tool_name: "Bash", tool_input: {} });
    await session.send("Notification", { notification_type: "permission_prompt" });
    await w.tick(1);
    assert.equal((await session.record()).turn_state, "awaiting_input");
    await session.send(next, INSIDE);
    await w.tick(1);
    assert.equal((await session.record()).turn_state, "idle");
    assert.deepEqual(ada.of("notify"), [], "The dialog was no turn");
    await session.send("UserPromptSubmit", { prompt: "Go on" });
    await session.stop();
    await w.tick(1);
    assert.equal(ada.of("notify").length, 1);
  });
}

Deno.test("a subagent's next event ends no dialog that the session reported itself", async () => {
  await using at = await worldWithSession();
  const { session } = at;
  await session.subagentStarts("a-1");
  await session.send("UserPromptSubmit", { prompt: "Go on" });
  await session.send("PermissionRequest", { tool_name: "Bash", tool_input: {} });
  await session.send("PostToolUse", INSIDE);
  assert.equal((await session.record()).turn_state, "awaiting_input");
});
