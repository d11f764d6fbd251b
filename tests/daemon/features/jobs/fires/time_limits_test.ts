import assert from "node:assert/strict";
import { LEASE_MS } from "../../../../../daemon/features/jobs/fires/dispatch.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, eventData, get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  connectWorker,
  create,
  job,
  jobTransitions,
  run,
  stateOf,
} from "../../../../support/daemon/jobs.ts";

const LEASE_SECONDS = LEASE_MS / 1000;
const at = (seconds: number) => new Date(Date.UTC(2030, 0, 1) + seconds * 1000).toISOString();

Deno.test("a dispatch that is not delivered within its lease is withdrawn and repeated [3.job.lease]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const { job_id } = await create(w, { prompt: "One", assigned_peer: "api" });
  const first = await job(w, job_id);
  assert.equal(first.runner.lease_until, at(LEASE_SECONDS));
  await w.tick(LEASE_SECONDS - 1);
  assert.equal((await job(w, job_id)).runner.current_attempt_id, first.runner.current_attempt_id);
  await post(w, `/peers/${peer_id}/touch`);
  await w.tick(1);
  const second = await job(w, job_id);
  assert.equal(second.state, "dispatching");
  assert.deepEqual(second.runner.attempts.map(({ state, reason }) => [state, reason]), [
    ["lapsed", "lease_expired"],
    ["acquired", null],
  ]);
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  assert.equal(deliveries.length, 1, "the first message is withdrawn");
  assert.equal(deliveries[0].delivery_id, second.runner.attempts[1]?.delivery_id);
  assert.deepEqual(jobTransitions(w, job_id), [
    ...["queued", "dispatching", "queued", "dispatching", "delivered"],
  ]);
});

Deno.test("a delivered fire is not ended by lease, deadline or expiry [3.job.never-reaped] [c2.job.deadline]", async () => {
  await using w = world();
  const sam = await connectWorker(w, "sam");
  const api = await connectWorker(w);
  const limits = { deadline_at: at(60), expires_at: at(120) };
  const asked = { title: "Long", assigned_peer: "api", owner_peer: "sam" };
  const { job_id } = await create(w, { ...asked, ...limits });
  await w.tick(59);
  assert.equal((await job(w, job_id)).state_reason, null);
  await w.tick(1);
  const late = await job(w, job_id);
  assert.deepEqual([late.state, late.state_reason], ["delivered", "deadline_passed"]);
  await w.tick(30 * 86_400);
  await w.tick(60);
  assert.equal(await stateOf(w, job_id), "delivered");
  assert.match(sam.reports()[0]?.text ?? "", /"Long" is delivered, and its deadline has passed/);
  assert.equal(sam.reports().length, 1, "the owner is notified once");
  // Its socket closed long ago; it reports over HTTP.
  const turn = (role: string, text: string) =>
    post(w, "/events/chat", { peer_id: api.peer_id, role, text });
  await turn("user", `[mesh ${api.fires()[0]?.delivery_id}]`);
  await w.tick(30 * 86_400);
  const running = await job(w, job_id);
  assert.deepEqual([running.state, running.state_reason], ["running", "deadline_passed"]);
  await turn("assistant", "At last");
  assert.equal(await stateOf(w, job_id), "completed");
  assert.equal(eventData(w, "job_state_changed").length, 5);
});

Deno.test("an undelivered job expires, and is not delivered later [c2.job.expires]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const waiting = { prompt: "One", assigned_peer: "api", due_at: at(500), expires_at: at(100) };
  const queued = await create(w, waiting);
  const sent = await create(w, { prompt: "Two", assigned_peer: "api", expires_at: at(100) });
  assert.deepEqual([await stateOf(w, queued.job_id), await stateOf(w, sent.job_id)], [
    ...["queued", "dispatching"],
  ]);
  await w.tick(100);
  for (const { job_id } of [queued, sent]) {
    const { state, state_reason } = await job(w, job_id);
    assert.deepEqual([state, state_reason], ["expired", "expires_at_passed"]);
    assert.equal((await post(w, `/jobs/${job_id}/retry`)).error, "illegal_state");
  }
  assert.deepEqual((await get(w, `/deliveries/pending?peer_id=${peer_id}`)).deliveries, []);
});

Deno.test("a job that expires before or between two ticks is not delivered [c2.job.expires]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const born = await create(w, { prompt: "One", assigned_peer: "api", expires_at: at(-1) });
  await api.socket.drop();
  const asked = { prompt: "Two", assigned_peer: api.peer_id, expires_at: at(0.5) };
  const waiting = await create(w, asked);
  await w.clock.advance(700); // Between two ticks.
  const back = await connectWorker(w, "api", { peer_id: api.peer_id });
  for (const { job_id } of [born, waiting]) {
    assert.deepEqual(jobTransitions(w, job_id), ["queued", "expired"]);
  }
  assert.deepEqual([api.fires().length, back.fires().length], [0, 0]);
});

Deno.test("a job waits for an offline executor, and is delivered when it comes online", async () => {
  await using w = world();
  const api = await connectWorker(w);
  await api.socket.drop();
  const { job_id } = await create(w, { prompt: "One", assigned_peer: api.peer_id });
  await w.tick(LEASE_SECONDS * 2);
  const waiting = await job(w, job_id);
  assert.deepEqual([waiting.state, waiting.state_reason], ["queued", "executor_offline"]);
  assert.equal(waiting.runner.attempt_count, 0);
  const back = await connectWorker(w, "api", { peer_id: api.peer_id });
  assert.match(back.fires()[0]?.text ?? "", /^One/);
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["delivered", null]);
});

