/** Kills the daemon in each phase of a fire: the job's state is true then, and it ran once. */

import assert from "node:assert/strict";
import { readTextOrNothing } from "../../daemon/host/paths.ts";
import { isAlive } from "../../daemon/host/processes.ts";
import { temporary } from "../support/programs/child.ts";
import { DaemonFixture } from "../support/programs/daemon_fixture.ts";
import { pause } from "../support/programs/process_facts.ts";
import { Chance } from "../support/seeded_random.ts";
import { until } from "../support/waiting.ts";

const POLL_MS = 20;
const TIMEOUT_MS = 15_000;
/** Slow enough for the daemon to be killed while it runs. */
const CHECKS = { slow: { argv: ["sleep", "1"] }, quick: { argv: ["true"] } };
const SETTINGS = {
  MESH_JOBS__CHECKS: JSON.stringify(CHECKS),
  MESH_SPAWN__ALLOWED_PATHS: "/tmp",
};

interface Job {
  readonly job_id: string;
  readonly state: string;
  readonly state_reason: string | null;
  readonly phase: string | null;
  readonly result_summary: string | null;
  readonly runner: { readonly attempt_count: number; readonly attempts: { state: string }[] };
}

/** A worker with a process of its own, which runs until it is ended. */
class FakeExecutor implements AsyncDisposable {
  readonly #process = new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn();
  #peer_id = "";
  #certificate = "";
  /** The messages that it was given, each once; a repeated message has the same id. */
  readonly received = new Map<string, { readonly text: string; times: number }>();

  get pid(): number {
    return this.#process.pid;
  }

  async register(fixture: JobsFixture): Promise<void> {
    const place = { path: "/tmp", backend: "sdk", agent_pid: this.pid };
    const registered = await fixture.post("/peers", { name: "hand", ...place });
    this.#peer_id = registered.peer_id;
    this.#certificate = registered.birth_certificate;
  }

  /** The messages that it has not worked on yet, oldest first. */
  readonly waiting: string[] = [];

  /** Leases what is queued and sends receipts; it drops messages that it knows already. */
  async lease(fixture: JobsFixture): Promise<void> {
    const { deliveries, drain_id } = await fixture.get(
      `/deliveries/pending?peer_id=${this.#peer_id}&max_results=500`,
      this.#certificate,
    );
    for (const { delivery_id, text } of deliveries) {
      const known = this.received.get(delivery_id);
      if (known) known.times++;
      else this.waiting.push(delivery_id), this.received.set(delivery_id, { text, times: 1 });
    }
    if (!drain_id) return;
    const receipt = { drain_id, status: "accepted" };
    await fixture.post("/deliveries/receipts", receipt, this.#certificate);
  }

  async beginTurn(fixture: JobsFixture, delivery_id: string): Promise<void> {
    const prompt = `[mesh ${delivery_id}]`;
    await fixture.post(`/peers/${this.#peer_id}/turn`, { turn_state: "working", prompt });
  }

  async endTurn(fixture: JobsFixture, last_message: string): Promise<void> {
    await fixture.post(`/peers/${this.#peer_id}/turn`, { turn_state: "idle", last_message });
  }

  async terminate(): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // The process has ended already.
    }
    await this.#process.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminate();
  }
}

/** A daemon with jobs. */
class JobsFixture extends DaemonFixture {
  constructor(state: string, settings: Record<string, string> = SETTINGS) {
    super(state, settings);
  }

  async job(id: string): Promise<Job> {
    return await this.get(`/jobs/${id}`);
  }

  /** Waits until a job satisfies the condition. */
  async until(id: string, matches: (job: Job) => boolean | Promise<boolean>): Promise<Job> {
    const until = performance.now() + TIMEOUT_MS;
    for (;;) {
      const job = await this.job(id);
      if (await matches(job)) return job;
      assert.ok(performance.now() < until, `Timed out waiting for: ${JSON.stringify(job)}`);
      await pause(POLL_MS);
    }
  }
}

