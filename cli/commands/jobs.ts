/** The commands of jobs: work that outlives the one who asks for it. */

import type { Wire } from "kit/http/client.ts";
import { parseFromNow } from "kit/core/duration.ts";
import { pause } from "kit/core/timeout.ts";
import { listPeers } from "../../daemon/features/peers/contract.ts";
import { Backend } from "../../daemon/features/agents/contract.ts";
import {
  cancelJob,
  Continuity,
  createJob,
  getJob,
  jobResult,
  listJobs,
  pauseJob,
  REPORTED,
  resumeJob,
  retryJob,
  runJob,
  TERMINAL,
  updateJob,
} from "../../daemon/features/jobs/contract.ts";
import {
  type Command,
  interruptible,
  JSON_FLAG,
  type Session,
  verb,
  type Words,
} from "../command/command.ts";
import { EXIT, Misused } from "../client/failures.ts";
import { showJob, showJobs, showResult, showStep } from "../output/jobs.ts";
import { ink, print, printJson, type Terminal } from "../output/print.ts";

type Any = Wire<typeof getJob>;
export type WireJob = Extract<Any, { job_id: string }>;

const FOLLOW_FLAG = { "--follow": "show how it goes until it is done" } as const;
/** How often a job that is followed is looked at. */
const LOOK_EVERY_MS = 500;
/** How much of a prompt its title is. */
const TITLE_CHARS_MAX = 72;

const CREATE_FLAGS = {
  "--to <peer>": "the peer that does it",
  "--path <folder>": "or: an agent is started here for it",
  "--backend <backend>": `with --path: one of ${Backend.options.join(", ")}`,
  "--profile <name>": "with --path: a profile of spawn.profiles",
  "--persistent": "with --path: the agent stays when the job is done",
  "--continuity <how>": "fresh, or resume: takes up the session of the last time",
  "--title <text>": "what lists show; the first line of the text by default",
  "--circle <name>": "the circle it belongs to",
  "--owner <peer>": "who is told of the end; you by default",
  "--due <when>": "not before: an instant, or 10m, 2h, 3d from now",
  "--cron <pattern>": 'again and again: five fields, such as "0 9 * * 1-5"',
  "--timezone <zone>": "of --cron; your own by default",
  "--deadline <when>": "you are told when it is not done by then",
  "--expires <when>": "not begun by then, it is dropped",
  "--check <name> ...": "a check of jobs.checks that must pass",
  ...FOLLOW_FLAG,
} as const;

const list = verb({
  words: "jobs list",
  summary: "List jobs and recurring jobs, newest first",
  flags: {
    "--state <state>": "only those in this state",
    "--owner <peer>": "only this peer's",
    "--circle <name>": "only of this circle",
    "--limit <count>": "at most so many",
  },
  example: "mesh jobs list --state running",
  call: ({ call }, words) => {
    const limit = words.number("limit");
    const state = listJobs.query.shape.state.safeParse(words.maybe("state"));
    if (!state.success) throw new Misused(`--state: no such state: "${words.maybe("state")}"`);
    return call(listJobs, {
      query: {
        view: "summary",
        state: state.data,
        owner_peer_id: words.maybe("owner"),
        circle: words.maybe("circle"),
        ...(limit !== undefined && { limit: String(limit) }),
      },
    });
  },
  show: async (jobs, { terminal, clock, call }) => {
    const { peers } = await call(listPeers, { query: {} });
    const names = new Map(peers.map(({ peer_id, name }) => [peer_id, name]));
    showJobs(terminal, jobs, { clock, names });
  },
});

/** A verb that shows one job, and follows it where that is asked for. */
function shower(name: string, summary: string): Command {
  return {
    words: `jobs ${name} <id>`,
    summary,
    flags: { ...FOLLOW_FLAG, ...JSON_FLAG },
    example: `mesh jobs ${name} work-3f9c04d1a2b7 --follow`,
    run: async (session, words) => {
      const found = await session.call(getJob, { params: { id: words.text("id") } });
      if (words.flag("follow")) return await tell(session, words, found);
      if (words.flag("json")) printJson(session.terminal, found);
      else showJob(session.terminal, found);
      return EXIT.done;
    },
  };
}

