/** A fire whose turn is interrupted, or ends without a word: it fails or waits, and nothing hangs. */

import assert from "node:assert/strict";
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
const working = (api: Worker) =>
  api.socket.send({ type: "status", status: "busy", turn_state: "working" });
const prompt = (api: Worker, text: string) =>
  api.socket.send({ type: "chat_turn", role: "user", text });

async function begun(w: World, api: Worker, more: Record<string, unknown> = {}): Promise<string> {
  const { job_id } = await create(w, { title: "Mend", assigned_peer: "api", ...more });
  await api.beginTurn();
  await working(api);
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
    const id = await begun(w, api, { owner_peer: "sam" });
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
  const id = await begun(w, api, { owner_peer: "sam", on_interrupt: "wait" });
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
  const first = await begun(w, api);
  await idle(api);
  await w.tick(5);
  assert.equal(await stateOf(w, first), "running", "its message may be on its way");
  await w.tick(6);
  assert.deepEqual(await endOf(w, first), ["failed", "turn_end_unseen", null]);
  const second = await begun(w, api);
  await idle(api);
  await w.tick();
  await prompt(api, "What time is it?");
  await api.endTurn("It is noon");
  assert.deepEqual(await endOf(w, second), ["failed", "turn_end_unseen", null]);
});

Deno.test("prompts that come while the agent works, and reports of its subagents, end no fire", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const id = await begun(w, api);
  await prompt(api, "And hurry");
  await working(api);
  await w.tick(3_600);
  assert.equal(await stateOf(w, id), "running");
  await api.endTurn("Mended");
  assert.deepEqual(await endOf(w, id), ["completed", null, "Mended"]);
});

Deno.test("what the executor holds open, an interruption leaves open", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const id = await begun(w, api);
  await update(w, id, { phase: "waiting" });
  await idle(api, { error: "interrupted" });
  await w.tick(3_600);
  assert.equal(await stateOf(w, id), "running");
});

Deno.test("a template fires again after an interrupted fire, and after one that nobody reads", async () => {
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
  await working(api);
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
  await working(api);
  await w.tick();
  await idle(api, { error: "interrupted" });
  assert.equal((await template(w, calendar_id)).waits_for_work_id, null, "it is not due");
  await w.tick(600);
  assert.equal((await template(w, calendar_id)).waits_for_work_id, id);
  const { recurring } = await list(w);
  assert.equal(recurring[0]?.waits_for_work_id, id);
});
