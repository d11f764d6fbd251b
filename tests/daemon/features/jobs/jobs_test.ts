import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { addPeer, eventData, get, post } from "../../../support/daemon/peer_clients.ts";
import {
  connectWorker,
  create,
  createRecurring,
  job,
  jobTransitions,
  list,
  result,
  run,
  stateOf,
  update,
} from "../../../support/daemon/jobs.ts";

/** Ten minutes after the start of the fake clock. */
const IN_TEN_MINUTES = "2030-01-01T00:10:00.000Z";

Deno.test("a job is delivered, armed by a prompt with its id, and completed by the next turn [3.job.armed] [3.job.completes] [2.job.result-summary] [3.job.state-changed] [6.job-state-changed]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id, state, work_id } = await create(w, { prompt: "Mend it", assigned_peer: "api" });
  assert.match(job_id, /^work-[0-9a-f]{12}$/);
  assert.deepEqual([state, work_id], ["queued", job_id]);
  assert.match(api.fires()[0]?.text ?? "", /^Mend it\n\n\[job work-/);
  const delivered = await job(w, job_id);
  assert.deepEqual([delivered.state, delivered.phase], ["delivered", "delivered"]);
  await api.endTurn("An earlier turn's end");
  assert.equal(await stateOf(w, job_id), "delivered");
  await api.beginTurn();
  const running = await job(w, job_id);
  assert.deepEqual([running.state, running.phase], ["running", "turn_started"]);
  await api.endTurn("It was the cache");
  const done = await job(w, job_id);
  assert.deepEqual([done.state, done.result_summary], ["completed", "It was the cache"]);
  assert.deepEqual(jobTransitions(w, job_id), [
    ...["queued", "dispatching", "delivered", "running", "completed"],
  ]);
  const events = eventData(w, "job_state_changed");
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

Deno.test("a prompt without the id arms no fire", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "Mend it", assigned_peer: "api" });
  await api.socket.send({ type: "chat_turn", role: "user", text: "[mesh] Mend it" });
  await api.socket.send({ type: "chat_turn", role: "user", text: "Mend it" });
  const executionOptions = `<peer-message type="ask" id="ask-000000000001">${
    api.fires()[0]?.delivery_id
  }`;
  await api.socket.send({
    type: "chat_turn",
    role: "user",
    text: `[mesh] ${executionOptions}</peer-message>`,
  });
  await api.endTurn("Something else");
  assert.equal(await stateOf(w, job_id), "delivered");
});

Deno.test("a prompt or turn of another peer does not affect the fire", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const web = await connectWorker(w, "web");
  const { job_id } = await create(w, { prompt: "Mend it", assigned_peer: "api" });
  await web.beginTurn(api.fires()[0]?.delivery_id);
  await web.endTurn("Mine");
  assert.equal(await stateOf(w, job_id), "delivered");
  await api.beginTurn();
  await web.endTurn("Mine again");
  assert.equal(await stateOf(w, job_id), "running");
});

Deno.test("a receipt `seen` arms a fire, and so does an unframed prompt with the id", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const first = await create(w, { prompt: "One", assigned_peer: "api" });
  await api.receipt("seen");
  assert.equal(await stateOf(w, first.job_id), "running");
  await api.endTurn("First");
  assert.equal((await result(w, first.job_id)).result_summary, "First");
  const second = await create(w, { prompt: "Two", assigned_peer: "api" });
  const text = `${api.fires().at(-1)?.delivery_id}: Two`;
  const turn = { peer_id: api.peer_id, turn_id: "t-1" };
  await post(w, "/events/chat", { ...turn, role: "user", text });
  assert.equal(await stateOf(w, second.job_id), "running");
  await post(w, "/events/chat", { ...turn, role: "assistant", text: "Second" });
  assert.equal((await result(w, second.job_id)).result_summary, "Second");
  const third = await create(w, { prompt: "Three", assigned_peer: "api" });
  // The bare text, as a program passes it to its model: it names its attempt.
  await post(w, "/events/chat", { ...turn, role: "user", text: api.fires().at(-1)?.text });
  assert.equal(await stateOf(w, third.job_id), "running");
});

Deno.test("turns reported by hooks arm and complete a fire that was drained", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const { job_id } = await create(w, { title: "Look around", assigned_peer: "api" });
  assert.equal(await stateOf(w, job_id), "dispatching");
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  assert.equal(await stateOf(w, job_id), "delivered");
  const prompt = `[mesh ${deliveries[0].delivery_id}]`;
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "working", prompt });
  assert.equal(await stateOf(w, job_id), "running");
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "idle", last_message: "Nothing here" });
  assert.equal((await result(w, job_id)).result_summary, "Nothing here");
});

