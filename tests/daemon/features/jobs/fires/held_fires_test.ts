/** Fires that are held open, notices of their end, and the limits of a list. */

import assert from "node:assert/strict";
import { SETTLED_SHOWN_MAX } from "../../../../../daemon/features/jobs/jobs.ts";
import { until } from "../../../../support/waiting.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  attemptOf,
  connectWorker,
  create,
  createRecurring,
  job,
  list,
  stateOf,
  update,
} from "../../../../support/daemon/jobs.ts";

for (const state of ["blocked", "awaiting_input"] as const) {
  Deno.test(`a fire that was ${state} before its prompt was seen is completed once it runs again`, async () => {
    await using w = world();
    const api = await connectWorker(w);
    const { job_id } = await create(w, { prompt: "Mend", assigned_peer: "api" });
    await update(w, job_id, { state, state_reason: "No key" });
    await api.beginTurn();
    await api.endTurn("Where is the key?");
    const held = await job(w, job_id);
    assert.deepEqual([held.state, held.phase], [state, "turn_started"]);
    await update(w, job_id, { state: "running" });
    const again = await job(w, job_id);
    assert.deepEqual([again.state, again.phase, again.state_reason], [
      ...["running", "turn_started", null],
    ]);
    await api.endTurn("Mended");
    const { result_summary } = await job(w, job_id);
    assert.deepEqual([await stateOf(w, job_id), result_summary], ["completed", "Mended"]);
  });
}

Deno.test("a phase that was set before the message was sent holds the fire open", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const { job_id } = await create(w, { prompt: "Mend", assigned_peer: "api" });
  await update(w, job_id, { phase: "waiting_for_ci" });
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  const turn = (turnBody: Record<string, unknown>) => post(w, `/peers/${peer_id}/turn`, turnBody);
  await turn({ turn_state: "working", prompt: `[mesh ${deliveries[0].delivery_id}]` });
  await turn({ turn_state: "idle", last_message: "Pushed" });
  const held = await job(w, job_id);
  assert.deepEqual([held.state, held.phase], ["running", "waiting_for_ci"]);
  await update(w, job_id, { phase: "turn_started" });
  await turn({ turn_state: "idle", last_message: "Green" });
  assert.equal((await job(w, job_id)).result_summary, "Green");
});

Deno.test("a reported state has only the reported reason, or that the deadline has passed", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const deadline_at = new Date(w.clock.now() + 60_000).toISOString();
  const { job_id } = await create(w, { prompt: "Mend", assigned_peer: "api", deadline_at });
  await api.beginTurn();
  const reason = async () => (await job(w, job_id)).state_reason;
  await update(w, job_id, { state: "blocked", state_reason: "No key" });
  await update(w, job_id, { progress: 10 });
  assert.equal(await reason(), "No key");
  await update(w, job_id, { state: "awaiting_input" });
  assert.equal(await reason(), null);
  await w.tick(61);
  await update(w, job_id, { state: "running" });
  assert.equal(await reason(), "deadline_passed");
});

Deno.test("an owner that is the executor is not notified of an end by its own turn", async () => {
  await using w = world({
    settings: { "jobs.checks": JSON.stringify({ green: { argv: ["test"] } }) },
    programs: { run: () => Promise.resolve({ exit: 1, output: "red" }) },
  });
  const api = await connectWorker(w);
  const own = { prompt: "Mend", assigned_peer: "api", owner_peer: "api" };
  const ends = () => api.reports().map(({ text }) => /(failed|expired|completed)/.exec(text)?.[0]);
  await create(w, { ...own, checks: ["green"] });
  await api.beginTurn();
  await api.endTurn("Mended");
  await until("the checks, which run after its turn", () => ends().length > 0);
  assert.deepEqual(ends(), ["failed"]);
  const { job_id } = await create(w, own);
  await update(w, job_id, { state: "failed", attempt_id: await attemptOf(w, job_id) });
  assert.deepEqual(ends(), ["failed", "failed"]);
  await create(w, own);
  await api.beginTurn();
  await api.endTurn("Mended");
  assert.deepEqual(ends(), ["failed", "failed"], "it knows of its own turn");
});

Deno.test("a job whose creator was closed is sent by the daemon", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { peer_id } = await addPeer(w, "web");
  const due_at = new Date(w.clock.now() + 60_000).toISOString();
  const asked = { prompt: "Mend", assigned_peer: "api", created_by: "web", due_at };
  const { job_id } = await create(w, asked);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.tick(61);
  assert.equal(api.fires().at(-1)?.from_peer, "mesh");
  await api.beginTurn();
  await api.endTurn("Mended");
  assert.equal(await stateOf(w, job_id), "completed");
});

Deno.test("a list without a limit omits only the oldest settled jobs", async () => {
  await using w = world();
  const at = new Date(w.clock.now() + 3_600_000).toISOString();
  const later = { title: "Later", assigned_peer: "api", due_at: at };
  await addPeer(w, "api");
  const { job_id } = await create(w, later);
  const { calendar_id } = await createRecurring(w, {
    title: "Daily",
    assigned_peer: "api",
    cron: "@daily",
  });
  const others = await Promise.all(
    Array.from({ length: SETTLED_SHOWN_MAX + 1 }, async () => [
      await post(w, "/jobs", later),
      await post(w, "/jobs", { title: "Daily", assigned_peer: "api", cron: "@daily" }),
    ]),
  );
  const ids = others.flat().map(({ job_id, calendar_id }) => job_id ?? calendar_id);
  await Promise.all(ids.map((id) => post(w, `/jobs/${id}/cancel`)));
  const { work, recurring } = await list(w);
  assert.deepEqual([work.length, work.at(-1)?.job_id], [SETTLED_SHOWN_MAX + 1, job_id]);
  assert.deepEqual([recurring.length, recurring.at(-1)?.calendar_id], [
    SETTLED_SHOWN_MAX + 1,
    calendar_id,
  ]);
  const few = await list(w, { limit: "2" });
  assert.deepEqual([few.work.length, few.recurring.length], [2, 2]);
  assert.deepEqual((await list(w, { state: "queued" })).work.map((item) => item.job_id), [job_id]);
});

// deno-fmt-ignore
const UNFIT_EXECUTORS: [field: string, asked: Record<string, unknown>][] = [
  ["timezone", { assigned_peer: "api", cron: "0 9 * * *", timezone: "+02:00" }],
  ["timezone", { assigned_peer: "api", cron: "0 9 * * *", timezone: "-0500" }],
  ["path",     { path: "work/api", backend: "codex" }],
];

for (const [field, asked] of UNFIT_EXECUTORS) {
  Deno.test(`POST /jobs with ${JSON.stringify(asked[field])} as ${field} is refused`, async () => {
    await using w = world();
    await addPeer(w, "api");
    const { status, issues } = await post(w, "/jobs", { title: "Mend", ...asked });
    assert.deepEqual([status, issues[0].path], [422, field]);
  });
}
