/** Verbs about scheduled messages: they are created, edited, cancelled, and due in a crash. */

import type { Storm, Verb } from "../storm.ts";
import { crash } from "../crashes.ts";
import { SCHEDULED_PREFIX } from "../texts.ts";

const TIMES = ["0s", "1s", "30s", "5m", "2h", "1d"];
const PATTERNS = ["* * * * *", "*/10 * * * *", "@hourly", "@daily"];
/** Several, because some are refused for their sender or recipient. */
const DUE_COUNT = 3;
const MINUTE_MS = 61_000;

// deno-fmt-ignore
export const SCHEDULE_VERBS: readonly Verb[] = [
  { name: "schedule",         weight: 8, run: (storm) => schedule(storm) },
  { name: "edit a schedule",  weight: 3, run: edit },
  { name: "cancel a schedule", weight: 3, run: (storm) => storm.remove(`/schedules/${pickSchedule(storm)}`) },
  { name: "crash while firing",  weight: 6, run: crashWhileFiring },
];

/** Cuts the power while the tick sends what is due: before its commit, or after it. */
async function crashWhileFiring(storm: Storm): Promise<void> {
  const { clock, daemon } = storm.w;
  for (let count = 0; count < DUE_COUNT; count++) await schedule(storm, { fire_at: "0s" });
  await clock.advance(MINUTE_MS);
  await crash(storm, () => {
    daemon.tick();
    return clock.settle();
  });
}

function pickSchedule({ chance, schedules }: Storm): string {
  return schedules.length > 0 ? chance.pick(schedules) : "sched-0";
}

function randomTiming({ chance }: Storm): Record<string, string> {
  return chance.oneIn(3) ? { cron: chance.pick(PATTERNS) } : { fire_at: chance.pick(TIMES) };
}

/** Its own prefix: other texts hold numbers that rise with the time of sending. */
function scheduledText(storm: Storm): string {
  return `${SCHEDULED_PREFIX} ${storm.nextText()}`;
}

async function schedule(storm: Storm, timing = randomTiming(storm)): Promise<void> {
  const answer = await storm.post("/schedules", {
    from_peer: storm.anyPeerName(),
    to_peer: storm.anyPeerName(),
    text: scheduledText(storm),
    kind: storm.chance.oneIn(2) ? "ask" : "notify",
    ...timing,
  });
  if (answer.http === 200) storm.schedules.push(String(answer["schedule_id"]));
}

async function edit(storm: Storm): Promise<void> {
  const to = storm.chance.oneIn(3) ? { to_peer: storm.anyPeerName() } : {};
  const body = JSON.stringify({ text: scheduledText(storm), ...to, ...randomTiming(storm) });
  await storm.post(`/schedules/${pickSchedule(storm)}`, {}, { method: "PATCH", body });
}
