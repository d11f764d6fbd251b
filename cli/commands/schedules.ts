/** `mesh schedule`: creates, lists, shows, edits and cancels scheduled messages. */

import type { WireResponse } from "kit/http/client.ts";
import {
  cancelSchedule,
  createSchedule,
  editSchedule,
  getSchedule,
  listSchedules,
} from "protocol/generated/endpoints.ts";
import { ScheduleKind, ScheduleState } from "protocol/schedules/contract.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  localTimezone,
} from "../command/command.ts";
import { UsageError } from "../client/failures.ts";
import { type Style, styled, type StyledText, type Terminal } from "../output/terminal.ts";
import { formatDuration, formatInstant } from "../output/time.ts";

type Schedule = WireResponse<typeof getSchedule>;

const TIMING_FLAGS = {
  "--at <time>": "once: 10m, in 2h, 1h30m, 2026-11-21T09:00 (local time), or with an offset",
  "--cron <pattern>": 'repeat: "minute hour day month weekday", @hourly, @daily, …',
  "--timezone <name>": "the time zone of --cron; by default yours",
} as const;
/** The recipient of a message to oneself. */
const MYSELF = "me";
const CREATE_DETAILS =
  'The peer may be yourself: "me". A name is looked up when the message is due. Messages that ' +
  "came due while the daemon was down are sent once, when it is back up. A one-time message " +
  "that cannot be sent is kept as failed, and its sender is notified.";

const list = answerCommand({
  usage: "schedule list",
  aliases: ["ls"],
  summary: "List scheduled messages",
  flags: {
    "--state <state>": `one of ${ScheduleState.options.join(", ")}`,
    "--from <peer>": "only messages from this peer",
    "--to <peer>": "only messages to this peer",
    "--circle <name>": "only messages in this circle",
  },
  example: "mesh schedule list --state failed",
  call: ({ call }, args) => {
    const state = args.choice("state", ScheduleState.options);
    const circle = args.get("circle");
    const filters = { from_peer: args.get("from"), to_peer: args.get("to"), circle };
    return call(listSchedules, { query: { ...filters, state } });
  },
  show: ({ schedules }, { terminal, clock }) => showSchedules(terminal, schedules, clock.now()),
});

export const SCHEDULE_COMMANDS: readonly Command[] = [
  {
    ...list,
    usage: "schedule",
    aliases: ["schedules"],
    summary: "List scheduled messages",
    example: "mesh schedule",
  },
  answerCommand({
    usage: "schedule create <peer> <text>",
    summary: "Schedule a message to a peer",
    details: CREATE_DETAILS,
    flags: {
      ...TIMING_FLAGS,
      "--ask": "send it as an ask, which needs a reply",
      "--digest": "add what happened since the last message (mesh digest); only to the human",
      ...CIRCLE_FLAG,
    },
    example: 'mesh schedule create me "Look at the build" --at 10m',
    hasSender: true,
    call: create,
    show: (created, { terminal }) => printChange(terminal, "scheduled", created),
  }),
  list,
  answerCommand({
    usage: "schedule show <id>",
    summary: "Show a scheduled message and the outcome of its last fire",
    example: "mesh schedule show sched-3f9c04d1a2b7",
    call: ({ call }, args) => call(getSchedule, { params: { id: args.text("id") } }),
    show: (schedule, { terminal }) => showSchedule(terminal, schedule),
  }),
  answerCommand({
    usage: "schedule edit <id>",
    summary: "Change an active scheduled message",
    flags: {
      ...TIMING_FLAGS,
      "--text <text>": "the new text",
      "--to <peer>": "the new recipient",
      "--kind <kind>": `one of ${ScheduleKind.options.join(", ")}`,
    },
    example: "mesh schedule edit sched-3f9c04d1a2b7 --at 'in 2h'",
    call: edit,
    show: (changed, { terminal }) => printChange(terminal, "changed", changed),
  }),
  answerCommand({
    usage: "schedule delete <id>",
    aliases: ["cancel", "rm"],
    summary: "Cancel a scheduled message",
    example: "mesh schedule delete sched-3f9c04d1a2b7",
    call: ({ call }, args) => call(cancelSchedule, { params: { id: args.text("id") } }),
    show: ({ schedule_id, state }, { terminal }) =>
      terminal.print(styled("green", state), `  ${schedule_id}`),
  }),
];

async function create(context: CommandContext, args: Args): Promise<Schedule> {
  const timing = parseTiming(args);
  if (!("fire_at" in timing) && !("cron" in timing)) {
    throw new UsageError("No time is given; use --at TIME or --cron PATTERN");
  }
  const message = await context.message(args);
  const kind = args.flag("ask") ? "ask" : "notify";
  const to_peer = args.text("peer") === MYSELF ? message.from_peer : args.text("peer");
  const to = { to_peer, circle: args.get("circle") };
  const digest = args.flag("digest");
  return await context.call(createSchedule, {
    body: { ...message, ...to, kind, digest, ...timing },
  });
}

