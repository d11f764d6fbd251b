/** The commands of jobs: work that outlives the one who asks for it. */

import type { WireResponse } from "kit/http/client.ts";
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
  TERMINAL_STATES,
  updateJob,
} from "../../daemon/features/jobs/contract.ts";
import {
  apiCommand,
  type Args,
  type Command,
  type CommandContext,
  interruptible,
  JSON_FLAG,
} from "../command/command.ts";
import { EXIT, UsageError } from "../client/failures.ts";
import { showJob, showJobs, showResult, showStep } from "../output/job_views.ts";
import { print, printJson, styled, type Terminal } from "../output/terminal.ts";

type JobOrRecurring = WireResponse<typeof getJob>;
export type Job = Extract<JobOrRecurring, { job_id: string }>;

const FOLLOW_FLAG = { "--follow": "show how it goes until it is done" } as const;
/** How often a job that is followed is looked at. */
const POLL_INTERVAL_MS = 500;
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

const list = apiCommand({
  usage: "jobs list",
  summary: "List jobs and recurring jobs, newest first",
  flags: {
    "--state <state>": "only those in this state",
    "--owner <peer>": "only this peer's",
    "--circle <name>": "only of this circle",
    "--limit <count>": "at most so many",
  },
  example: "mesh jobs list --state running",
  call: ({ call }, args) => {
    const limit = args.number("limit");
    const state = listJobs.query.shape.state.safeParse(args.get("state"));
    if (!state.success) throw new UsageError(`--state: no such state: "${args.get("state")}"`);
    return call(listJobs, {
      query: {
        view: "summary",
        state: state.data,
        owner_peer_id: args.get("owner"),
        circle: args.get("circle"),
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
function showCommand(name: string, summary: string): Command {
  return {
    usage: `jobs ${name} <id>`,
    summary,
    flags: { ...FOLLOW_FLAG, ...JSON_FLAG },
    example: `mesh jobs ${name} work-3f9c04d1a2b7 --follow`,
    run: async (context, args) => {
      const found = await context.call(getJob, { params: { id: args.text("id") } });
      if (args.flag("follow")) return await printOutcome(context, args, found);
      if (args.flag("json")) printJson(context.terminal, found);
      else showJob(context.terminal, found);
      return EXIT.done;
    },
  };
}

/** A verb on one job, whose record is shown in a line. */
function jobCommand(
  name: string,
  contract: typeof runJob | typeof retryJob | typeof pauseJob | typeof resumeJob,
  { summary, flags }: { summary: string; flags?: Record<string, string> },
): Command {
  return {
    usage: `jobs ${name} <id>`,
    summary,
    flags: { ...flags, ...JSON_FLAG },
    example: `mesh jobs ${name} ${
      name === "pause" || name === "resume" ? "cal" : "work"
    }-3f9c04d1a2b7`,
    run: async (context, args) => {
      const done = await context.call(contract as typeof runJob, {
        params: { id: args.text("id") },
        body: {},
      });
      return await printOutcome(context, args, done);
    },
  };
}

export const JOB_COMMANDS: readonly Command[] = [
  {
    ...list,
    usage: "jobs",
    summary: "Jobs: durable work, once or recurring",
    example: "mesh jobs",
  },
  {
    usage: "jobs create <text>",
    summary: "Hand out work, to a peer or to an agent that is started for it",
    flags: { ...CREATE_FLAGS, "--from <peer>": "who speaks", ...JSON_FLAG },
    example: 'mesh jobs create "Mend the flaky test" --path ~/work/api --backend claude-code',
    run: create,
  },
  list,
  showCommand("show", "Show a job, or a recurring one by its cal-… id"),
  showCommand("status", "The same as show"),
  apiCommand({
    usage: "jobs result <id>",
    summary: "Print what has come of a job",
    example: "mesh jobs result work-3f9c04d1a2b7",
    call: ({ call }, args) => call(jobResult, { params: { id: args.text("id") } }),
    show: (result, { terminal }) => showResult(terminal, result),
  }),
  jobCommand("run", runJob, {
    summary: "Begin now what waits, failed, or is recurring",
    flags: FOLLOW_FLAG,
  }),
  jobCommand("retry", retryJob, {
    summary: "Try anew what failed or was not begun",
    flags: FOLLOW_FLAG,
  }),
  apiCommand({
    usage: "jobs cancel <id> [reason]",
    summary: "Call a job off, or a recurring one for good",
    example: 'mesh jobs cancel work-3f9c04d1a2b7 "Not needed any more"',
    call: ({ call }, args) => {
      const reason = args.get("reason");
      const params = { id: args.text("id") };
      return call(cancelJob, { params, body: { ...(reason !== undefined && { reason }) } });
    },
    show: (done, { terminal }) => printSummaryLine(terminal, done),
  }),
  jobCommand("pause", pauseJob, {
    summary: "Let a recurring job fire no more, until it is resumed",
  }),
  jobCommand("resume", resumeJob, { summary: "Let a paused job fire again, from now on" }),
  {
    usage: "jobs update <id>",
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

async function create(context: CommandContext, args: Args): Promise<number> {
  const { clock } = context;
  const at = (flag: string) => parseInstant(flag, args.get(flag), clock.now());
  const times = { due_at: at("due"), deadline_at: at("deadline"), expires_at: at("expires") };
  const continuity = Continuity.optional().safeParse(args.get("continuity"));
  if (!continuity.success) throw new UsageError("--continuity: fresh or resume");
  const path = args.get("path"), cron = args.get("cron");
  const cronTimezone = args.get("timezone") ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const prompt = await context.readText(args.text("text"));
  const { peer, identifiedBy } = await context.sender(args);
  const owner = args.get("owner") ?? (identifiedBy === "nobody" ? undefined : peer);
  const created = await context.call(createJob, {
    body: {
      prompt,
      title: args.get("title") ?? firstLineOf(prompt),
      assigned_peer: args.get("to"),
      path: path === undefined || /^[/~]/.test(path) ? path : `${Deno.cwd()}/${path}`,
      backend: parseBackend(args),
      profile: args.get("profile"),
      process_scope: args.flag("persistent") ? "persistent" : undefined,
      continuity: continuity.data,
      circle: args.get("circle"),
      owner_peer: owner,
      created_by: peer,
      ...times,
      cron,
      timezone: cron === undefined ? args.get("timezone") : cronTimezone,
      checks: args.list("check"),
    },
  });
  return await printOutcome(context, args, created);
}

async function update(context: CommandContext, args: Args): Promise<number> {
  const state = updateJob.body.shape.state.safeParse(args.get("state"));
  if (!state.success) throw new UsageError(`--state: one of ${REPORTED.join(", ")}`);
  const readFlag = async (flag: string) => {
    const text = args.get(flag);
    return text === undefined ? undefined : await context.readText(text);
  };
  const done = await context.call(updateJob, {
    params: { id: args.text("id") },
    body: {
      state: state.data,
      attempt_id: args.get("attempt"),
      phase: args.get("phase"),
      progress: args.number("progress"),
      progress_note: args.get("note"),
      result_summary: await readFlag("result"),
      error: await readFlag("error"),
    },
  });
  return await printOutcome(context, args, done);
}

/** Prints what a verb has done, and where it was asked for follows the job to its end. */
async function printOutcome(
  context: CommandContext,
  args: Args,
  done: JobOrRecurring,
): Promise<number> {
  const { terminal } = context;
  const follow = args.flag("follow") && "job_id" in done;
  if (follow) return await followJob(context, args, done);
  if (args.flag("json")) printJson(terminal, done);
  else printSummaryLine(terminal, done);
  return EXIT.done;
}

function printSummaryLine(to: Terminal, done: JobOrRecurring): void {
  if ("job_id" in done) return showStep(to, done);
  const next = done.next_due_at === null ? "" : `  next ${done.next_due_at}`;
  print(to, styled("cyan", done.calendar_id), `  ${done.state}${next}`);
}

/** A line for each state and phase; the exit code says whether it was completed. */
async function followJob(context: CommandContext, args: Args, first: Job): Promise<number> {
  const { terminal, clock } = context;
  const json = args.flag("json");
  const last = await interruptible(async (signal) => {
    let job: Job = first;
    for (let lastShown = "";;) {
      const now = [job.state, job.phase, job.state_reason, job.progress].join();
      if (!json && now !== lastShown) showStep(terminal, job);
      lastShown = now;
      if (TERMINAL_STATES.includes(job.state) || signal.aborted) return job;
      await pause(clock, POLL_INTERVAL_MS, signal);
      const found = await context.call(getJob, { params: { id: job.job_id } });
      if ("job_id" in found) job = found;
    }
  });
  if (json) printJson(terminal, last);
  else if (TERMINAL_STATES.includes(last.state)) showResult(terminal, last);
  if (!TERMINAL_STATES.includes(last.state)) return EXIT.interrupted;
  return last.state === "completed" ? EXIT.done : EXIT.refused;
}

function parseBackend(args: Args): Backend | undefined {
  const backend = Backend.optional().safeParse(args.get("backend"));
  if (backend.success) return backend.data;
  throw new UsageError(`--backend: one of ${Backend.options.join(", ")}`);
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
function parseInstant(flag: string, text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const delayMs = parseFromNow(text.trim());
  if (delayMs !== undefined && now + delayMs <= INSTANT_MAX) {
    return new Date(now + delayMs).toISOString();
  }
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))) {
    return new Date(text).toISOString();
  }
  throw new UsageError(
    `--${flag}: not an instant: "${text}"; say 10m, 2h, or 2026-11-20T17:40:00Z`,
  );
}
