/** Answers of hooks that leave before the commit: only those that hand over nothing. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { isProblem } from "protocol/problems.ts";
import { get, notify, post } from "../../../support/daemon/peer_clients.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { type World, world } from "../../../support/world.ts";

const SESSION = { session_id: "s-1", cwd: "/work/api" };

function hook(w: World, hook_event_name: string, more: Record<string, unknown> = {}) {
  return post(w, "/hooks/claude-code", { ...SESSION, hook_event_name, ...more });
}

async function agentWorld(): Promise<{ w: World; name: string }> {
  const w = world({ hooks: { "claude-code": claudeCodeHooks } });
  await hook(w, "SessionStart", { source: "startup" });
  const { peers: [{ name }] } = await get(w, "/peers");
  await w.tick();
  return { w, name };
}

/** The number of commits that an event needs before its answer, and after it. */
async function commitsOf(w: World, event: string, more: Record<string, unknown>) {
  const { db } = w.daemon.ctx;
  const before = db.commits;
  const { status: _, ...answer } = await hook(w, event, more);
  const at_answer = db.commits - before;
  await db.whenDurable()?.catch((error) => assert.ok(isProblem(error, "storage_failed")));
  return { answer, at_answer, later: db.commits - before - at_answer };
}

Deno.test("an answer that hands over nothing leaves before the commit of its report", async () => {
  const { w, name } = await agentWorld();
  await using _ended = w;
  const prompt = await commitsOf(w, "UserPromptSubmit", { prompt: "Go" });
  assert.deepEqual(prompt, { answer: {}, at_answer: 0, later: 1 });
  assert.equal((await get(w, `/peers/${name}`)).turn_state, "working");
  const stop = await commitsOf(w, "Stop", { last_assistant_message: "Done" });
  assert.deepEqual([stop.at_answer, stop.later], [0, 1]);
});

Deno.test("an answer with a message leaves after the commit that marks it as handed over", async () => {
  const { w, name } = await agentWorld();
  await using _ended = w;
  const { delivery_id } = await notify(w, "ada", name, "The port is 8080.");
  const { answer, at_answer } = await commitsOf(w, "UserPromptSubmit", { prompt: "Go" });
  assert.match(answer.hookSpecificOutput.additionalContext, />The port is 8080\.</);
  assert.equal(at_answer > 0, true);
  assert.equal((await get(w, `/messages/${delivery_id}`)).state, "sent");
});

Deno.test("a report that cannot be stored is logged, and no accepted message is lost with it", async () => {
  using faults = new SqliteFaults();
  const { w, name } = await agentWorld();
  await using _ended = w;
  const { delivery_id } = await notify(w, "ada", name, "The port is 8080.");
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
  assert.equal((await commitsOf(w, "Stop", { stop_hook_active: false })).at_answer, 0);
  assert.equal(faults.hit, true);
  assert.match(JSON.stringify(w.logged), /A commit failed/);
  assert.equal((await get(w, `/messages/${delivery_id}`)).state, "queued");
  const { hookSpecificOutput } = await hook(w, "UserPromptSubmit", { prompt: "Go" });
  assert.match(hookSpecificOutput.additionalContext, />The port is 8080\.</);
});

Deno.test("a message in the same commit as such a report is refused if the commit fails", async () => {
  using faults = new SqliteFaults();
  const { w, name } = await agentWorld();
  await using _ended = w;
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
  const body = { from_peer: "ada", to_peer: name, text: "The port is 8080." };
  const sending = w.post("/notify", body);
  const responses = await Promise.all([hook(w, "Stop"), sending]);
  assert.deepEqual(responses.map(({ status }) => status), [200, 503]);
});
