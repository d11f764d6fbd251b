/** The commands about messages for later: schedule, list, show, change, cancel. */

import type { Wire } from "kit/http/client.ts";
import {
  cancelSchedule,
  createSchedule,
  editSchedule,
  getSchedule,
  listSchedules,
  ScheduleKind,
  ScheduleState,
} from "../../daemon/features/schedules/contract.ts";
import { type Command, type Session, verb, type Words } from "../command/command.ts";
import { Misused } from "../client/failures.ts";
import {
  ink,
  type Piece,
  print,
  printFields,
  printTable,
  printText,
  type Style,
  type Terminal,
} from "../output/print.ts";
import { spanOf } from "../output/show.ts";

type Schedule = Wire<typeof getSchedule>;

const TIMING_FLAGS = {
  "--at <time>": "once: 10m, in 2h, 1h30m, 2026-11-21T09:00 by your clock, or with an offset",
  "--cron <pattern>": 'again and again: "minute hour day month weekday", @hourly, @daily, …',
  "--timezone <name>": "the clock that --cron goes by; yours by default",
} as const;
const ABOUT = "A name is looked up when the message is due. What was due while the daemon was " +
  "down is sent once when it is back. A one-shot that cannot be sent stays, as failed, and its " +
  "sender is told.";

const list = verb({
  words: "schedule list",
  summary: "List scheduled messages",
  flags: {
    "--state <state>": `one of ${ScheduleState.options.join(", ")}`,
    "--from <peer>": "only those of this sender",
    "--to <peer>": "only those to this peer",
    "--circle <name>": "of this circle only",
  },
  example: "mesh schedule list --state failed",
  call: ({ call }, words) => {
    const state = ScheduleState.optional().safeParse(words.maybe("state"));
    if (!state.success) throw new Misused(`--state: one of ${ScheduleState.options.join(", ")}`);
    const circle = words.maybe("circle");
    const named = { from_peer: words.maybe("from"), to_peer: words.maybe("to"), circle };
    return call(listSchedules, { query: { ...named, state: state.data } });
  },
  show: ({ schedules }, { terminal, clock }) => showSchedules(terminal, schedules, clock.now()),
});

export const SCHEDULE_COMMANDS: readonly Command[] = [
  { ...list, words: "schedule", summary: "What is said later", example: "mesh schedule" },
  verb({
    words: "schedule create <peer> <text>",
    summary: "Schedule a message to a peer",
    about: ABOUT,
    flags: {
      ...TIMING_FLAGS,
      "--ask": "as a question that needs a reply",
      "--circle <name>": "look for the name in this circle",
    },
    example: 'mesh schedule create api "Send the report" --cron "0 9 * * 1-5"',
    speaks: true,
    call: create,
    show: (made, { terminal }) => showOne(terminal, "scheduled", made),
  }),
  list,
  verb({
    words: "schedule show <id>",
    summary: "Show a scheduled message, and how its last fire went",
    example: "mesh schedule show sched-3f9c04d1a2b7",
    call: ({ call }, words) => call(getSchedule, { params: { id: words.text("id") } }),
    show: (schedule, { terminal }) => showSchedule(terminal, schedule),
  }),
  verb({
    words: "schedule edit <id>",
    summary: "Change a scheduled message that is active",
    flags: {
      ...TIMING_FLAGS,
      "--text <text>": "what is said",
      "--to <peer>": "to whom",
      "--kind <kind>": `one of ${ScheduleKind.options.join(", ")}`,
    },
    example: "mesh schedule edit sched-3f9c04d1a2b7 --at 'in 2h'",
    call: edit,
    show: (changed, { terminal }) => showOne(terminal, "changed", changed),
  }),
  verb({
    words: "schedule delete <id>",
    summary: "Cancel a scheduled message",
    example: "mesh schedule delete sched-3f9c04d1a2b7",
    call: ({ call }, words) => call(cancelSchedule, { params: { id: words.text("id") } }),
    show: ({ schedule_id, state }, { terminal }) =>
      print(terminal, ink("green", state), `  ${schedule_id}`),
  }),
];

async function create(session: Session, words: Words): Promise<Schedule> {
  const timing = timingOf(words);
  if (!("fire_at" in timing) && !("cron" in timing)) {
    throw new Misused("When? Say --at TIME, or --cron PATTERN");
  }
  const text = await session.said(words.text("text"));
  const from_peer = (await session.sender(words)).peer;
  const kind = words.flag("ask") ? "ask" : "notify";
  const to = { to_peer: words.text("peer"), circle: words.maybe("circle") };
  return await session.call(createSchedule, { body: { from_peer, ...to, text, kind, ...timing } });
}