/** A check whose children outlive it: one in its session, one in a session of its own. */
const TREE = [
  'echo $$ >> "$0.part"; sleep 300 & echo $! >> "$0.part"',
  `setsid sh -c 'echo $$ >> "$0.part"; sleep 300 & echo $! >> "$0.part"; mv "$0.part" "$0"; wait' "$0" &`,
  "wait",
].join("\n");

Deno.test({
  name: "kill -9 while a check runs: the next daemon ends the check with all that it started",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using state = temporary();
    const list = `${state.path}/pids`;
    const checks = { slow: { argv: ["sh", "-c", TREE, list], timeout_seconds: 600 } };
    const settings = { ...SETTINGS, MESH_JOBS__CHECKS: JSON.stringify(checks) };
    await using executor = new FakeExecutor();
    await using fixture = new JobsFixture(state.path, settings);
    await fixture.start();
    await executor.register(fixture);
    await advanceToPhase("checking", fixture, executor);
    const text = await until("the processes of the check", () => readTextOrNothing(list));
    const pids = text.trim().split("\n").map(Number);
    assert.equal(pids.length, 4);
    const running = () => pids.filter((pid) => isAlive(pid));
    assert.deepEqual(running(), pids);
    await fixture.kill();
    assert.deepEqual(running(), pids, "nobody could end them");
    await fixture.start();
    await until("the end of the check's processes", () => running().length === 0);
    assert.ok(isAlive(executor.pid), "a process of somebody else goes on");
  },
});

const PHASES = ["queued", "dispatching", "delivered", "running", "checking"] as const;

/** Brings a job to a phase; returns its id. */
async function advanceToPhase(
  phase: typeof PHASES[number],
  fixture: JobsFixture,
  executor: FakeExecutor,
): Promise<string> {
  const due_at = new Date(Date.now() + (phase === "queued" ? 1500 : 0)).toISOString();
  const { job_id } = await fixture.post("/jobs", {
    title: "Mend",
    assigned_peer: "hand",
    due_at,
    checks: ["slow"],
  });
  if (phase === "queued") return job_id;
  await fixture.until(job_id, ({ state }) => state === "dispatching");
  if (phase === "dispatching") return job_id;
  await executor.lease(fixture);
  const [delivery_id = ""] = executor.waiting;
  if (phase === "delivered") return job_id;
  await executor.beginTurn(fixture, delivery_id);
  if (phase === "running") return job_id;
  await executor.endTurn(fixture, "Mended");
  await fixture.until(job_id, ({ phase }) => phase === "checking");
  return job_id;
}

for (const phase of PHASES) {
  Deno.test(`kill -9 while a fire is ${phase}: the next daemon completes it, and it runs once`, async () => {
    using state = temporary();
    await using executor = new FakeExecutor();
    await using fixture = new JobsFixture(state.path);
    await fixture.start();
    await executor.register(fixture);
    const job_id = await advanceToPhase(phase, fixture, executor);
    await fixture.kill();
    await fixture.start();
    if (phase === "queued" || phase === "dispatching") {
      await fixture.until(job_id, ({ state }) => state === "dispatching");
      await executor.lease(fixture);
    }
    const [delivery_id = ""] = executor.received.keys();
    if (phase !== "running" && phase !== "checking") {
      assert.equal((await fixture.job(job_id)).state, "delivered");
      await executor.beginTurn(fixture, delivery_id);
    }
    if (phase !== "checking") await executor.endTurn(fixture, "Mended");
    const done = await fixture.until(job_id, ({ state }) => state === "completed");
    assert.deepEqual([done.result_summary, done.runner.attempt_count], ["Mended", 1]);
    await executor.lease(fixture);
    assert.equal(
      executor.received.size,
      1,
      "it got one message, whatever happened to the daemon",
    );
  });
}

