/** `mesh jobs`: creates, lists, follows and changes durable jobs. */

import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { changesTitle } from "protocol/derived/changes.ts";
import { parseFromNow } from "kit/core/duration.ts";
import { firstLineOf } from "kit/core/text.ts";
import { pause } from "kit/core/timeout.ts";
import {
  cancelJob,
  createJob,
  getJob,
  jobResult,
  pauseJob,
  readJobChanges,
  resumeJob,
  retryJob,
  runJob,
  updateJob,
} from "protocol/generated/endpoints.ts";
import { Backend } from "protocol/agents/contract.ts";
import {
  Continuity,
  listJobs,
  OnInterrupt,
  REPORTED,
  TERMINAL_STATES,
} from "protocol/jobs/contract.ts";
import {
  answerCommand,
  type Args,
  BUDGET_FLAG,
  type Command,
  type CommandContext,
  interruptible,
  localTimezone,
  mustHaveText,
} from "../command/command.ts";
import { readSettings } from "../client/settings.ts";
import { EXIT, unlessRejected, UsageError } from "../client/failures.ts";
import { showJob, showJobs, showResult, showStep } from "../output/job_views.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import { formatInstant } from "../output/time.ts";
import { peerNames } from "./peer_list.ts";

type JobOrRecurring = WireResponse<typeof getJob>;
export type Job = Extract<JobOrRecurring, { job_id: string }>;

const FOLLOW_FLAG = { "--follow": "show progress until the job has ended" } as const;
/** The interval at which `--follow` reads the job. */
const POLL_INTERVAL_MS = 500;
/** Maximum length of a title that is taken from the prompt. */
const TITLE_CHARS_MAX = 72;

const CREATE_FLAGS = {
  "--to <peer>": "give the job to this peer",
  "--path <folder>": "or start an agent for it in this folder",
  "--backend <backend>": `with --path: one of ${Backend.options.join(", ")}`,
  "--profile <name>": "with --path: a profile from spawn.profiles",
  "--persistent": "with --path: keep the agent running after the job",
  "--continuity <how>": "fresh starts a new session, resume continues the last one",
  "--on-interrupt <what>": "if its turn is interrupted: fail (the default), or wait",
  "--title <text>": "the title in lists; by default the first line of the text",
  "--circle <name>": "the circle the job belongs to",
  "--owner <peer>": "who is notified when it ends; by default you",
  "--due <when>": "earliest start: a time such as 2026-11-20T17:40:00Z, or 10m, 2h, 3d from now",
  "--cron <pattern>": 'repeat: five cron fields, such as "0 9 * * 1-5"',
  "--timezone <zone>": "the time zone of --cron; by default yours",
  "--deadline <when>": "notify the owner if it is not done by then",
  "--expires <when>": "drop the job if it has not started by then",
  ...BUDGET_FLAG,
  "--check <name> ...": "a check from jobs.checks that must pass; repeatable",
  ...FOLLOW_FLAG,
} as const;

const list = answerCommand({
  usage: "jobs list",
  aliases: ["ls"],
  summary: "List jobs and recurring jobs, newest first",
  flags: {
    "--state <state>": "only jobs in this state",
    "--owner <peer>": "only jobs of this owner",
    "--circle <name>": "only jobs of this circle",
    "--limit <count>": "show at most this many",
  },
  example: "mesh jobs list --state running",
  call: ({ call }, args) => {
    const state = args.choice("state", listJobs.query.shape.state.unwrap().options);
    return call(listJobs, {
      query: {
        view: "summary",
        state,
        owner_peer_id: args.get("owner"),
        circle: args.get("circle"),
        limit: args.numberText("limit"),
      },
    });
  },
  show: async (jobs, { terminal, clock, call }) =>
    showJobs(terminal, jobs, { clock, nameOf: await peerNames(call) }),
});

interface JobCommand extends Omit<Command, "run"> {
  readonly hasSender?: true;
  readonly call: (context: CommandContext, args: Args) => Promise<JobOrRecurring>;
  readonly show?: (
    to: Terminal,
    job: JobOrRecurring,
    call: CommandContext["call"],
  ) => void | Promise<void>;
}

/** A command that prints one job. With `--follow` it follows the job to its end. */
function jobCommand({ call, show = printSummaryLine, ...rest }: JobCommand): Command {
  const isFollowed = (done: JobOrRecurring, args: Args): done is Job =>
    args.flag("follow") && "job_id" in done;
  return answerCommand({
    ...rest,
    call: async (context, args) => {
      const done = await call(context, args);
      return isFollowed(done, args) ? await followJob(context, args, done) : done;
    },
    show: async (done, { terminal, call }, args) => {
      if (!isFollowed(done, args)) {
        await (args.flag("follow") ? printSummaryLine : show)(terminal, done, call);
      } else if (hasEnded(done)) showResult(terminal, done);
    },
    exitCode: (done, args) => {
      if (!isFollowed(done, args) || done.state === "completed") return EXIT.done;
      return hasEnded(done) ? EXIT.refused : EXIT.interrupted;
    },
  });
}

