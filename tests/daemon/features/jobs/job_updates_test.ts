/** Updates of a job by its executor, and by hand. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  attemptOf,
  connectWorker,
  create,
  job,
  stateOf,
  update,
} from "../../../support/daemon/jobs.ts";

/** Ten minutes after the start of the fake clock. */
const IN_TEN_MINUTES = "2030-01-01T00:10:00.000Z";

Deno.test("an update adds progress, and a custom phase holds the fire open [4.jobs.patch]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "Build it", assigned_peer: "api" });
  await api.beginTurn();
  const held = await update(w, job_id, {
    phase: "waiting_for_ci",
    progress: 40,
    progress_note: "Pushed",
    result_data: { branch: "mend" },
    artifacts: ["log.txt"],
  });
  assert.deepEqual([held.state, held.phase, held.progress], ["running", "waiting_for_ci", 40]);
  assert.deepEqual(held.progress_events.map(({ note }) => note), ["Pushed"]);
  await api.endTurn("I wait for the build");
  assert.equal(await stateOf(w, job_id), "running");
  await update(w, job_id, { phase: "turn_started" });
  await api.endTurn("The build is green");
  const done = await job(w, job_id);
  assert.deepEqual([done.state, done.result_summary], ["completed", "The build is green"]);
  assert.deepEqual([done.result_data, done.artifacts], [{ branch: "mend" }, ["log.txt"]]);
});

Deno.test("a phase that was set before the turn began holds the fire open [c2.job.hold-open]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "Build it", assigned_peer: "api" });
  await update(w, job_id, { phase: "planning" });
  await api.beginTurn();
  await api.endTurn("A plan");
  const held = await job(w, job_id);
  assert.deepEqual([held.state, held.phase], ["running", "planning"]);
});

Deno.test("a job that awaits input or is blocked is not completed by the next turn", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "Build it", assigned_peer: "api" });
  await api.beginTurn();
  for (const state of ["awaiting_input", "blocked", "awaiting_input"] as const) {
    assert.equal((await update(w, job_id, { state, state_reason: "no key" })).state, state);
    await api.endTurn("I cannot go on");
    const now = await job(w, job_id);
    assert.deepEqual([now.state, now.state_reason], [state, "no key"]);
  }
  assert.equal((await update(w, job_id, { state: "running" })).state, "running");
  await api.endTurn("Done");
  assert.equal(await stateOf(w, job_id), "completed");
});

Deno.test("only the current attempt ends its job, and a terminal job does not change [c2.job.attempt-id] [c2.job.terminal]", async () => {
  await using w = world();
  await connectWorker(w);
  const { job_id } = await create(w, { prompt: "Build it", assigned_peer: "api" });
  const patch = async (body: Record<string, unknown>) => {
    const init = { method: "PATCH", body: JSON.stringify(body) };
    const response = await w.fetch(`/jobs/${job_id}`, init);
    const { error, state } = await response.json();
    return [response.status, error ?? state];
  };
  const attempt_id = await attemptOf(w, job_id);
  assert.deepEqual(await patch({ state: "completed" }), [400, "attempt_id_required"]);
  assert.deepEqual(await patch({ state: "failed", attempt_id: "attempt-0" }), [
    409,
    "stale_attempt",
  ]);
  assert.deepEqual(await patch({ progress: 1, attempt_id: "attempt-0" }), [409, "stale_attempt"]);
  assert.deepEqual(await patch({ state: "queued" }), [422, "invalid_request"]);
  const ending = { state: "completed", attempt_id, result_summary: "By hand" };
  assert.deepEqual(await patch(ending), [200, "completed"]);
  assert.deepEqual(await patch(ending), [409, "illegal_state"]);
  assert.deepEqual(await patch({ state: "failed" }), [409, "illegal_state"]);
  assert.deepEqual(await patch({ progress: 50 }), [409, "illegal_state"]);
  const { state, result_summary, progress } = await job(w, job_id);
  assert.deepEqual([state, result_summary, progress], ["completed", "By hand", null]);
});

Deno.test("a job without an attempt is ended by an update without attempt_id", async () => {
  await using w = world();
  await connectWorker(w);
  const { job_id } = await create(w, {
    prompt: "One",
    assigned_peer: "api",
    due_at: IN_TEN_MINUTES,
  });
  assert.equal((await update(w, job_id, { state: "completed" })).state, "completed");
  const { job_id: other } = await create(w, {
    prompt: "Two",
    assigned_peer: "api",
    due_at: IN_TEN_MINUTES,
  });
  const refused = await w.fetch(`/jobs/${other}`, {
    method: "PATCH",
    body: JSON.stringify({ state: "blocked" }),
  });
  assert.equal(refused.status, 409);
  assert.equal((await update(w, other, { state: "failed", error: "No need" })).error, "No need");
});