/** A verb on one job, whose record is shown in a line. */
function onJob(
  name: string,
  contract: typeof runJob | typeof retryJob | typeof pauseJob | typeof resumeJob,
  { summary, flags }: { summary: string; flags?: Record<string, string> },
): Command {
  return {
    words: `jobs ${name} <id>`,
    summary,
    flags: { ...flags, ...JSON_FLAG },
    example: `mesh jobs ${name} ${
      name === "pause" || name === "resume" ? "cal" : "work"
    }-3f9c04d1a2b7`,
    run: async (session, words) => {
      const done = await session.call(contract as typeof runJob, {
        params: { id: words.text("id") },
        body: {},
      });
      return await tell(session, words, done);
    },
  };
}

export const JOB_COMMANDS: readonly Command[] = [
  {
    ...list,
    words: "jobs",
    summary: "Jobs: durable work, once or recurring",
    example: "mesh jobs",
  },
  {
    words: "jobs create <text>",
    summary: "Hand out work, to a peer or to an agent that is started for it",
    flags: { ...CREATE_FLAGS, "--from <peer>": "who speaks", ...JSON_FLAG },
    example: 'mesh jobs create "Mend the flaky test" --path ~/work/api --backend claude-code',
    run: create,
  },
  list,
  shower("show", "Show a job, or a recurring one by its cal-… id"),
  shower("status", "The same as show"),
  verb({
    words: "jobs result <id>",
    summary: "Print what has come of a job",
    example: "mesh jobs result work-3f9c04d1a2b7",
    call: ({ call }, words) => call(jobResult, { params: { id: words.text("id") } }),
    show: (result, { terminal }) => showResult(terminal, result),
  }),
  onJob("run", runJob, {
    summary: "Begin now what waits, failed, or is recurring",
    flags: FOLLOW_FLAG,
  }),
  onJob("retry", retryJob, {
    summary: "Try anew what failed or was not begun",
    flags: FOLLOW_FLAG,
  }),
  verb({
    words: "jobs cancel <id> [reason]",
    summary: "Call a job off, or a recurring one for good",
    example: 'mesh jobs cancel work-3f9c04d1a2b7 "Not needed any more"',
    call: ({ call }, words) => {
      const reason = words.maybe("reason");
      const params = { id: words.text("id") };
      return call(cancelJob, { params, body: { ...(reason !== undefined && { reason }) } });
    },
    show: (done, { terminal }) => showLine(terminal, done),
  }),
  onJob("pause", pauseJob, { summary: "Let a recurring job fire no more, until it is resumed" }),
  onJob("resume", resumeJob, { summary: "Let a paused job fire again, from now on" }),
  {
    words: "jobs update <id>",
    summary: "Tell how a job goes; a phase of its own holds it open beyond the turn",
    flags: {
      "--state <state>": `one of ${REPORTED.join(", ")}`,
      "--attempt <id>": "the attempt that speaks; needed to end the job",
      "--phase <word>": "what it is at; turn_started lets the next turn complete it",
      "--progress <percent>": "0 to 100",
      "--note <text>": "a line for its history",
      "--result <text>": "what has come of it",
      "--error <text>": "why it failed",
      ...JSON_FLAG,
    },
    example: "mesh jobs update work-3f9c04d1a2b7 --phase waiting_for_ci --progress 60",
    run: update,
  },
];

async function create(session: Session, words: Words): Promise<number> {
  const { clock } = session;
  const at = (flag: string) => instantOf(flag, words.maybe(flag), clock.now());
  const times = { due_at: at("due"), deadline_at: at("deadline"), expires_at: at("expires") };
  const continuity = Continuity.optional().safeParse(words.maybe("continuity"));
  if (!continuity.success) throw new Misused("--continuity: fresh or resume");
  const path = words.maybe("path"), cron = words.maybe("cron");
  const zone = words.maybe("timezone") ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const prompt = await session.said(words.text("text"));
  const { peer, known } = await session.sender(words);
  const owner = words.maybe("owner") ?? (known === "nobody" ? undefined : peer);
  const made = await session.call(createJob, {
    body: {
      prompt,
      title: words.maybe("title") ?? firstLineOf(prompt),
      assigned_peer: words.maybe("to"),
      path: path === undefined || /^[/~]/.test(path) ? path : `${Deno.cwd()}/${path}`,
      backend: backendOf(words),
      profile: words.maybe("profile"),
      process_scope: words.flag("persistent") ? "persistent" : undefined,
      continuity: continuity.data,
      circle: words.maybe("circle"),
      owner_peer: owner,
      created_by: peer,
      ...times,
      cron,
      timezone: cron === undefined ? words.maybe("timezone") : zone,
      checks: words.list("check"),
    },
  });
  return await tell(session, words, made);
}