async function edit(session: Session, words: Words): Promise<Schedule> {
  const kind = ScheduleKind.optional().safeParse(words.maybe("kind"));
  if (!kind.success) throw new Misused(`--kind: one of ${ScheduleKind.options.join(", ")}`);
  const text = words.maybe("text"), to_peer = words.maybe("to");
  const body = {
    ...timingOf(words),
    ...(kind.data && { kind: kind.data }),
    ...(to_peer !== undefined && { to_peer }),
    ...(text !== undefined && { text: await session.said(text) }),
  };
  if (Object.keys(body).length === 0) {
    throw new Misused("Nothing to change: see mesh schedule edit --help");
  }
  return await session.call(editSchedule, { params: { id: words.text("id") }, body });
}

/** A pattern goes by the clock on the wall here, unless another is named. */
function timingOf(words: Words) {
  const at = words.maybe("at"), cron = words.maybe("cron"), zone = words.maybe("timezone");
  if (at !== undefined && cron !== undefined) throw new Misused("Either --at or --cron");
  const timezone = zone ?? (cron === undefined ? undefined : here());
  return {
    ...(at !== undefined && { fire_at: withOffset(at) }),
    ...(cron !== undefined && { cron }),
    ...(timezone !== undefined && { timezone }),
  };
}

function here(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A time without an offset is one on the wall here. What is no such time, the daemon reads. */
function withOffset(at: string): string {
  const wall = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)$/.exec(at.trim());
  const ms = wall ? Date.parse(`${wall[1]}T${wall[2]}`) : NaN;
  return Number.isNaN(ms) ? at : new Date(ms).toISOString();
}

function showSchedules(to: Terminal, schedules: readonly Schedule[], now: number): void {
  printTable(
    to,
    [
      { title: "ID", of: ({ schedule_id }) => ink("cyan", schedule_id), kept: true },
      { title: "STATE", of: stateOf },
      { title: "NEXT", of: ({ next_fire_at }) => until(next_fire_at, now) },
      { title: "WHEN", of: whenOf },
      { title: "FROM", of: ({ from_peer_name }) => from_peer_name },
      { title: "TO", of: ({ to_peer }) => to_peer },
      { title: "KIND", of: ({ kind }) => kind },
      { title: "TEXT", of: ({ text }) => text },
    ],
    schedules,
    "Nothing is scheduled. Schedule a message with: mesh schedule create",
  );
}

function showOne(to: Terminal, done: string, schedule: Schedule): void {
  const { schedule_id, to_peer, next_fire_at } = schedule;
  const next = schedule.cron === null || next_fire_at === null ? "" : `, next ${next_fire_at}`;
  const said = `  to ${to_peer}: ${whenOf(schedule)}${next}  `;
  print(to, ink("green", done), said, ink("dim", schedule_id));
}

function showSchedule(to: Terminal, schedule: Schedule): void {
  const { schedule_id, from_peer_name, to_peer, kind, circle, created_at } = schedule;
  const { next_fire_at, last_fired_at, last_outcome, last_error, last_message_id } = schedule;
  const outcome = [last_outcome, last_error].filter(Boolean).join(": ");
  printFields(to, {
    schedule: ink("cyan", schedule_id),
    state: stateOf(schedule),
    from: from_peer_name,
    to: to_peer,
    kind,
    circle,
    when: whenOf(schedule),
    next: next_fire_at,
    "last fire": last_fired_at && `${last_fired_at}  ${outcome}`,
    message: last_message_id,
    created: created_at,
  });
  print(to);
  printText(to, schedule.text);
}

const STYLES: Partial<Record<Schedule["state"], Style>> = { active: "green", failed: "red" };

/** A recurring one that goes on after a failure says so. */
function stateOf({ state, last_error }: Schedule): Piece {
  const said = last_error === null ? state : `${state}: ${last_error}`;
  return ink(state === "active" && last_error ? "yellow" : STYLES[state] ?? "dim", said);
}

function whenOf({ fire_at, cron, timezone }: Schedule): string {
  return cron === null ? `at ${fire_at}` : `${cron} (${timezone})`;
}

function until(next: string | null, now: number): string {
  if (next === null) return "";
  const ms = Date.parse(next) - now;
  return ms < 1000 ? "now" : `in ${spanOf(ms)}`;
}
