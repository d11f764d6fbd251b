import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { RECONNECT_GRACE_MS } from "../../../../../daemon/features/jobs/fires/turns.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { FakeProcesses, type World, world, type WorldOptions } from "../../../../support/world.ts";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  connectWorker,
  create,
  createRecurring,
  job,
  retry,
  stateOf,
  template,
  update,
} from "../../../../support/daemon/jobs.ts";

/** A daemon that can be restarted on the same database. */
function fixture(options: WorldOptions = {}) {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  const db_path = pathOf(directory, "mesh.db");
  return {
    ...shared,
    start: (): World => world({ ...options, ...shared, db_path }),
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}

/** Restarts the daemon on its database. */
async function restartOn(w: World, start: () => World): Promise<World> {
  await w[Symbol.asyncDispose]();
  return start();
}

/** A peer with its own process, whose fire is delivered, and optionally running. */
async function startJob(w: World, { begun }: { begun: boolean }) {
  const { peer_id } = await addPeer(w, "api", { agent_pid: 7 });
  const { job_id } = await create(w, { title: "Mend", assigned_peer: "api" });
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  const [{ delivery_id }] = deliveries;
  const prompt = `[mesh ${delivery_id}]`;
  if (begun) await post(w, `/peers/${peer_id}/turn`, { turn_state: "working", prompt });
  return { peer_id, job_id, prompt };
}

const turn = (w: World, peer_id: string, body: Record<string, unknown>) =>
  post(w, `/peers/${peer_id}/turn`, body);

Deno.test("a terminal offline fails the executor's delivered and running fires [3.job.executor-died] [7.executor-died]", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const sam = await connectWorker(w, "sam");
  const asked = { title: "Mend", assigned_peer: "api", owner_peer: "sam" };
  const delivered = await create(w, asked);
  const running = await create(w, asked);
  await api.beginTurn();
  const blocked = await create(w, asked);
  await update(w, blocked.job_id, { state: "blocked" });
  await post(w, `/peers/${api.peer_id}/offline`, { terminal: true });
  for (const { job_id } of [delivered, running, blocked]) {
    const { state, state_reason, runner } = await job(w, job_id);
    assert.deepEqual([state, state_reason], ["failed", "executor_died"]);
    assert.equal(runner.attempts[0]?.reason, "executor_died");
  }
  assert.match(sam.reports()[0]?.text ?? "", /"Mend" failed \(executor_died\)/);
  assert.equal(sam.reports().length, 3);
});

Deno.test("a retired peer's fire in dispatch fails, and a job that waits for the peer is unavailable", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const first = await create(w, { title: "One", assigned_peer: "api" });
  await post(w, `/peers/${peer_id}/offline`);
  const second = await create(w, { title: "Two", assigned_peer: "api" });
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  await w.tick();
  const reasons = [first, second].map(async ({ job_id }) => (await job(w, job_id)).state_reason);
  assert.deepEqual(await Promise.all(reasons), ["executor_died", "peer_retired"]);
  const audit = await get(w, "/deliveries");
  assert.deepEqual(audit.unaccounted, []);
});

Deno.test("a non-terminal offline fails no fire: the executor may come back", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const { job_id } = await create(w, { title: "One", assigned_peer: "api" });
  await api.beginTurn();
  await api.socket.drop();
  await post(w, `/peers/${api.peer_id}/offline`, { reason: "session_end" });
  await w.tick(3600);
  assert.equal(await stateOf(w, job_id), "running");
  const back = await connectWorker(w, "api", { peer_id: api.peer_id });
  await back.endTurn("Here it is");
  assert.equal((await job(w, job_id)).result_summary, "Here it is");
});

Deno.test("an executor whose process is proved to have ended is dead without a report", async () => {
  const processes = new FakeProcesses();
  processes.start(7);
  await using w = world({ processes });
  const { job_id } = await startJob(w, { begun: true });
  await w.tick();
  assert.equal(await stateOf(w, job_id), "running");
  processes.end(7);
  await w.tick();
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["failed", "executor_died"]);
  await retry(w, job_id);
  assert.equal((await job(w, job_id)).state_reason, "executor_offline");
});

Deno.test("after a restart the fire of a living executor continues, and is completed by its turn", async () => {
  using at = fixture();
  at.processes.start(7);
  let w = at.start();
  const { job_id, peer_id, prompt } = await startJob(w, { begun: false });
  w = await restartOn(w, at.start);
  await using _ = w;
  await w.tick();
  assert.equal(await stateOf(w, job_id), "delivered");
  await turn(w, peer_id, { turn_state: "working", prompt });
  assert.equal(await stateOf(w, job_id), "running");
  await turn(w, peer_id, { turn_state: "idle", last_message: "Mended" });
  assert.equal((await job(w, job_id)).result_summary, "Mended");
  assert.equal((await job(w, job_id)).runner.attempt_count, 1);
});