Deno.test("a job for a peer that is not addressable is unavailable, with the reason", async () => {
  await using w = world();
  const api = await connectWorker(w);
  await post(w, `/peers/${api.peer_id}/provenance`, { addressable: false });
  const { job_id } = await create(w, { prompt: "One", assigned_peer: api.peer_id });
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["unavailable", "peer_not_addressable"]);
  await post(w, `/peers/${api.peer_id}/provenance`, {});
  await run(w, job_id);
  assert.equal(await stateOf(w, job_id), "delivered");
  await post(w, `/peers/${api.peer_id}/offline`, { terminal: true });
  const body = { prompt: "Two", assigned_peer: api.peer_id };
  assert.equal((await post(w, "/jobs", body)).error, "peer_retired");
});

Deno.test("a fire becomes unavailable when its executor stops being addressable before delivery", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const { job_id } = await create(w, { prompt: "One", assigned_peer: "api" });
  await post(w, `/peers/${peer_id}/provenance`, { addressable: false });
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["unavailable", "peer_not_addressable"]);
});

Deno.test("a fire fails at once when its executor rejects the message", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "One", assigned_peer: "api" });
  await api.receipt("rejected");
  const { state, state_reason, error } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["failed", "delivery_failed"]);
  assert.match(error ?? "", /did not receive the message/);
});

Deno.test("a job for a peer with a full queue stays queued, and is tried again", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  const { peer_id } = await addPeer(w, "api");
  const first = await create(w, { prompt: "One", assigned_peer: "api" });
  const second = await create(w, { prompt: "Two", assigned_peer: "api" });
  const full = await job(w, second.job_id);
  assert.deepEqual([full.state, full.state_reason], ["queued", "queue_full"]);
  const { drain_id } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  await post(w, "/deliveries/receipts", { drain_id, status: "accepted" });
  assert.equal(await stateOf(w, first.job_id), "delivered");
  await w.tick(10);
  assert.equal(await stateOf(w, second.job_id), "dispatching");
  await w.tick(10);
  assert.equal(await stateOf(w, second.job_id), "dispatching");
});

Deno.test("the end of a job is notified to its owner, else its creator, else the orchestrator [3.job.terminal-tells]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const owner = await connectWorker(w, "owner");
  const maker = await connectWorker(w, "maker");
  const chief = await connectWorker(w, "chief");
  await post(w, `/peers/${chief.peer_id}/role`, { role: "orchestrator" });
  const finish = async (more: Record<string, unknown>) => {
    await create(w, { title: "Tell", assigned_peer: "api", ...more });
    await api.beginTurn();
    await api.endTurn("The tale");
    return [owner, maker, chief].map(({ reports }) => reports().length);
  };
  assert.deepEqual(await finish({ owner_peer: "owner", created_by: "maker" }), [1, 0, 0]);
  assert.match(owner.reports()[0]?.text ?? "", /^\[job work-\w+\] "Tell" completed\.\nThe tale$/);
  assert.deepEqual(await finish({ created_by: "maker" }), [1, 1, 0]);
  assert.deepEqual(await finish({}), [1, 1, 1]);
  await post(w, `/peers/${owner.peer_id}/provenance`, { addressable: false });
  assert.deepEqual(await finish({ owner_peer: "owner", created_by: "maker" }), [1, 2, 1]);
  assert.deepEqual(await finish({ owner_peer: "api" }), [1, 2, 2], "it knows of its own turn");
  assert.deepEqual(await finish({ created_by: "a-program" }), [1, 2, 3]);
});

Deno.test("the end of a job of the human is an inbox item", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const api = await connectWorker(w);
  await create(w, { title: "Tell", assigned_peer: "api", owner_peer: "sam" });
  await api.beginTurn();
  await api.endTurn("x".repeat(4000));
  const { items } = await get(w, "/inbox");
  assert.match(
    items[0].text,
    /^\[job work-\w+\] "Tell" completed\.\nx+…\nSee all of it with: mesh jobs result/,
  );
  assert.equal(items[0].from, "mesh");
});

Deno.test("a job is framed as the human's only through a proven human origin", async () => {
  const settings = { "human.name": "sam" };
  const provenanceOf = async (at_terminal: boolean) => {
    await using w = world({ settings, at_terminal });
    const api = await connectWorker(w);
    const body = { prompt: "Go", assigned_peer: "api", created_by: "sam" };
    await post(w, "/jobs", body, at_terminal ? { "x-mesh-terminal": "7" } : {});
    await w.clock.settle();
    const { job_id } = (await get(w, "/jobs")).work[0];
    const { provenance } = await job(w, job_id);
    const { delivery_id } = api.fires()[0] ?? {};
    const message = await get(w, `/messages/${delivery_id}`);
    return [provenance["human"], message.from_peer_name];
  };
  assert.deepEqual(await provenanceOf(true), [true, "sam"]);
  assert.deepEqual(await provenanceOf(false), [false, "sam"]);
});

Deno.test("old settled jobs are deleted with their attempts", async () => {
  await using w = world({ settings: { "daemon.history_days": "1" } });
  const api = await connectWorker(w);
  const { job_id } = await create(w, { prompt: "One", assigned_peer: "api" });
  const open = await create(w, { prompt: "Two", assigned_peer: "api" });
  await api.beginTurn(api.fires()[0]?.delivery_id);
  await api.endTurn("Done");
  await w.tick(86_000);
  assert.equal(await stateOf(w, job_id), "completed");
  const metrics = await (await w.fetch("/metrics")).text();
  assert.match(metrics, /^mesh_jobs\{state="completed"\} 1$/m);
  await w.tick(500);
  assert.equal((await get(w, `/jobs/${job_id}`)).error, "unknown_job");
  assert.equal(await stateOf(w, open.job_id), "delivered");
});