function hasEnded({ state }: Job): boolean {
  return TERMINAL_STATES.includes(state);
}

function showCommand(name: string, summary: string): Command {
  return jobCommand({
    usage: `jobs ${name} <id>`,
    summary,
    flags: FOLLOW_FLAG,
    example: `mesh jobs ${name} work-3f9c04d1a2b7 --follow`,
    call: ({ call }, args) => call(getJob, { params: { id: args.text("id") } }),
    show: async (to, job, call) => {
      const changes = "job_id" in job ? await changesOf(call, job.job_id) : undefined;
      showJob(to, job, await peerNames(call), changes);
    },
  });
}

/** The sentence on what changed in the job's folder; undefined if that cannot be read. */
async function changesOf(call: Call, id: string): Promise<string | undefined> {
  const changes = await unlessRejected(
    (error) => error instanceof ApiError,
    () => call(readJobChanges, { params: { id }, query: { limit: "0" } }),
  );
  return changes?.state === "ok"
    ? `${changesTitle(changes)}; see mesh jobs changes ${id}`
    : undefined;
}

/** A command that changes one job and prints the job's new state in one line. */
function changeCommand(
  name: string,
  contract: typeof runJob | typeof retryJob | typeof pauseJob | typeof resumeJob,
  more: Pick<Command, "summary" | "flags" | "example">,
): Command {
  return jobCommand({
    usage: `jobs ${name} <id>`,
    ...more,
    call: ({ call }, args) =>
      call(contract as typeof runJob, { params: { id: args.text("id") }, body: {} }),
  });
}

export const JOB_COMMANDS: readonly Command[] = [
  {
    ...list,
    usage: "jobs",
    aliases: ["job"],
    summary: "List, create and follow jobs: durable work, once or recurring",
    example: "mesh jobs",
  },
  jobCommand({
    usage: "jobs create <text>",
    summary: "Create a job, for a peer or for an agent started for it",
    flags: CREATE_FLAGS,
    example: 'mesh jobs create "Fix the flaky test" --path ~/work/api --backend claude-code',
    hasSender: true,
    call: create,
  }),
  list,
  showCommand("show", "Show a job, or a recurring job by its cal-… id"),
  showCommand("status", "Show a job, as `mesh jobs show` does"),
  answerCommand({
    usage: "jobs result <id>",
    summary: "Print the result of a job",
    example: "mesh jobs result work-3f9c04d1a2b7",
    call: ({ call }, args) => call(jobResult, { params: { id: args.text("id") } }),
    show: (result, { terminal }) => showResult(terminal, result),
  }),
  changeCommand("run", runJob, {
    summary: "Start a waiting, failed or recurring job now",
    flags: FOLLOW_FLAG,
    example: "mesh jobs run work-3f9c04d1a2b7",
  }),
  changeCommand("retry", retryJob, {
    summary: "Retry a job that failed or was not started",
    flags: FOLLOW_FLAG,
    example: "mesh jobs retry work-3f9c04d1a2b7",
  }),
  answerCommand({
    usage: "jobs cancel <id> [reason]",
    aliases: ["delete", "rm"],
    summary: "Cancel a job, or a recurring job for good",
    example: 'mesh jobs cancel work-3f9c04d1a2b7 "No longer needed"',
    call: ({ call }, args) =>
      call(cancelJob, { params: { id: args.text("id") }, body: { reason: args.get("reason") } }),
    show: (done, { terminal }) => printSummaryLine(terminal, done),
  }),
  changeCommand("pause", pauseJob, {
    summary: "Stop a recurring job from firing until it is resumed",
    example: "mesh jobs pause cal-3f9c04d1a2b7",
  }),
  changeCommand("resume", resumeJob, {
    summary: "Let a paused recurring job fire again",
    example: "mesh jobs resume cal-3f9c04d1a2b7",
  }),
  jobCommand({
    usage: "jobs update <id>",
    summary: "Report a job's progress; setting a phase keeps it open after the turn",
    flags: {
      "--state <state>": `one of ${REPORTED.join(", ")}`,
      "--attempt <id>": "the reporting attempt; required to end the job",
      "--phase <word>": "the current phase; turn_started lets the next turn complete it",
      "--progress <percent>": "0 to 100",
      "--note <text>": "a line for the job's history",
      "--result <text>": "the result",
      "--error <text>": "why it failed",
    },
    example: "mesh jobs update work-3f9c04d1a2b7 --phase waiting_for_ci --progress 60",
    call: update,
  }),
];

