/** A fire whose turn is interrupted, or ends without a word: it fails or waits. */

import assert from "node:assert/strict";
import type { TurnEnd } from "../../../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { recordingAgent } from "../../../../support/agents/accepting_adapter.ts";
import { world } from "../../../../support/world.ts";
import {
  connectWorker,
  create,
  createRecurring,
  job,
  list,
  stateOf,
  template,
  update,
  type Worker,
} from "../../../../support/daemon/jobs.ts";
import { eventData, post } from "../../../../support/daemon/peer_clients.ts";
import type { World } from "../../../../support/world.ts";

const idle = (api: Worker, more: Record<string, unknown> = {}) =>
  api.socket.send({ type: "status", status: "online", turn_state: "idle", ...more });
const reportWorking = (api: Worker) =>
  api.socket.send({ type: "status", status: "busy", turn_state: "working" });
const prompt = (api: Worker, text: string) =>
  api.socket.send({ type: "chat_turn", role: "user", text });

async function beginJob(
  w: World,
  api: Worker,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { job_id } = await create(w, { title: "Mend", assigned_peer: "api", ...more });
  await api.beginTurn();
  await reportWorking(api);
  await w.tick();
  return job_id;
}

async function endOf(w: World, id: string) {
  const { state, state_reason, result_summary } = await job(w, id);
  return [state, state_reason, result_summary];
}

const REPORTS = {
  "on its socket": (_w: World, api: Worker) => idle(api, { error: "interrupted" }),
  "by a hook": (w: World, { peer_id }: Worker) =>
    post(w, `/peers/${peer_id}/turn`, { turn_state: "idle", error: "interrupted" }),
};

for (const [how, interrupt] of Object.entries(REPORTS)) {
  Deno.test(`an interruption that is reported ${how} fails the job, and a later turn changes nothing`, async () => {
    await using w = world();
    const api = await connectWorker(w);
    const sam = await connectWorker(w, "sam");
    const id = await beginJob(w, api, { owner_peer: "sam" });
    await interrupt(w, api);
    assert.deepEqual(await endOf(w, id), ["failed", "turn_interrupted", null]);
    assert.match(sam.reports()[0]?.text ?? "", /"Mend" failed \(turn_interrupted\)/);
    assert.equal(eventData(w, "turn_interrupted").length, 1);
    assert.equal(eventData(w, "turn_failed").length, 0);
    await prompt(api, "What time is it?");
    await api.endTurn("It is noon");
    assert.deepEqual(await endOf(w, id), ["failed", "turn_interrupted", null]);
  });
}

Deno.test("a job that waits at an interruption says so, and completes once it is set running", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const sam = await connectWorker(w, "sam");
  const id = await beginJob(w, api, { owner_peer: "sam", on_interrupt: "wait" });
  await idle(api, { error: "interrupted" });
  assert.deepEqual(await endOf(w, id), ["awaiting_input", "turn_interrupted", null]);
  assert.match(sam.reports()[0]?.text ?? "", /"Mend" waits/);
  await prompt(api, "What time is it?");
  await api.endTurn("It is noon");
  assert.equal(await stateOf(w, id), "awaiting_input", "another prompt is not its own");
  await w.tick();
  await update(w, id, { state: "running" });
  await w.tick(30);
  assert.equal(await stateOf(w, id), "running", "the agent was idle before");
  await prompt(api, "Go on with it");
  await api.endTurn("Mended");
  assert.deepEqual(await endOf(w, id), ["completed", null, "Mended"]);
});

Deno.test("an agent that goes idle without a word fails its job after a while, or at the next prompt", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const first = await beginJob(w, api);
  await idle(api);
  await w.tick(5);
  assert.equal(await stateOf(w, first), "running", "its message may be on its way");
  await w.tick(6);
  assert.deepEqual(await endOf(w, first), ["failed", "turn_end_unseen", null]);
  const second = await beginJob(w, api);
  await idle(api);
  await w.tick();
  await prompt(api, "What time is it?");
  await api.endTurn("It is noon");
  assert.deepEqual(await endOf(w, second), ["failed", "turn_end_unseen", null]);
});

Deno.test("prompts that come while the agent works, and reports of its subagents, end no fire", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const id = await beginJob(w, api);
  await prompt(api, "And hurry");
  await reportWorking(api);
  await w.tick(3_600);
  assert.equal(await stateOf(w, id), "running");
  await api.endTurn("Mended");
  assert.deepEqual(await endOf(w, id), ["completed", null, "Mended"]);
});

Deno.test("an interruption ends no fire that its executor holds open", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const id = await beginJob(w, api);
  await update(w, id, { phase: "waiting" });
  await idle(api, { error: "interrupted" });
  await w.tick(3_600);
  assert.equal(await stateOf(w, id), "running");
});

Deno.test("a template fires again after an interrupted fire, and after an unread fire", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { calendar_id } = await createRecurring(w, {
    title: "Look",
    assigned_peer: "api",
    cron: "*/10 * * * *",
  });
  const last = async () => (await template(w, calendar_id)).last_occurrence_work_id ?? "";
  await w.tick(600);
  const first = await last();
  await api.beginTurn();
  await reportWorking(api);
  await w.tick();
  await idle(api, { error: "interrupted" });
  assert.equal(await stateOf(w, first), "failed");
  await w.tick(600);
  const second = await last();
  assert.notEqual(second, first);
  await api.receipt("accepted");
  assert.equal(await stateOf(w, second), "delivered", "it is idle and has not read it");
  await w.tick(600);
  await w.tick();
  assert.deepEqual(await endOf(w, second), ["failed", "turn_not_started", null]);
  assert.notEqual(await last(), second);
});