async function edit(context: CommandContext, args: Args): Promise<Schedule> {
  const kind = args.choice("kind", ScheduleKind.options);
  const text = args.get("text"), to_peer = args.get("to");
  const body = {
    ...parseTiming(args),
    ...(kind && { kind }),
    ...(to_peer !== undefined && { to_peer }),
    ...(text !== undefined && { text: await context.readText(text) }),
  };
  if (Object.keys(body).length === 0) {
    throw new UsageError("No change is given; see mesh schedule edit --help");
  }
  return await context.call(editSchedule, { params: { id: args.text("id") }, body });
}

/** The timing flags as request fields; `--cron` uses the local time zone by default. */
function parseTiming(args: Args) {
  const at = args.get("at"), cron = args.get("cron"), givenTimezone = args.get("timezone");
  if (at !== undefined && cron !== undefined) {
    throw new UsageError("--at and --cron exclude each other; use one of them");
  }
  const timezone = givenTimezone ?? (cron === undefined ? undefined : localTimezone());
  return {
    ...(at !== undefined && { fire_at: toInstant(at) }),
    ...(cron !== undefined && { cron }),
    ...(timezone !== undefined && { timezone }),
  };
}

/**
 * Converts a local time without an offset to an instant. Returns any other text unchanged, because
 * the daemon parses it.
 */
function toInstant(at: string): string {
  const localTime = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)$/.exec(at.trim());
  const ms = localTime ? Date.parse(`${localTime[1]}T${localTime[2]}`) : NaN;
  return Number.isNaN(ms) ? at : new Date(ms).toISOString();
}

function showSchedules(to: Terminal, schedules: readonly Schedule[], now: number): void {
  to.printTable(schedules, {
    ID: ({ schedule_id }) => styled("cyan", schedule_id),
    STATE: styledState,
    NEXT: ({ next_fire_at }) => formatUntil(next_fire_at, now),
    WHEN: formatTiming,
    FROM: ({ from_peer_name }) => from_peer_name,
    TO: ({ to_peer }) => to_peer,
    KIND: kindOf,
    TEXT: ({ text }) => text,
  }, { whole: ["ID"], empty: "No scheduled messages. Create one with: mesh schedule create" });
}

function printChange(to: Terminal, action: string, schedule: Schedule): void {
  const { schedule_id, to_peer, next_fire_at } = schedule;
  const next = schedule.cron === null || next_fire_at === null
    ? ""
    : `, next ${formatInstant(next_fire_at)}`;
  const summary = `  to ${to_peer}: ${formatTiming(schedule)}${next}  `;
  to.print(styled("green", action), summary, styled("dim", schedule_id));
}

function showSchedule(to: Terminal, schedule: Schedule): void {
  const { schedule_id, from_peer_name, to_peer, circle, created_at } = schedule;
  const { next_fire_at, last_fired_at, last_outcome, last_error, last_message_id } = schedule;
  const outcome = [last_outcome, last_error].filter(Boolean).join(": ");
  to.printFields({
    schedule: styled("cyan", schedule_id),
    state: styledState(schedule),
    from: from_peer_name,
    to: to_peer,
    kind: kindOf(schedule),
    circle,
    when: formatTiming(schedule),
    next: formatInstant(next_fire_at),
    "last fire": last_fired_at && `${formatInstant(last_fired_at)}  ${outcome}`,
    message: last_message_id,
    created: formatInstant(created_at),
  });
  to.print();
  to.printText(schedule.text);
}

function kindOf({ kind, digest }: Schedule): string {
  return digest ? `${kind}, with digest` : kind;
}

const STYLES: Partial<Record<Schedule["state"], Style>> = { active: "green", failed: "red" };

/**
 * The schedule's state, followed by its last error if it has one. A recurring schedule may continue
 * after an error.
 */
function styledState({ state, last_error }: Schedule): StyledText {
  const summary = last_error === null ? state : `${state}: ${last_error}`;
  return styled(state === "active" && last_error ? "yellow" : STYLES[state] ?? "dim", summary);
}

function formatTiming({ fire_at, cron, timezone }: Schedule): string {
  return cron === null ? `at ${formatInstant(fire_at)}` : `${cron} (${timezone})`;
}

function formatUntil(next: string | null, now: number): string {
  if (next === null) return "";
  const ms = Date.parse(next) - now;
  return ms < 1000 ? "now" : `in ${formatDuration(ms)}`;
}