async function update(session: Session, words: Words): Promise<number> {
  const state = updateJob.body.shape.state.safeParse(words.maybe("state"));
  if (!state.success) throw new Misused(`--state: one of ${REPORTED.join(", ")}`);
  const said = async (flag: string) => {
    const text = words.maybe(flag);
    return text === undefined ? undefined : await session.said(text);
  };
  const done = await session.call(updateJob, {
    params: { id: words.text("id") },
    body: {
      state: state.data,
      attempt_id: words.maybe("attempt"),
      phase: words.maybe("phase"),
      progress: words.number("progress"),
      progress_note: words.maybe("note"),
      result_summary: await said("result"),
      error: await said("error"),
    },
  });
  return await tell(session, words, done);
}

/** Prints what a verb has done, and where it was asked for follows the job to its end. */
async function tell(session: Session, words: Words, done: Any): Promise<number> {
  const { terminal } = session;
  const follow = words.flag("follow") && "job_id" in done;
  if (follow) return await followJob(session, words, done);
  if (words.flag("json")) printJson(terminal, done);
  else showLine(terminal, done);
  return EXIT.done;
}

function showLine(to: Terminal, done: Any): void {
  if ("job_id" in done) return showStep(to, done);
  const next = done.next_due_at === null ? "" : `  next ${done.next_due_at}`;
  print(to, ink("cyan", done.calendar_id), `  ${done.state}${next}`);
}

/** A line for each state and phase; the exit code says whether it was completed. */
async function followJob(session: Session, words: Words, first: WireJob): Promise<number> {
  const { terminal, clock } = session;
  const json = words.flag("json");
  const last = await interruptible(async (signal) => {
    let job: WireJob = first;
    for (let seen = "";;) {
      const now = [job.state, job.phase, job.state_reason, job.progress].join();
      if (!json && now !== seen) showStep(terminal, job);
      seen = now;
      if (TERMINAL.includes(job.state) || signal.aborted) return job;
      await pause(clock, LOOK_EVERY_MS, signal);
      const found = await session.call(getJob, { params: { id: job.job_id } });
      if ("job_id" in found) job = found;
    }
  });
  if (json) printJson(terminal, last);
  else if (TERMINAL.includes(last.state)) showResult(terminal, last);
  if (!TERMINAL.includes(last.state)) return EXIT.interrupted;
  return last.state === "completed" ? EXIT.done : EXIT.refused;
}

function backendOf(words: Words): Backend | undefined {
  const backend = Backend.optional().safeParse(words.maybe("backend"));
  if (backend.success) return backend.data;
  throw new Misused(`--backend: one of ${Backend.options.join(", ")}`);
}

function firstLineOf(text: string): string {
  const line = text.trim().split("\n")[0]?.trim() ?? "";
  return line.length > TITLE_CHARS_MAX
    ? `${line.slice(0, TITLE_CHARS_MAX - 1).toWellFormed()}…`
    : line;
}

/** The last instant that a `Date` can hold. */
const INSTANT_MAX = 8.64e15;

/** An instant as RFC 3339 has it, or so far from now: `10m`, `in 2h`. */
function instantOf(flag: string, said: string | undefined, now: number): string | undefined {
  if (said === undefined) return undefined;
  const in_ms = parseFromNow(said.trim());
  if (in_ms !== undefined && now + in_ms <= INSTANT_MAX) return new Date(now + in_ms).toISOString();
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(said) && !Number.isNaN(Date.parse(said))) {
    return new Date(said).toISOString();
  }
  throw new Misused(`--${flag}: not an instant: "${said}"; say 10m, 2h, or 2026-11-20T17:40:00Z`);
}
