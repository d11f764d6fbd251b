import assert from "node:assert/strict";
import { join } from "node:path";
import { LEASE_MS } from "../../../../../daemon/features/jobs/fires/dispatch.ts";
import { EXECUTORS_MAX } from "../../../../../daemon/features/jobs/fires/fires.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { FakeProcesses, world } from "../../../../support/world.ts";
import { get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  cancel,
  create,
  createRecurring,
  job,
  jobTransitions,
  run,
  stateOf,
  template,
  waitForState,
} from "../../../../support/daemon/jobs.ts";
import { codex, FakeTerminals, type WorldSettings } from "../../../../support/daemon/spawns.ts";
import {
  begin,
  end,
  ownExecutorJob,
  registerSpawned,
  startWorld,
  waitForLaunches,
} from "../../../../support/daemon/spawned_executors.ts";

Deno.test("an executor is started for a job in its folder, and ended with the fire", async () => {
  await using at = await startWorld();
  const { w, terminals, folder, processes } = at;
  const { job_id } = await create(w, ownExecutorJob(at, { profile: undefined, circle: "red" }));
  assert.equal(await stateOf(w, job_id), "dispatching");
  const api = await registerSpawned(at);
  assert.deepEqual([terminals.launches.length, terminals.launches[0]?.cwd], [1, folder]);
  await begin(w, api.peer_id);
  assert.equal(await stateOf(w, job_id), "running");
  await end(w, api.peer_id, "Mended");
  assert.equal((await job(w, job_id)).result_summary, "Mended");
  assert.ok(terminals.panes.has(api.pane_id), "the executor is ended after the commit");
  await w.tick();
  assert.ok(!terminals.panes.has(api.pane_id));
  assert.ok(!processes.isAlive(api.pid));
  assert.equal((await get(w, `/peers/${api.peer_id}`)).status, "retired");
  assert.deepEqual(jobTransitions(w, job_id), [
    ...["queued", "dispatching", "delivered", "running", "completed"],
  ]);
  const [attempt] = (await job(w, job_id)).runner.attempts;
  assert.deepEqual([attempt?.executor, attempt?.executor_peer_id], ["spawned", api.peer_id]);
});

Deno.test("an executor that survives its pane gets SIGTERM, then SIGKILL", async () => {
  await using at = await startWorld();
  const { w, terminals, processes } = at;
  terminals.deaf = ["SIGHUP", "SIGTERM"];
  const { job_id } = await create(w, ownExecutorJob(at));
  const api = await registerSpawned(at);
  await cancel(w, job_id);
  await w.tick();
  for (let second = 0; second < 15; second++) await w.tick();
  assert.ok(!processes.isAlive(api.pid));
  assert.equal((await get(w, `/peers/${api.peer_id}`)).status, "retired");
});

Deno.test("an executor of another user is not ended, but its peer goes offline", async () => {
  await using at = await startWorld();
  const { w, terminals, processes } = at;
  terminals.deaf = ["SIGHUP"];
  const { job_id } = await create(w, ownExecutorJob(at));
  const api = await registerSpawned(at);
  processes.otherUsersPids.add(api.pid);
  await cancel(w, job_id);
  for (let second = 0; second < 15; second++) await w.tick();
  assert.ok(processes.isAlive(api.pid));
  assert.equal((await get(w, `/peers/${api.peer_id}`)).status, "retired");
  assert.match(w.logged.join(""), /did not end/);
});

Deno.test("a pane that holds another program meanwhile is not closed", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const { job_id } = await create(w, ownExecutorJob(at));
  const api = await registerSpawned(at);
  const pane = terminals.panes.get(api.pane_id);
  assert.ok(pane);
  terminals.panes.set(api.pane_id, { ...pane, pane_pid: 4242 });
  await cancel(w, job_id);
  await w.tick();
  assert.ok(terminals.panes.has(api.pane_id));
});

Deno.test("a persistent or assigned executor stays after its fire [c2.job.released]", async () => {
  await using at = await startWorld();
  const { w, terminals, folder } = at;
  const stays = { process_scope: "persistent", continuity: "resume" };
  const { job_id } = await create(w, ownExecutorJob(at, stays));
  const api = await registerSpawned(at);
  await begin(w, api.peer_id);
  await end(w, api.peer_id, "One");
  await create(w, { title: "Two", assigned_peer: api.peer_id });
  await begin(w, api.peer_id);
  await end(w, api.peer_id, "Two");
  await w.tick(60);
  assert.ok(terminals.panes.has(api.pane_id));
  assert.equal((await get(w, `/peers/${api.peer_id}`)).status, "online");
  assert.equal(await stateOf(w, job_id), "completed");
  assert.equal(terminals.launches[0]?.cwd, folder);
});

