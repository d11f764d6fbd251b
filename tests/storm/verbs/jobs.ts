/** Verbs of a storm about jobs: work is handed out, begun, ended, held, called off, tried again. */

import type { Storm, Verb } from "../storm.ts";

// deno-fmt-ignore
export const ABOUT_JOBS: readonly Verb[] = [
  { name: "hand out work",     weight: 10, run: handOut },
  { name: "work again and again", weight: 2, run: recur },
  { name: "start an agent for it", weight: 1, run: (storm) => storm.post("/jobs", { title: storm.words(), path: "/work", backend: "codex" }) },
  { name: "a turn begins",     weight: 9,  run: begin },
  { name: "a turn ends",       weight: 7,  run: end },
  { name: "hold a fire",       weight: 3,  run: (storm) => patch(storm, { phase: storm.chance.pick(["waiting", "turn_started"]) }) },
  { name: "report a job",      weight: 5,  run: report },
  { name: "run a job",         weight: 3,  run: (storm) => onJob(storm, "run") },
  { name: "retry a job",       weight: 4,  run: (storm) => onJob(storm, "retry") },
  { name: "call a job off",    weight: 2,  run: (storm) => onJob(storm, "cancel") },
  { name: "pause or resume",   weight: 2,  run: (storm) => onTemplate(storm, storm.chance.pick(["pause", "resume", "run"])) },
  { name: "no more of it",     weight: 1,  run: (storm) => onTemplate(storm, "cancel") },
];

async function handOut(storm: Storm): Promise<void> {
  const { chance } = storm;
  const now = storm.w.clock.now();
  const later = (seconds: number) => new Date(now + seconds * 1000).toISOString();
  await storm.post("/jobs", {
    title: storm.words(),
    assigned_peer: storm.somebody(),
    created_by: storm.somebody(),
    ...(chance.oneIn(3) && { owner_peer: storm.actor().name }),
    ...(chance.oneIn(4) && { due_at: later(chance.below(120)) }),
    ...(chance.oneIn(4) && { expires_at: later(chance.below(900)) }),
    ...(chance.oneIn(4) && { deadline_at: later(chance.below(900)) }),
  });
}

async function recur(storm: Storm): Promise<void> {
  const cron = storm.chance.pick(["* * * * *", "*/5 * * * *", "@hourly"]);
  await storm.post("/jobs", { title: storm.words(), assigned_peer: storm.actor().name, cron });
}

/** An attempt that is under way, with its message. */
function anAttempt({ before, chance }: Storm) {
  const open = before.attempts.filter(({ ended_at, delivery_id }) =>
    ended_at === null && delivery_id !== null
  );
  return open.length > 0 ? chance.pick(open) : undefined;
}

/** Its prompt is observed; of a message that is queued still, nobody can have the id. */
async function begin(storm: Storm): Promise<void> {
  const { executor_peer_id, delivery_id } = anAttempt(storm) ?? {};
  if (!executor_peer_id || !delivery_id) return;
  const { state } = storm.before.byIdent.get(delivery_id.slice("notif-".length)) ?? {};
  if (state === undefined || state === "queued") return;
  const prompt = `[mesh ${delivery_id}]`;
  const turn = { turn_state: "working", prompt };
  const answer = await storm.post(`/peers/${executor_peer_id}/turn`, turn);
  if (answer.http === 200) storm.settled(executor_peer_id, delivery_id);
}

async function end(storm: Storm): Promise<void> {
  const { executor_peer_id } = anAttempt(storm) ?? {};
  if (!executor_peer_id) return;
  const turn = { turn_state: "idle", last_message: storm.words() };
  await storm.post(`/peers/${executor_peer_id}/turn`, turn);
}

function aJob({ before, chance }: Storm): string | undefined {
  const known = [...before.jobs.keys()];
  return known.length > 0 ? chance.pick(chance.oneIn(2) ? known.slice(-4) : known) : undefined;
}

async function patch(storm: Storm, body: Record<string, unknown>): Promise<void> {
  const id = aJob(storm);
  if (id === undefined) return;
  await storm.w.fetch(`/jobs/${id}`, { method: "PATCH", body: JSON.stringify(body) });
}

async function report(storm: Storm): Promise<void> {
  const states = ["running", "awaiting_input", "blocked", "completed", "failed", "cancelled"];
  const attempt = anAttempt(storm);
  const attempt_id = storm.chance.oneIn(2) ? attempt?.attempt_id : undefined;
  const state = storm.chance.pick(states);
  const said = { state, progress_note: "Noted", ...(attempt_id && { attempt_id }) };
  if (!attempt || storm.chance.oneIn(3)) return await patch(storm, said);
  const init = { method: "PATCH", body: JSON.stringify(said) };
  await storm.w.fetch(`/jobs/${attempt.job_id}`, init);
}

async function onJob(storm: Storm, verb: string): Promise<void> {
  const id = aJob(storm);
  if (id !== undefined) await storm.post(`/jobs/${id}/${verb}`, {});
}

async function onTemplate(storm: Storm, verb: string): Promise<void> {
  const known = [...storm.before.templates.keys()];
  if (known.length > 0) await storm.post(`/jobs/${storm.chance.pick(known)}/${verb}`, {});
}