for (const phase of ["delivered", "running"] as const) {
  Deno.test(`kill -9 while a fire is ${phase}, and its executor dies too: the fire fails and is retried`, async () => {
    using state = temporary();
    await using executor = new FakeExecutor();
    await using fixture = new JobsFixture(state.path);
    await fixture.start();
    await executor.register(fixture);
    const job_id = await advanceToPhase(phase, fixture, executor);
    await fixture.kill();
    await executor.terminate();
    await fixture.start();
    const failed = await fixture.until(job_id, ({ state }) => state === "failed");
    assert.equal(failed.state_reason, "executor_died");
    await fixture.post(`/jobs/${job_id}/retry`, {});
    await using next = new FakeExecutor();
    await next.register(fixture);
    const { state_reason, runner } = await fixture.job(job_id);
    assert.deepEqual([state_reason, runner.attempts[0]?.state], ["executor_offline", "failed"]);
  });
}

Deno.test("a recurring job fires once for all the fires it missed, through kill -9", async () => {
  using state = temporary();
  await using executor = new FakeExecutor();
  await using fixture = new JobsFixture(state.path);
  await fixture.start();
  await executor.register(fixture);
  const body = { title: "Look", assigned_peer: "hand", cron: "* * * * *" };
  const { calendar_id } = await fixture.post("/jobs", body);
  await fixture.post(`/jobs/${calendar_id}/run`, {});
  for (let life = 0; life < 3; life++) {
    await fixture.kill();
    await fixture.start();
  }
  const { occurrences, next_due_at } = await fixture.get(`/jobs/${calendar_id}`);
  const { work } = await fixture.get("/jobs");
  assert.equal(work.length, occurrences);
  assert.ok(occurrences === 1 || occurrences === 2, "by hand, and perhaps by a minute that passed");
  assert.ok(Date.parse(next_due_at) > Date.now() - 1000);
});

const RUNS = 8;
const JOBS_PER_RUN = 12;

Deno.test("every acknowledged job is done once in the end, through kills at any moment", async () => {
  const seed = Date.now() % 1_000_000, chance = new Chance(seed);
  using state = temporary();
  await using executor = new FakeExecutor();
  await using fixture = new JobsFixture(state.path);
  const acknowledged = new Set<string>();
  const deliveriesByJob = new Map<string, Set<string>>();
  /** Works on one message after the other until the daemon is gone. */
  const work = async () => {
    for (;;) {
      await executor.lease(fixture);
      const delivery_id = executor.waiting.at(0);
      if (delivery_id === undefined) return;
      const { text = "" } = executor.received.get(delivery_id) ?? {};
      const job_id = /\[job (work-[0-9a-f]{12})/.exec(text)?.[1] ?? "";
      deliveriesByJob.getOrInsertComputed(job_id, () => new Set()).add(delivery_id);
      await executor.beginTurn(fixture, delivery_id);
      await executor.endTurn(fixture, `Did ${job_id}`);
      executor.waiting.shift();
    }
  };
  const isCut = (error: unknown) =>
    error instanceof TypeError || error instanceof Deno.errors.ConnectionReset ||
    error instanceof SyntaxError;
  for (let life = 0; life < RUNS; life++) {
    await fixture.start();
    if (life === 0) await executor.register(fixture);
    let stopped = false;
    const lane = async () => {
      for (let count = 0; count < JOBS_PER_RUN && !stopped; count++) {
        const { job_id } = await fixture.post("/jobs", { title: "Do", assigned_peer: "hand" });
        if (job_id) acknowledged.add(job_id);
        await work();
      }
    };
    const working = lane().catch((error) => {
      if (!isCut(error)) throw error;
    });
    await until("a job of this run", () => acknowledged.size > life);
    await pause(chance.below(250));
    await fixture.kill();
    stopped = true;
    await working;
  }
  await fixture.start();
  for (const job_id of acknowledged) {
    const job = await fixture.until(job_id, async ({ state }) => {
      await work();
      return state === "completed" || state === "failed";
    });
    const reason = `seed ${seed}: ${JSON.stringify(job)}`;
    // The worker was idle after the restart: the report of its last turn may have been lost.
    if (job.state === "failed") assert.equal(job.state_reason, "turn_end_unseen", reason);
    else assert.equal(job.result_summary, `Did ${job_id}`, reason);
    assert.ok((deliveriesByJob.get(job_id)?.size ?? 0) <= 1, `It was given twice, ${reason}`);
    assert.equal(job.runner.attempt_count, 1, reason);
  }
});
