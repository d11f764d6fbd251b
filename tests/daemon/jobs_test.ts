import assert from "node:assert/strict";
import { world } from "../world.ts";
import { enter, get, post, said } from "./cast.ts";
import {
  attemptOf,
  cancel,
  create,
  job,
  list,
  recur,
  result,
  retry,
  run,
  stateOf,
  update,
  walked,
  worker,
} from "./jobs_cast.ts";

const SOON = "2033-05-18T03:43:20.000Z"; // Ten minutes after the fake clock's start.

Deno.test("a job runs: delivered, armed by its id, completed by the next turn [3.job.armed] [3.job.completes] [2.job.result-summary] [3.job.state-changed] [6.job-state-changed]", async () => {
  await using w = world();
  const api = await worker(w);
  const { job_id, state, work_id } = await create(w, { prompt: "Mend it", assigned_peer: "api" });
  assert.match(job_id, /^work-[0-9a-f]{12}$/);
  assert.deepEqual([state, work_id], ["queued", job_id]);
  assert.match(api.fires()[0]?.text ?? "", /^Mend it\n\n\[job work-/);
  const delivered = await job(w, job_id);
  assert.deepEqual([delivered.state, delivered.phase], ["delivered", "delivered"]);
  await api.end("An earlier turn's end");
  assert.equal(await stateOf(w, job_id), "delivered");
  await api.begin();
  const running = await job(w, job_id);
  assert.deepEqual([running.state, running.phase], ["running", "turn_started"]);
  await api.end("It was the cache");
  const done = await job(w, job_id);
  assert.deepEqual([done.state, done.result_summary], ["completed", "It was the cache"]);
  assert.deepEqual(walked(w, job_id), [
    ...["queued", "dispatching", "delivered", "running", "completed"],
  ]);
  const events = said(w, "job_state_changed");
  assert.deepEqual(Object.keys(events[0] ?? {}), [
    ...["job_id", "state", "prior_state", "phase", "state_reason", "attempt_id"],
  ]);
  const [first] = done.runner.attempts;
  assert.deepEqual(events.map(({ attempt_id }) => attempt_id), [
    null,
    ...Array(4).fill(first?.attempt_id),
  ]);
  assert.deepEqual(events.map(({ prior_state }) => prior_state), [
    ...[null, "queued", "dispatching", "delivered", "running"],
  ]);
});

Deno.test("a prompt without the id arms nothing, whatever else it says", async () => {
  await using w = world();
  const api = await worker(w);
  const { job_id } = await create(w, { prompt: "Mend it", assigned_peer: "api" });
  await api.socket.say({ type: "chat_turn", role: "user", text: "[mesh] Mend it" });
  await api.end("Something else");
  assert.equal(await stateOf(w, job_id), "delivered");
});
