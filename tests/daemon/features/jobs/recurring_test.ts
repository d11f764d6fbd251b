import assert from "node:assert/strict";
import { FakeClock } from "../../../support/clock.ts";
import { type World, world } from "../../../support/world.ts";
import { post } from "../../../support/daemon/peer_clients.ts";
import {
  connectWorker,
  create,
  createRecurring,
  job,
  list,
  run,
  stateOf,
  template,
} from "../../../support/daemon/jobs.ts";

const MINUTE_MS = 60_000, HOUR_MS = 60 * MINUTE_MS;

/**
 * The wall-clock time in a zone, by the runtime's calendar, which is asked once for each hour: it
 * takes long, and these zones change their offset only on the hour.
 */
function wallClockOf(timezone: string): (at: number) => { [part: string]: number } {
  const calendar = calendarOf(timezone);
  let hour = NaN, shown: { [part: string]: number } = {};
  return (at) => {
    const minutes = Math.floor(at % HOUR_MS / MINUTE_MS);
    if (at - minutes * MINUTE_MS !== hour) {
      hour = at - minutes * MINUTE_MS;
      shown = calendar(hour);
    }
    return { ...shown, minute: minutes };
  };
}

function calendarOf(timezone: string): (at: number) => { [part: string]: number } {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    hourCycle: "h23",
  });
  return (at) =>
    Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
}

/**
 * All instants of a span at which a wall clock shows a time of day that it did not show before:
 * every minute is walked. A time that the clock skips counts at the minute of the jump.
 */
function expectedFires(
  { from, to, timezone, hour, minute, days }: {
    readonly from: number;
    readonly to: number;
    readonly timezone: string;
    readonly hour: number;
    readonly minute: number;
    /** Days of the week, Sunday 0; every day otherwise. */
    readonly days?: readonly number[];
  },
): number[] {
  const wallClock = wallClockOf(timezone);
  const found = new Map<string, number>();
  let before = wallClock(from - MINUTE_MS);
  for (let at = from; at < to; at += MINUTE_MS) {
    const now = wallClock(at);
    const { year = 0, month = 1, day = 1, hour: h = 0, minute: m = 0 } = now;
    const of_day = h * 60 + m, wanted = hour * 60 + minute;
    const last = before["day"] === day ? (before["hour"] ?? 0) * 60 + (before["minute"] ?? 0) : -1;
    const skipped = last + 1 < of_day && last < wanted && wanted < of_day;
    const date = `${year}-${month}-${day}`;
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
    const fits = !days || days.includes(weekday);
    if (fits && (of_day === wanted || skipped) && !found.has(date)) found.set(date, at);
    before = now;
  }
  return [...found.values()];
}

/** Lets a template fire for a year, hour by hour, and returns the instants. */
async function yearOf(cron: string, timezone: string, from: number, to: number) {
  const clock = new FakeClock();
  await clock.advance(from - clock.now() - 1);
  await using w = world({ clock });
  const { calendar_id } = await createRecurring(w, {
    title: "Tick",
    path: "/work",
    backend: "codex",
    cron,
    timezone,
  });
  const fired: number[] = [];
  for (;;) {
    const { next_due_at } = await template(w, calendar_id);
    const next = Date.parse(next_due_at ?? "");
    if (!(next < to)) return fired;
    await clock.advance(next - clock.now());
    w.daemon.jobs.tick(clock.now());
    const { last_due_at, last_occurrence_work_id } = await template(w, calendar_id);
    fired.push(Date.parse(last_due_at ?? ""));
    assert.equal(clock.now(), next, "it fires exactly when it is due");
    // No agent can be started here, so each occurrence settles at once.
    for (let turn = 0; turn < 20; turn++) {
      if ((await stateOf(w, last_occurrence_work_id ?? "")) === "unavailable") break;
      await clock.settle();
    }
  }
}

const YEAR = { from: Date.UTC(2030, 0, 1), to: Date.UTC(2031, 0, 1) };

Deno.test("a year of daily fires at an hour that spring skips agrees with a check of every minute", async () => {
  const { from, to } = YEAR;
  const expected = expectedFires({ ...YEAR, timezone: "Europe/Berlin", hour: 2, minute: 30 });
  const fired = await yearOf("30 2 * * *", "Europe/Berlin", from, to);
  const text = (all: number[]) => all.map((at) => new Date(at).toISOString());
  assert.equal(fired.length, 365);
  assert.deepEqual(text(fired), text(expected));
  const near = (date: string) => text(fired).filter((at) => at.startsWith(date));
  assert.deepEqual(near("2030-03-31"), ["2030-03-31T01:00:00.000Z"], "02:30 was skipped");
  assert.deepEqual(near("2030-10-27"), ["2030-10-27T00:30:00.000Z"], "02:30 came twice");
});

Deno.test("a year of fires on working days in another zone agrees with a check of every minute", async () => {
  const { from, to } = YEAR;
  const schedule = { timezone: "America/New_York", hour: 9, minute: 0 };
  const expected = expectedFires({ ...YEAR, ...schedule, days: [1, 2, 3, 4, 5] });
  const fired = await yearOf("0 9 * * 1-5", "America/New_York", from, to);
  assert.deepEqual(fired, expected);
  assert.equal(new Set(fired.map((at) => at % 86_400_000)).size, 2, "summer and winter");
});