Deno.test("a job has defaults for process_scope and continuity [2.job.process-scope] [2.job.continuity] [4.jobs.create]", async () => {
  await using w = world();
  await connectWorker(w);
  const own = { prompt: "Go", path: "/work", backend: "codex", due_at: IN_TEN_MINUTES } as const;
  const modes = async (more: Record<string, unknown>) => {
    const made = "cron" in more
      ? await createRecurring(w, { ...more })
      : await create(w, { ...more });
    return [made.execution.process_scope, made.execution.continuity];
  };
  const { due_at: _, ...always } = own;
  assert.deepEqual(await modes(own), ["per_fire", "fresh"]);
  assert.deepEqual(await modes({ ...always, cron: "0 9 * * *" }), ["per_fire", "resume"]);
  const named = { prompt: "Go", assigned_peer: "api", due_at: IN_TEN_MINUTES };
  assert.deepEqual(await modes(named), ["persistent", "fresh"]);
  const executionOptions = { process_scope: "persistent", continuity: "resume" } as const;
  assert.deepEqual(await modes({ ...own, ...executionOptions }), ["persistent", "resume"]);
});

Deno.test("an invalid POST /jobs names the wrong field [c3.jobs.create]", async () => {
  await using w = world();
  await connectWorker(w);
  const own = { path: "/work", backend: "codex" };
  const whole = { prompt: "Go", assigned_peer: "api" };
  const wrong = async (body: Record<string, unknown>) => {
    const { status, error, issues } = await post(w, "/jobs", body);
    return [status, error, issues?.map(({ path }: { path: string }) => path).join()];
  };
  const unfit = (path: string) => [422, "invalid_request", path];
  assert.deepEqual(await wrong({}), unfit("prompt,assigned_peer"));
  assert.deepEqual(await wrong({ assigned_peer: "api" }), unfit("prompt"));
  assert.deepEqual(await wrong({ prompt: "Go" }), unfit("assigned_peer"));
  assert.deepEqual(await wrong({ prompt: "Go", path: "/work" }), unfit("assigned_peer"));
  assert.deepEqual(await wrong({ ...whole, ...own }), unfit("assigned_peer"));
  assert.deepEqual(await wrong({ ...whole, process_scope: "per_fire" }), unfit("process_scope"));
  assert.deepEqual(
    await wrong({ ...whole, due_at: IN_TEN_MINUTES, cron: "@daily" }),
    unfit("cron"),
  );
  assert.deepEqual(await wrong({ ...whole, cron: "61 * * * *" }), unfit("cron"));
  assert.deepEqual(
    await wrong({ ...whole, cron: "@daily", timezone: "Berlin" }),
    unfit("timezone"),
  );
  assert.deepEqual(
    await wrong({ ...whole, cron: "@daily", expires_at: IN_TEN_MINUTES }),
    unfit("expires_at"),
  );
  assert.deepEqual(await wrong({ ...whole, due_at: "soon" }), unfit("due_at"));
  assert.deepEqual(await wrong({ ...whole, profile: "big" }), unfit("profile"));
  assert.deepEqual(await wrong({ ...whole, prompt: "" }), unfit("prompt"));
  assert.deepEqual((await wrong({ prompt: "Go", assigned_peer: "nobody" })).slice(0, 2), [
    ...[404, "unknown_peer"],
  ]);
  assert.deepEqual((await wrong({ ...whole, owner_peer: "nobody" })).slice(0, 2), [
    ...[404, "unknown_peer"],
  ]);
  assert.deepEqual((await wrong({ ...whole, checks: ["tests"] })).slice(0, 2), [
    ...[422, "unknown_check"],
  ]);
  assert.deepEqual((await list(w)).work, []);
});

Deno.test("GET /jobs?view=summary omits the large fields [4.jobs.list] [4.jobs.summary] [2.job.fields]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const asked = { prompt: "A secret plan", assigned_peer: "api", request: { why: "a reason" } };
  const { job_id } = await create(w, { ...asked, created_by: "api" });
  await update(w, job_id, { progress: 10, progress_note: "a note" });
  await createRecurring(w, { ...asked, cron: "@daily" });
  const full = await list(w);
  assert.deepEqual(Object.keys(full), ["work", "recurring"]);
  assert.match(JSON.stringify(full), /A secret plan.*a reason|a reason.*A secret plan/);
  const brief = await list(w, { view: "summary" });
  const text = JSON.stringify(brief);
  for (const heavy of ["A secret plan", "a reason", "a note", "attempt-", "provenance"]) {
    assert.ok(!text.includes(heavy), heavy);
  }
  const [work] = brief.work, [recurring] = brief.recurring;
  const kept = ["job_id", "state", "created_at", "due_at", "owner_peer_id", "circle", "execution"];
  for (const key of [...kept, "result_summary", "assigned_peer_id"]) {
    assert.ok(key in (work ?? {}), key);
  }
  for (const key of ["request", "provenance", "runner", "progress_events"]) {
    assert.ok(key in (full.work[0] ?? {}), key);
    assert.ok(!(key in (work ?? {})), key);
  }
  assert.equal(work?.execution.target.assigned_peer_id, api.peer_id);
  assert.equal(work?.execution.delivery.kind, "notify");
  assert.equal(work?.execution.prompt, undefined);
  assert.equal(recurring?.execution.prompt, undefined);
});

