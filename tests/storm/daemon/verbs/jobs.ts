/** Verbs about jobs: they are created, begun, ended, held, cancelled and retried. */

import type { Storm, Verb } from "../storm.ts";

// deno-fmt-ignore
export const JOB_VERBS: readonly Verb[] = [
  { name: "create a job",     weight: 10, run: createJob },
  { name: "create a recurring job", weight: 2, run: createRecurringJob },
  { name: "create a job for a new agent", weight: 1, run: (storm) => storm.post("/jobs", { title: storm.nextText(), path: "/work", backend: "codex" }) },
  { name: "a turn begins",     weight: 9,  run: beginTurn },
  { name: "a turn ends",       weight: 7,  run: endTurn },
  { name: "hold a fire",       weight: 3,  run: (storm) => patch(storm, { phase: storm.chance.pick(["waiting", "turn_started"]) }) },
  { name: "report the state of a job",      weight: 5,  run: report },
  { name: "run a job",         weight: 3,  run: (storm) => postToJob(storm, "run") },
  { name: "retry a job",       weight: 4,  run: (storm) => postToJob(storm, "retry") },
  { name: "cancel a job",    weight: 2,  run: (storm) => postToJob(storm, "cancel") },
  { name: "pause or resume",   weight: 2,  run: (storm) => postToTemplate(storm, storm.chance.pick(["pause", "resume", "run"])) },
  { name: "cancel a recurring job",     weight: 1,  run: (storm) => postToTemplate(storm, "cancel") },
];

async function createJob(storm: Storm): Promise<void> {
  const { chance } = storm;
  const now = storm.w.clock.now();
  const later = (seconds: number) => new Date(now + seconds * 1000).toISOString();
  await storm.post("/jobs", {
    title: storm.nextText(),
    assigned_peer: storm.anyPeerName(),
    created_by: storm.anyPeerName(),
    ...(chance.oneIn(3) && { owner_peer: storm.actor().name }),
    ...(chance.oneIn(4) && { due_at: later(chance.below(120)) }),
    ...(chance.oneIn(4) && { expires_at: later(chance.below(900)) }),
    ...(chance.oneIn(4) && { deadline_at: later(chance.below(900)) }),
  });
}

async function createRecurringJob(storm: Storm): Promise<void> {
  const cron = storm.chance.pick(["* * * * *", "*/5 * * * *", "@hourly"]);
  await storm.post("/jobs", { title: storm.nextText(), assigned_peer: storm.actor().name, cron });
}

/** An attempt in progress that has a message. */
function pickAttempt({ before, chance }: Storm) {
  const open = before.attempts.filter(({ ended_at, delivery_id }) =>
    ended_at === null && delivery_id !== null
  );
  return open.length > 0 ? chance.pick(open) : undefined;
}

/** Reports the prompt of an attempt; nobody can know the id of a message that is still queued. */
async function beginTurn(storm: Storm): Promise<void> {
  const { executor_peer_id, delivery_id } = pickAttempt(storm) ?? {};
  if (!executor_peer_id || !delivery_id) return;
  const { state } = storm.before.byIdent.get(delivery_id.slice("notif-".length)) ?? {};
  if (state === undefined || state === "queued") return;
  const prompt = `[mesh ${delivery_id}]`;
  const turn = { turn_state: "working", prompt };
  const answer = await storm.post(`/peers/${executor_peer_id}/turn`, turn);
  if (answer.http === 200) storm.recordReceipt(executor_peer_id, delivery_id);
}

async function endTurn(storm: Storm): Promise<void> {
  const { executor_peer_id } = pickAttempt(storm) ?? {};
  if (!executor_peer_id) return;
  const turn = { turn_state: "idle", last_message: storm.nextText() };
  await storm.post(`/peers/${executor_peer_id}/turn`, turn);
}

function pickJob({ before, chance }: Storm): string | undefined {
  const ids = [...before.jobs.keys()];
  return ids.length > 0 ? chance.pick(chance.oneIn(2) ? ids.slice(-4) : ids) : undefined;
}

async function patch(storm: Storm, body: Record<string, unknown>): Promise<void> {
  const id = pickJob(storm);
  if (id === undefined) return;
  await storm.w.fetch(`/jobs/${id}`, { method: "PATCH", body: JSON.stringify(body) });
}

async function report(storm: Storm): Promise<void> {
  const states = ["running", "awaiting_input", "blocked", "completed", "failed", "cancelled"];
  const attempt = pickAttempt(storm);
  const attempt_id = storm.chance.oneIn(2) ? attempt?.attempt_id : undefined;
  const state = storm.chance.pick(states);
  const update = { state, progress_note: "Noted", ...(attempt_id && { attempt_id }) };
  if (!attempt || storm.chance.oneIn(3)) return await patch(storm, update);
  const init = { method: "PATCH", body: JSON.stringify(update) };
  await storm.w.fetch(`/jobs/${attempt.job_id}`, init);
}

async function postToJob(storm: Storm, verb: string): Promise<void> {
  const id = pickJob(storm);
  if (id !== undefined) await storm.post(`/jobs/${id}/${verb}`, {});
}

async function postToTemplate(storm: Storm, verb: string): Promise<void> {
  const ids = [...storm.before.templates.keys()];
  if (ids.length > 0) await storm.post(`/jobs/${storm.chance.pick(ids)}/${verb}`, {});
}
