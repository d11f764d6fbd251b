/** Invariants of jobs: one state and one attempt each, legal transitions, final ends. */

import assert from "node:assert/strict";
import { attemptMachine, jobMachine, templateMachine } from "protocol/jobs/states.ts";
import type { Job, Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const JOB_INVARIANTS: readonly Invariant[] = [
  { name: "a job takes legal transitions only, and reports each of them", check: steps },
  { name: "a job that has ended stays as it is, unless it is retried", check: checkFinal },
  {
    name: "a job has at most one open attempt, and its state says whether it has one",
    check: attempts,
  },
  { name: "a job has a lease exactly while it is dispatching", check: checkLeases },
  { name: "after a tick, no queued or dispatching job has expired", check: checkExpired },
  {
    name: "an attempt is armed before a turn completes it, and ends once",
    check: checkAttemptTransitions,
  },
  {
    name: "a message belongs to one attempt, and an attempt has at most one message",
    check: messages,
  },
  {
    name: "an active template has a next due time, and a cancelled one stays cancelled",
    check: templates,
  },
];

const EDGES = new Set<string>(jobMachine.rows.map(([from, , to]) => `${from} ${to}`));
const UNDER_WAY = new Set(["dispatching", "delivered", "running", "awaiting_input", "blocked"]);
const FINAL = new Set<string>(jobMachine.states.filter((state) => jobMachine.isFinal(state)));

/** The events of this step lead from the previous state to the current one, row by row. */
function steps(storm: Storm, { jobs, last_event }: Snapshot): void {
  const { before } = storm;
  const states = new Map([...before.jobs].map(([id, { state }]) => [id, state]));
  const log = storm.w.daemon.ctx.events;
  const since = Math.min(before.last_event, last_event);
  for (const event of log.read({ since, limit: 100_000, type: "job_state_changed" })) {
    if (event.type !== "job_state_changed") continue;
    const { job_id, prior_state, state } = event.data;
    const previous = states.get(job_id);
    assert.equal(prior_state, previous ?? null, `${job_id} was ${previous}`);
    const isLegal = previous === undefined ? state === "queued" : EDGES.has(`${previous} ${state}`);
    assert.ok(isLegal, `${job_id}: ${previous} → ${state}`);
    states.set(job_id, state);
  }
  for (const [id, { state }] of jobs) {
    assert.equal(states.get(id), state, `${id}: the reported state differs`);
  }
}

function checkFinal({ before }: Storm, { jobs }: Snapshot): void {
  for (const [id, previous] of before.jobs) {
    if (!FINAL.has(previous.state)) continue;
    const now = jobs.get(id);
    if (now) assert.deepEqual(now, previous, `${id} has ended`);
  }
}

function attempts(_: Storm, { jobs, attempts }: Snapshot): void {
  const open = Map.groupBy(
    attempts.filter(({ ended_at }) => ended_at === null),
    ({ job_id }) => job_id,
  );
  for (const [id, { state, current_attempt_id }] of jobs) {
    const [attempt, ...more] = open.get(id) ?? [];
    assert.equal(more.length, 0, `${id} has ${more.length + 1} attempts under way`);
    assert.equal(attempt !== undefined, UNDER_WAY.has(state), `${id} is ${state}`);
    assert.equal(current_attempt_id, attempt?.attempt_id ?? null, id);
  }
}

function checkLeases(_: Storm, { jobs }: Snapshot): void {
  for (const [id, { state, lease_until }] of jobs) {
    assert.equal(lease_until !== null, state === "dispatching", `${id} is ${state}`);
  }
}

function checkExpired(storm: Storm, { jobs }: Snapshot): void {
  if (!storm.hasTicked) return;
  const now = storm.w.clock.now();
  const isLate = ({ state, expires_at }: Job) =>
    (state === "queued" || state === "dispatching") && expires_at !== null && expires_at <= now;
  assert.deepEqual([...jobs.values()].filter(isLate), []);
}

function checkAttemptTransitions({ before }: Storm, { attempts }: Snapshot): void {
  for (const { attempt_id, state, ended_at, armed_at } of attempts) {
    assert.equal(ended_at !== null, attemptMachine.isFinal(state as never), attempt_id);
    assert.equal(state === "running" && armed_at === null, false, attempt_id);
    const previous = before.attempts.find((row) => row.attempt_id === attempt_id);
    if (previous && previous.ended_at !== null) {
      assert.deepEqual([previous.state, previous.ended_at], [state, ended_at]);
    }
  }
}

function messages(_: Storm, { attempts }: Snapshot): void {
  const ids = attempts.flatMap(({ delivery_id }) => delivery_id ?? []);
  assert.equal(new Set(ids).size, ids.length, "a message of two attempts");
}

function templates(storm: Storm, { templates }: Snapshot): void {
  for (const [id, { state, next_due_at }] of templates) {
    assert.ok((templateMachine.states as readonly string[]).includes(state), id);
    assert.equal(next_due_at === null, state !== "active", `${id} is ${state}`);
    const previous = storm.before.templates.get(id);
    if (previous?.state === "cancelled") assert.equal(state, "cancelled", id);
  }
}