Deno.test("GET /jobs filters by state, owner and circle", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "sam");
  const { peer_id: assigned_peer } = await connectWorker(w);
  const target = { assigned_peer };
  await create(w, { title: "One", ...target, owner_peer: peer_id, circle: "red" });
  await create(w, { title: "Two", ...target, due_at: IN_TEN_MINUTES });
  await createRecurring(w, { title: "Three", ...target, cron: "@daily" });
  const titles = async (query: Parameters<typeof list>[1]) => {
    const { work, recurring } = await list(w, query);
    return [...work, ...recurring].map(({ title }) => title);
  };
  assert.deepEqual(await titles({}), ["Two", "One", "Three"]);
  assert.deepEqual(await titles({ state: "queued" }), ["Two"]);
  assert.deepEqual(await titles({ state: "active" }), ["Three"]);
  assert.deepEqual(await titles({ owner_peer_id: peer_id }), ["One"]);
  assert.deepEqual(await titles({ owner_peer_id: "sam" }), ["One"]);
  assert.deepEqual(await titles({ circle: "red" }), ["One"]);
  assert.equal((await get(w, "/jobs?state=sleeping")).status, 422);
  assert.equal((await get(w, "/jobs?owner_peer_id=nobody")).status, 404);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  assert.deepEqual(await titles({ owner_peer_id: peer_id }), ["One"], "jobs outlive their owners");
});

Deno.test("a time zone given with an instant is stored", async () => {
  await using w = world();
  await connectWorker(w);
  const asked = {
    prompt: "One",
    assigned_peer: "api",
    due_at: IN_TEN_MINUTES,
    timezone: "Europe/Berlin",
  };
  const { execution } = await create(w, asked);
  assert.deepEqual([execution.schedule.timezone, execution.schedule.cron], [asked.timezone, null]);
});

Deno.test("a turn that ends without text completes its fire, by socket and by HTTP", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "Build it", assigned_peer: "api" });
  await api.beginTurn();
  await api.endTurn("");
  const { state, result_summary } = await job(w, job_id);
  assert.deepEqual([state, result_summary], ["completed", ""]);
});

Deno.test("GET /jobs/{id}/status returns the full record; an unknown id is 404 [4.jobs.status] [2.job.template-id]", async () => {
  await using w = world();
  await connectWorker(w);
  const { job_id } = await create(w, { prompt: "One", assigned_peer: "api" });
  const { calendar_id } = await createRecurring(w, {
    prompt: "Two",
    assigned_peer: "api",
    cron: "@daily",
  });
  assert.match(calendar_id, /^cal-[0-9a-f]{12}$/);
  const status = await get(w, `/jobs/${job_id}/status`);
  assert.deepEqual([status.execution.prompt.body, status.runner.attempt_count], ["One", 1]);
  const calendar = await get(w, `/jobs/${calendar_id}/status`);
  assert.deepEqual([calendar.state, calendar.cron, calendar.timezone], ["active", "@daily", "UTC"]);
  assert.equal(calendar.next_due_at, "2030-01-02T00:00:00.000Z");
  for (const path of ["/jobs/work-000000000000", "/jobs/cal-x/status", "/jobs/x/result"]) {
    assert.deepEqual((await get(w, path)).error, "unknown_job", path);
  }
});

Deno.test("a job waits for due_at, or is run before it", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const first = await create(w, { prompt: "One", assigned_peer: "api", due_at: IN_TEN_MINUTES });
  const second = await create(w, { prompt: "Two", assigned_peer: "api", due_at: IN_TEN_MINUTES });
  await w.tick(599);
  assert.equal(api.fires().length, 0);
  await run(w, second.job_id);
  assert.match(api.fires()[0]?.text ?? "", /^Two/);
  await w.tick(1);
  assert.match(api.fires()[1]?.text ?? "", /^One/);
  assert.equal(await stateOf(w, first.job_id), "delivered");
});