Deno.test("a recurring job resumes its session, and never runs twice at once", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const { calendar_id } = await createRecurring(w, ownExecutorJob(at, { cron: "*/5 * * * *" }));
  await w.tick(300);
  const first = await registerSpawned(at);
  assert.deepEqual(terminals.launches[0]?.argv.includes("resume"), false);
  await begin(w, first.peer_id);
  await w.tick(900);
  assert.equal(
    (await template(w, calendar_id)).occurrences,
    1,
    "the first occurrence is still in progress",
  );
  await end(w, first.peer_id, "One");
  await w.tick();
  assert.equal((await get(w, `/peers/${first.peer_id}`)).status, "offline", "it may come back");
  assert.equal((await template(w, calendar_id)).occurrences, 2, "missed fires collapse into one");
  await w.tick();
  await waitForLaunches(at, 2);
  assert.deepEqual(terminals.launches[1]?.argv.slice(-2), ["resume", "s-1"]);
  const second = await registerSpawned(at);
  assert.equal(second.peer_id, first.peer_id);
  const { last_occurrence_work_id } = await template(w, calendar_id);
  const [attempt] = (await job(w, last_occurrence_work_id ?? "")).runner.attempts;
  assert.equal(attempt?.executor, "resumed");
});

Deno.test("a lost session is replaced by a new one, and the attempt says so", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const { calendar_id } = await createRecurring(w, ownExecutorJob(at, { cron: "*/5 * * * *" }));
  await w.tick(300);
  const first = await registerSpawned(at, "lost-1");
  await begin(w, first.peer_id);
  await end(w, first.peer_id, "One");
  await w.tick();
  await w.tick(300);
  await waitForLaunches(at, 2);
  assert.ok(!terminals.launches[1]?.argv.includes("resume"));
  const { last_occurrence_work_id } = await template(w, calendar_id);
  const [attempt] = (await job(w, last_occurrence_work_id ?? "")).runner.attempts;
  assert.equal(attempt?.executor, "spawned");
});

Deno.test("a job that resumes reuses an executor that is still online", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const stays = { process_scope: "persistent", cron: "*/5 * * * *" };
  const { calendar_id } = await createRecurring(w, ownExecutorJob(at, stays));
  await w.tick(300);
  const first = await registerSpawned(at);
  await begin(w, first.peer_id);
  await end(w, first.peer_id, "One");
  await w.tick(300);
  assert.equal(terminals.launches.length, 1);
  const { last_occurrence_work_id } = await template(w, calendar_id);
  const [attempt] = (await job(w, last_occurrence_work_id ?? "")).runner.attempts;
  assert.deepEqual([attempt?.executor, attempt?.executor_peer_id], ["reused", first.peer_id]);
});

Deno.test("a job is unavailable when no agent can be started, and says why", async () => {
  const why = async (settings: WorldSettings, more: Record<string, unknown> = {}) => {
    await using at = await startWorld(settings);
    const { job_id } = await create(at.w, ownExecutorJob(at, more));
    const { state_reason, error } = await waitForState(at.w, job_id, "unavailable");
    assert.ok(error);
    return state_reason;
  };
  assert.equal(await why({ "spawn.commands": "{}" }), "spawn_disabled");
  assert.equal(await why({}, { backend: "gemini" }), "unsupported_backend");
  assert.equal(await why({}, { profile: "big" }), "unknown_profile");
  assert.equal(await why({ "daemon.circle_boundary": "window" }), "source_pane_required");
});

Deno.test("a job is unavailable when tmux fails, and can be run again", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  terminals.broken = "no space for new pane";
  const { job_id } = await create(w, ownExecutorJob(at));
  const { state_reason, error } = await waitForState(w, job_id, "unavailable");
  assert.deepEqual(state_reason, "spawn_failed");
  assert.match(error ?? "", /no space for new pane/);
  terminals.broken = undefined;
  await run(w, job_id);
  assert.equal(await stateOf(w, job_id), "dispatching");
});

Deno.test("an executor that never registers is ended and started again, up to a limit", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const { job_id } = await create(w, ownExecutorJob(at));
  await waitForLaunches(at, 1);
  const [first] = terminals.panes.keys();
  await w.tick(LEASE_MS / 1000);
  assert.ok(first && !terminals.panes.has(first));
  for (const count of [2, 3]) {
    await w.tick();
    await waitForLaunches(at, count);
    await w.tick(LEASE_MS / 1000 + 1);
  }
  const { state_reason, runner } = await waitForState(w, job_id, "unavailable");
  assert.equal(state_reason, "executor_never_registered");
  assert.equal(runner.attempt_count, 3);
  await w.tick();
  assert.equal(terminals.panes.size, 0, "no pane is left");
});

Deno.test("an executor that ends before it registers makes the job unavailable", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const { job_id } = await create(w, ownExecutorJob(at));
  await waitForLaunches(at, 1);
  const pane = [...terminals.panes.values()].at(-1);
  terminals.end(pane?.pane_pid ?? 0);
  for (let second = 0; second < 4; second++) await w.tick();
  const { state, state_reason } = await job(w, job_id);
  assert.deepEqual([state, state_reason], ["unavailable", "executor_never_registered"]);
});