Deno.test("a template that is due names the job that it waits for", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { calendar_id, waits_for_work_id } = await createRecurring(w, {
    title: "Look",
    assigned_peer: "api",
    cron: "*/10 * * * *",
    on_interrupt: "wait",
  });
  assert.equal(waits_for_work_id, null);
  await w.tick(600);
  const { last_occurrence_work_id: id } = await template(w, calendar_id);
  await api.beginTurn();
  await reportWorking(api);
  await w.tick();
  await idle(api, { error: "interrupted" });
  assert.equal((await template(w, calendar_id)).waits_for_work_id, null, "it is not due");
  await w.tick(600);
  assert.equal((await template(w, calendar_id)).waits_for_work_id, id);
  const { recurring } = await list(w);
  assert.equal(recurring[0]?.waits_for_work_id, id);
});

/** A Claude Code whose own files say how its last turn ended. */
function observedWorld() {
  const seen: { end: TurnEnd | undefined; state: "idle" | "working" } = {
    end: undefined,
    state: "working",
  };
  const adapter = {
    ...recordingAgent().adapter,
    backend: "claude-code" as const,
    observe: () =>
      Promise.resolve({
        alive: true,
        turn_state: seen.state,
        source: "session registry",
        end: seen.state === "idle" ? seen.end : undefined,
      }),
  };
  const hooks = { "claude-code": { ...claudeCodeHooks, lastEnd: () => seen.end } };
  const w = world({ adapters: [adapter], hooks });
  const hook = (hook_event_name: string, more: Record<string, unknown>) =>
    post(w, "/hooks/claude-code", { hook_event_name, session_id: "s-1", cwd: "/w/api", ...more });
  const begin = async () => {
    await hook("SessionStart", { source: "startup" });
    const { job_id } = await create(w, { title: "Mend", assigned_peer: "api-claude-code" });
    const { execution: _, runner } = await job(w, job_id);
    await w.tick(3);
    const prompt = `[job ${job_id}, ${runner.current_attempt_id}] Mend`;
    await hook("UserPromptSubmit", { prompt });
    assert.equal(await stateOf(w, job_id), "running");
    await w.tick(3);
    return { job_id, prompt };
  };
  const interrupted = (more: Partial<TurnEnd> = {}): TurnEnd => {
    return { how: "interrupted", at: w.clock.now(), source: "session file", ...more };
  };
  return { w, seen, hook, begin, interrupted };
}

Deno.test("an interruption that only the session file shows is seen by observation", async () => {
  const { w, seen, begin, interrupted } = observedWorld();
  await using _ = w;
  const { job_id } = await begin();
  [seen.end, seen.state] = [interrupted(), "idle"];
  await w.tick(3);
  assert.deepEqual(await endOf(w, job_id), ["failed", "turn_interrupted", null]);
  assert.deepEqual(eventData(w, "turn_interrupted").map(({ source }) => source), ["session file"]);
  await w.tick(60);
  assert.equal(eventData(w, "turn_interrupted").length, 1, "the file shows it again and again");
});

Deno.test("an interruption between two observations is found at the next prompt, or at its end", async () => {
  for (const event of ["UserPromptSubmit", "Stop"]) {
    const { w, seen, hook, begin, interrupted } = observedWorld();
    await using _ = w;
    const { job_id } = await begin();
    seen.end = interrupted({ prompts_since: ["What time is it?"] });
    await w.tick();
    if (event === "UserPromptSubmit") await hook(event, { prompt: "What time is it?" });
    else await hook(event, { stop_hook_active: false, last_assistant_message: "It is noon" });
    assert.deepEqual(await endOf(w, job_id), ["failed", "turn_interrupted", null]);
  }
});

Deno.test("a prompt that waited in the agent while another turn was interrupted is completed", async () => {
  const { w, seen, hook, begin, interrupted } = observedWorld();
  await using _ = w;
  const { job_id, prompt } = await begin();
  seen.end = interrupted({ prompts_since: [prompt] });
  await w.tick(3);
  await hook("Stop", { stop_hook_active: false, last_assistant_message: "Mended" });
  assert.deepEqual(await endOf(w, job_id), ["completed", null, "Mended"]);
});

Deno.test("compaction in a turn, and a subagent that ends in it, end no fire", async () => {
  const { w, hook, begin } = observedWorld();
  await using _ = w;
  const { job_id } = await begin();
  await hook("PreCompact", { trigger: "auto" });
  await hook("SubagentStop", { agent_id: "a-1", agent_type: "", stop_hook_active: false });
  await hook("SessionStart", { source: "compact" });
  await hook("PostCompact", { trigger: "auto", compact_summary: "So far" });
  await w.tick(60);
  assert.equal(await stateOf(w, job_id), "running");
  await hook("Stop", { stop_hook_active: false, last_assistant_message: "Mended" });
  assert.deepEqual(await endOf(w, job_id), ["completed", null, "Mended"]);
});

Deno.test("an agent without a process of its own that its server no longer has fails its job", async () => {
  const { w, begin } = observedWorld();
  await using _ = w;
  const { job_id } = await begin();
  const { runner } = await job(w, job_id);
  const id = runner.attempts[0]?.executor_peer_id;
  await post(w, `/peers/${id}/offline`, { reason: "agent_exited", source: "app server" });
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["failed", "executor_died"]);
});