Deno.test("after a restart the fire of a dead executor fails", async () => {
  using at = fixture();
  at.processes.start(7);
  let w = at.start();
  const { job_id } = await startJob(w, { begun: true });
  await w[Symbol.asyncDispose]();
  at.processes.end(7);
  w = at.start();
  await using _ = w;
  await w.tick();
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["failed", "executor_died"]);
});

Deno.test("after a restart the fire of an untraceable executor that does not reconnect fails [3.job.executor-died]", async () => {
  using at = fixture();
  let w = at.start();
  const gone = await connectWorker(w, "gone"), back = await connectWorker(w, "back");
  const asked = (assigned_peer: string) => create(w, { title: "One", assigned_peer });
  const delivered = await asked("gone"), running = await asked("back"), lost = await asked("gone");
  await back.beginTurn();
  await gone.beginTurn();
  w = await restartOn(w, at.start);
  await using _ = w;
  await w.tick();
  const returned = await connectWorker(w, "back", { peer_id: back.peer_id });
  await w.tick(RECONNECT_GRACE_MS / 1000 - 2);
  assert.equal(await stateOf(w, lost.job_id), "running", "it may still reconnect");
  await w.tick();
  for (const { job_id } of [delivered, lost]) {
    const { state, state_reason } = await job(w, job_id);
    assert.deepEqual([state, state_reason], ["failed", "executor_died"]);
  }
  await returned.socket.drop();
  await w.tick(3600);
  assert.equal(await stateOf(w, running.job_id), "running", "it came back once, and may again");
});

Deno.test("a turn that ended while the daemon was not running fails the fire as unseen", async () => {
  using at = fixture();
  at.processes.start(7);
  let w = at.start();
  const { job_id, peer_id } = await startJob(w, { begun: true });
  w = await restartOn(w, at.start);
  await using _ = w;
  await w.tick(30);
  assert.equal(await stateOf(w, job_id), "running", "the state of its turn is unknown");
  await turn(w, peer_id, { turn_state: "idle" });
  await w.tick();
  assert.equal(await stateOf(w, job_id), "running", "its end may be reported yet");
  await w.tick(10);
  const { state, state_reason, error } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["failed", "turn_end_unseen"]);
  assert.match(error ?? "", /nothing shows with what result/);
  await retry(w, job_id);
  assert.equal(await stateOf(w, job_id), "dispatching");
});

Deno.test("a fire that is held open does not fail after a restart when its executor is idle", async () => {
  using at = fixture();
  at.processes.start(7);
  let w = at.start();
  const { job_id, peer_id } = await startJob(w, { begun: true });
  await update(w, job_id, { phase: "waiting" });
  w = await restartOn(w, at.start);
  await using _ = w;
  await turn(w, peer_id, { turn_state: "idle" });
  await w.tick(5);
  assert.equal(await stateOf(w, job_id), "running");
});

Deno.test("a proof that was stored before a crash arms the fire after it", async () => {
  using at = fixture();
  let w = at.start();
  const { peer_id } = await addPeer(w, "api");
  const { job_id } = await create(w, { title: "One", assigned_peer: "api" });
  const { deliveries: [{ delivery_id }] } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  const { db } = w.daemon.ctx;
  // As after a crash between the two: the delivery is seen, and the job does not know it yet.
  db.transactNow((tx) => {
    tx.run("update messages set state = 'seen' where seq = seq_of(:id)", {
      id: delivery_id.slice(6),
    });
  });
  w = await restartOn(w, at.start);
  await using _ = w;
  assert.equal(await stateOf(w, job_id), "running");
});

Deno.test("a queued job starts after a restart at its time, and once [c2.template.once]", async () => {
  using at = fixture();
  let w = at.start();
  await addPeer(w, "api");
  const soon = new Date(at.clock.now() + 60_000).toISOString();
  const { job_id } = await create(w, { title: "One", assigned_peer: "api", due_at: soon });
  const { calendar_id } = await createRecurring(w, {
    title: "Two",
    assigned_peer: "api",
    cron: "* * * * *",
  });
  w = await restartOn(w, at.start);
  await post(w, "/peers/api/touch");
  assert.equal(await stateOf(w, job_id), "queued");
  await w.tick(60);
  assert.equal(await stateOf(w, job_id), "dispatching");
  const { last_occurrence_work_id } = await template(w, calendar_id);
  w = await restartOn(w, at.start);
  await using _ = w;
  await w.tick();
  const now = await template(w, calendar_id);
  assert.deepEqual([now.occurrences, now.last_occurrence_work_id], [1, last_occurrence_work_id]);
  assert.equal((await job(w, job_id)).runner.attempt_count, 1);
});
