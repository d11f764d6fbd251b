import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import {
  attemptOf,
  cancel,
  connectWorker,
  create,
  job,
  retry,
  run,
  stateOf,
  update,
} from "../../../support/daemon/jobs.ts";

/** Ten minutes after the start of the fake clock. */
const IN_TEN_MINUTES = "2030-01-01T00:10:00.000Z";

Deno.test("run and retry begin another attempt, and only in the allowed states [c3.jobs.run-retry]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "One", assigned_peer: "api" });
  const refusal = async (verb: string) => {
    const { status, error } = await post(w, `/jobs/${job_id}/${verb}`);
    return [status, error];
  };
  const no = [409, "illegal_state"];
  assert.deepEqual(await refusal("run"), no);
  const first = await attemptOf(w, job_id);
  await retry(w, job_id);
  assert.equal(api.fires().length, 2);
  const second = await attemptOf(w, job_id);
  assert.notEqual(first, second);
  await api.beginTurn(api.fires()[0]?.delivery_id);
  assert.equal(
    await stateOf(w, job_id),
    "delivered",
    "the first message no longer affects the job",
  );
  await api.beginTurn();
  for (const verb of ["run", "retry", "pause", "resume"]) assert.deepEqual(await refusal(verb), no);
  await update(w, job_id, { state: "failed", attempt_id: second, error: "No luck" });
  await run(w, job_id);
  assert.equal((await job(w, job_id)).error, null);
  await api.beginTurn();
  await api.endTurn("Luck");
  for (const verb of ["run", "retry", "cancel"]) assert.deepEqual(await refusal(verb), no);
  const { runner } = await job(w, job_id);
  assert.deepEqual(runner.attempts.map(({ state }) => state), [
    ...["superseded", "failed", "completed"],
  ]);
});

Deno.test("a job can be cancelled before it is due and while it runs, and the peer that runs it gets a notice to stop", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const waiting = await create(w, { prompt: "One", assigned_peer: "api", due_at: IN_TEN_MINUTES });
  await cancel(w, waiting.job_id, "Not needed");
  const off = await job(w, waiting.job_id);
  assert.deepEqual([off.state, off.cancel_requested, off.cancellation_reason], [
    ...["cancelled", true, "Not needed"],
  ]);
  assert.equal(off.cancel_requested_at, "2030-01-01T00:00:00.000Z");
  const { job_id } = await create(w, { title: "Two", assigned_peer: "api" });
  await api.beginTurn();
  await cancel(w, job_id);
  assert.match(api.reports().at(-1)?.text ?? "", /"Two" was cancelled: stop/);
  await api.endTurn("Too late");
  const { state, result_summary } = await job(w, job_id);
  assert.deepEqual([state, result_summary], ["cancelled", null]);
  await w.tick(601);
  assert.equal(api.fires().length, 1);
});

Deno.test("an executor that cancels its own job is not notified", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { title: "One", assigned_peer: "api" });
  const attempt_id = await attemptOf(w, job_id);
  assert.equal((await update(w, job_id, { state: "cancelled", attempt_id })).state, "cancelled");
  await w.clock.settle();
  assert.equal(api.reports().length, 0);
});

Deno.test("a job that is cancelled before delivery is never sent", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const { job_id } = await create(w, { title: "One", assigned_peer: "api" });
  await cancel(w, job_id);
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  assert.deepEqual(deliveries.map(({ text }: { text: string }) => text), [
    `[job ${job_id}] "One" was cancelled: stop working on it.`,
  ]);
});

Deno.test("a repeated Idempotency-Key returns the same job in its current state [c3.jobs.once]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const body = { prompt: "Once", assigned_peer: "api" };
  const key = { "idempotency-key": "k-1" };
  const first = await post(w, "/jobs", body, key);
  await w.clock.settle();
  const again = await post(w, "/jobs", body, key);
  assert.deepEqual([again.job_id, again.state], [first.job_id, "delivered"]);
  assert.equal(api.fires().length, 1);
  assert.equal(
    (await post(w, "/jobs", { ...body, prompt: "Other" }, key)).error,
    "idempotency_mismatch",
  );
  const daily = { ...body, cron: "@daily" };
  const template = await post(w, "/jobs", daily, { "idempotency-key": "k-2" });
  const same = await post(w, "/jobs", daily, { "idempotency-key": "k-2" });
  assert.equal(same.calendar_id, template.calendar_id);
});