async function create(context: CommandContext, args: Args): Promise<JobOrRecurring> {
  const { clock } = context;
  const at = (flag: string) => parseInstant(flag, args.get(flag), clock.now());
  const times = { due_at: at("due"), deadline_at: at("deadline"), expires_at: at("expires") };
  const path = args.get("path"), cron = args.get("cron");
  const cronTimezone = args.get("timezone") ?? localTimezone();
  const prompt = mustHaveText(await context.readText(args.text("text")));
  if (args.get("to") === undefined && path === undefined) {
    throw new UsageError("No executor is given; use --to PEER, or --path FOLDER --backend NAME");
  }
  if (path !== undefined) args.requiredChoice("backend", Backend.options);
  const { peer, identifiedBy } = await context.sender(args);
  if (path !== undefined) noteMissingSpawn(context, args);
  const owner = args.get("owner") ?? (identifiedBy === "anonymous" ? undefined : peer);
  return await context.call(createJob, {
    body: {
      prompt,
      title: args.get("title") ?? firstLineOf(prompt, TITLE_CHARS_MAX),
      assigned_peer: args.get("to"),
      path: path === undefined ? undefined : context.absolutePath(path),
      backend: args.choice("backend", Backend.options),
      profile: args.get("profile"),
      process_scope: args.flag("persistent") ? "persistent" : undefined,
      continuity: args.choice("continuity", Continuity.options),
      on_interrupt: args.choice("onInterrupt", OnInterrupt.options),
      circle: args.get("circle"),
      owner_peer: owner,
      created_by: peer,
      ...times,
      cron,
      timezone: cron === undefined ? args.get("timezone") : cronTimezone,
      checks: args.list("check"),
      budget: args.get("budget"),
    },
  });
}

/** Warns that a job for a new agent waits if the configuration permits no start of the agent. */
function noteMissingSpawn({ env, machine, terminal }: CommandContext, args: Args): void {
  if (machine !== undefined) return; // Its settings are not known here.
  const settings = readSettings(env);
  const { "spawn.commands": commands, "spawn.allowed_paths": folders } = settings;
  const backend = args.get("backend") ?? "";
  const missing = [
    ...commands && !Object.hasOwn(commands, backend) ? [`spawn.commands.${backend}`] : [],
    ...folders?.length === 0 ? ["spawn.allowed_paths"] : [],
  ];
  if (missing.length === 0) return;
  const detail = `the job cannot start before this is set: ${missing.join(", ")}; mesh config edit`;
  terminal.printError(styled("yellow", "note: "), detail);
}

async function update(context: CommandContext, args: Args): Promise<JobOrRecurring> {
  return await context.call(updateJob, {
    params: { id: args.text("id") },
    body: {
      state: args.choice("state", REPORTED),
      attempt_id: args.get("attempt"),
      phase: args.get("phase"),
      progress: args.number("progress"),
      progress_note: args.get("note"),
      result_summary: await context.readText(args.get("result")),
      error: await context.readText(args.get("error")),
    },
  });
}

function printSummaryLine(to: Terminal, done: JobOrRecurring): void {
  if ("job_id" in done) return showStep(to, done);
  const next = done.next_due_at === null ? "" : `  next ${formatInstant(done.next_due_at)}`;
  to.print(styled("cyan", done.calendar_id), `  ${done.state}${next}`);
}

/** Prints a line for each change of the job, until the job has ended or Ctrl-C is pressed. */
async function followJob(context: CommandContext, args: Args, first: Job): Promise<Job> {
  const { terminal, clock } = context;
  return await interruptible(async (signal) => {
    let job: Job = first;
    for (let lastShown = "";;) {
      const now = [job.state, job.phase, job.state_reason, job.progress].join();
      if (!args.flag("json") && now !== lastShown) showStep(terminal, job);
      lastShown = now;
      if (hasEnded(job) || signal.aborted) return job;
      await pause(clock, POLL_INTERVAL_MS, signal);
      const found = await context.call(getJob, { params: { id: job.job_id } });
      if ("job_id" in found) job = found;
    }
  });
}

/** The last instant that a `Date` can hold. */
const INSTANT_MAX = 8.64e15;

/** Parses an RFC 3339 time, or a time from now: `10m`, `in 2h`. */
function parseInstant(flag: string, text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const delayMs = parseFromNow(text.trim());
  if (delayMs !== undefined && now + delayMs <= INSTANT_MAX) {
    return new Date(now + delayMs).toISOString();
  }
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))) {
    return new Date(text).toISOString();
  }
  throw new UsageError(`--${flag}: "${text}" is not a time; use 10m, 2h, or 2026-11-20T17:40:00Z`);
}