/** A template that fires every minute for a worker. */
async function everyMinute(w: World) {
  const api = await connectWorker(w);
  const asked = { title: "Look", assigned_peer: "api", cron: "* * * * *" };
  const { calendar_id } = await createRecurring(w, asked);
  return { api, calendar_id };
}

Deno.test("missed fires collapse into one, and the next is in the future [c2.template.missed]", async () => {
  await using w = world();
  const { api, calendar_id } = await everyMinute(w);
  await w.clock.advance(3600_000 + 30_000);
  w.daemon.jobs.tick(w.clock.now());
  await w.clock.settle();
  assert.equal((await list(w)).work.length, 1);
  const { next_due_at, last_due_at, occurrences } = await template(w, calendar_id);
  assert.equal(last_due_at, "2030-01-01T00:01:00.000Z");
  assert.equal(next_due_at, "2030-01-01T01:01:00.000Z");
  assert.equal(occurrences, 1);
  const [work] = (await list(w)).work;
  assert.deepEqual([work?.source_kind, work?.source_id], ["calendar", calendar_id]);
  assert.deepEqual(work?.execution.schedule.calendar_id, calendar_id);
  assert.equal(api.peer_id, work?.assigned_peer_id);
});

Deno.test("a template does not fire while its last occurrence is in progress", async () => {
  await using w = world();
  const { api, calendar_id } = await everyMinute(w);
  await w.tick(60);
  await api.beginTurn();
  await w.tick(60);
  await w.tick(60);
  assert.equal((await template(w, calendar_id)).occurrences, 1);
  const { peer_id } = api;
  await post(w, "/events/chat", { peer_id, role: "assistant", text: "Seen" });
  await w.tick();
  assert.equal((await template(w, calendar_id)).occurrences, 2);
});

Deno.test("a paused template does not fire, a resumed one fires from now on, a cancelled one never [c3.jobs.pause]", async () => {
  await using w = world();
  const { calendar_id } = await everyMinute(w);
  const verb = async (name: string) => {
    const { status, error, state } = await post(w, `/jobs/${calendar_id}/${name}`);
    return status === 200 ? state : error;
  };
  assert.equal(await verb("resume"), "illegal_state");
  assert.equal(await verb("pause"), "paused");
  assert.equal(await verb("pause"), "illegal_state");
  await w.tick(3600);
  const paused = await template(w, calendar_id);
  assert.deepEqual([paused.occurrences, paused.next_due_at], [0, null]);
  assert.equal(await verb("resume"), "active");
  await w.tick(30);
  assert.equal(
    (await template(w, calendar_id)).occurrences,
    0,
    "fires during the pause are not made up for",
  );
  await w.tick(60);
  assert.equal((await template(w, calendar_id)).occurrences, 1);
  assert.equal(await verb("cancel"), "cancelled");
  for (const name of ["cancel", "resume", "pause", "run"]) {
    assert.equal(await verb(name), "illegal_state", name);
  }
  assert.equal(await verb("retry"), "illegal_state");
  await w.tick(3600);
  assert.equal((await template(w, calendar_id)).occurrences, 1);
});

Deno.test("POST /jobs/{id}/run fires a template, also a paused one, and keeps its schedule", async () => {
  await using w = world();
  const { api, calendar_id } = await everyMinute(w);
  const { next_due_at } = await template(w, calendar_id);
  const { job_id } = await run(w, calendar_id);
  assert.match(job_id, /^work-/);
  assert.equal((await template(w, calendar_id)).next_due_at, next_due_at);
  await api.beginTurn();
  await api.endTurn("By hand");
  const response = await w.fetch(`/jobs/${calendar_id}/result`);
  assert.equal((await response.json()).result_summary, "By hand");
  await post(w, `/jobs/${calendar_id}/pause`);
  await run(w, calendar_id);
  const { state, occurrences } = await template(w, calendar_id);
  assert.deepEqual([state, occurrences], ["paused", 2]);
});

Deno.test("PATCH on a template is refused", async () => {
  await using w = world();
  const { calendar_id } = await everyMinute(w);
  const init = { method: "PATCH", body: JSON.stringify({ progress: 1 }) };
  const response = await w.fetch(`/jobs/${calendar_id}`, init);
  assert.deepEqual([response.status, (await response.json()).error], [409, "illegal_state"]);
});

Deno.test("each occurrence notifies its owner, and is retried on its own", async () => {
  await using w = world();
  const api = await connectWorker(w);
  const sam = await connectWorker(w, "sam");
  const asked = { title: "Look", assigned_peer: "api", owner_peer: "sam", cron: "* * * * *" };
  const { calendar_id } = await createRecurring(w, asked);
  await w.tick(60);
  await api.beginTurn();
  await api.endTurn("Nothing new");
  assert.match(sam.reports()[0]?.text ?? "", /"Look" completed\.\nNothing new/);
  const { last_occurrence_work_id: id } = await template(w, calendar_id);
  assert.equal((await job(w, id ?? "")).owner_peer_id, sam.peer_id);
  const other = await create(w, { title: "Else", assigned_peer: "api" });
  assert.equal(other.source_kind, "request");
});