Deno.test("a spawned executor that dies fails its fire, and a retry starts another", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const { job_id } = await create(w, ownExecutorJob(at));
  const api = await registerSpawned(at);
  await begin(w, api.peer_id);
  terminals.end(api.pid);
  await w.tick();
  assert.equal((await job(w, job_id)).state_reason, "executor_died");
  await post(w, `/jobs/${job_id}/retry`);
  for (let second = 0; second < 3; second++) await w.tick();
  await waitForLaunches(at, 2);
  const next = await registerSpawned(at, "s-2");
  assert.notEqual(next.peer_id, api.peer_id);
  await begin(w, next.peer_id);
  await end(w, next.peer_id, "Better");
  assert.equal((await job(w, job_id)).result_summary, "Better");
});

Deno.test("a job that is cancelled while its executor starts leaves no pane behind", async () => {
  await using at = await startWorld();
  const { w, terminals } = at;
  const open = terminals.openWindow.bind(terminals);
  const barrier = Promise.withResolvers<void>();
  terminals.openWindow = async (...given) => (await barrier.promise, await open(...given));
  const { job_id } = await create(w, ownExecutorJob(at));
  await cancel(w, job_id);
  barrier.resolve();
  await waitForLaunches(at, 1);
  assert.deepEqual([terminals.launches.length, terminals.panes.size], [1, 0]);
  assert.equal(await stateOf(w, job_id), "cancelled");
});

Deno.test("a limited number of executors run at once, and the other jobs wait", async () => {
  await using at = await startWorld();
  const { w } = at;
  for (let count = 0; count <= EXECUTORS_MAX; count++) await create(w, ownExecutorJob(at));
  await waitForLaunches(at, EXECUTORS_MAX);
  const { work } = (await get(w, "/jobs")) as { work: { job_id: string; state: string }[] };
  const waiting = work.filter(({ state }) => state === "queued");
  assert.equal(waiting.length, 1);
  assert.equal((await job(w, waiting[0]?.job_id ?? "")).state_reason, "executors_busy");
  await cancel(w, work.at(-1)?.job_id ?? "");
  await w.tick();
  await w.tick(10);
  await waitForLaunches(at, EXECUTORS_MAX + 1);
});

Deno.test("an executor that was to be ended at shutdown is ended after the restart", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  const processes = new FakeProcesses(), terminals = new FakeTerminals(processes);
  const settings = {
    "spawn.commands": JSON.stringify({ codex: ["codex"] }),
    "spawn.allowed_paths": JSON.stringify([folder]),
  };
  const shared = { clock: new FakeClock(), ids: countingIds(), processes, terminals, settings };
  const start = () => world({ ...shared, adapters: [codex], db_path: join(folder, "mesh.db") });
  const w = start();
  const at = { w, folder, terminals };
  const { job_id } = await create(w, ownExecutorJob(at));
  await waitForLaunches(at, 1);
  const api = await registerSpawned(at);
  await begin(w, api.peer_id);
  await end(w, api.peer_id, "Done");
  await w[Symbol.asyncDispose]();
  assert.ok(terminals.panes.has(api.pane_id));
  await using next = start();
  await next.tick();
  assert.ok(!terminals.panes.has(api.pane_id));
  assert.equal(await stateOf(next, job_id), "completed");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("an executor that was started during a crash is ended, and another does the job", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  const processes = new FakeProcesses(), terminals = new FakeTerminals(processes);
  const settings = {
    "spawn.commands": JSON.stringify({ codex: ["codex"] }),
    "spawn.allowed_paths": JSON.stringify([folder]),
  };
  const shared = { clock: new FakeClock(), ids: countingIds(), processes, terminals, settings };
  const start = (name: string) =>
    world({ ...shared, adapters: [codex], db_path: join(folder, name) });
  const w = start("mesh.db");
  const open = terminals.openWindow.bind(terminals);
  terminals.openWindow = async (...given) => {
    const opened = await open(...given);
    // The pane exists, and the daemon is killed before it stores that.
    for (const part of ["", "-wal"]) {
      await Deno.copyFile(join(folder, `mesh.db${part}`), join(folder, `killed.db${part}`));
    }
    terminals.openWindow = open;
    return opened;
  };
  const { job_id } = await create(w, { title: "Mend", path: folder, backend: "codex" });
  await waitForLaunches({ w, folder, terminals }, 1);
  const orphan = [...terminals.panes.values()].at(0)?.pane_pid ?? 0;
  await w[Symbol.asyncDispose]();
  assert.ok(processes.isAlive(orphan));
  await using next = start("killed.db");
  for (let second = 0; second < 3; second++) await next.tick();
  await waitForLaunches({ w: next, folder, terminals }, 2);
  assert.ok(!processes.isAlive(orphan), "an agent that was not stored is ended");
  assert.equal(terminals.panes.size, 1);
  const { state, runner } = await job(next, job_id);
  assert.equal(state, "dispatching");
  assert.deepEqual(runner.attempts.map(({ state, reason }) => [state, reason]), [
    ["lapsed", "daemon_restart"],
    ["acquired", null],
  ]);
  await Deno.remove(folder, { recursive: true });
});
