/** Messages that fall due while the daemon is killed: none is lost, and none is sent twice. */

import assert from "node:assert/strict";
import { RealDaemon, temporary } from "../../support/programs/child.ts";

const COUNT = 48;
/** Schedules fall due in turn: each kill finds some before, at and after their time. */
const FIRST_MS = 1500, EVERY_MS = 100;
const RUNS = 5;
const POLL_MS = 20;
const DEADLINE_MS = 60_000;

async function json(base: string, path: string, body?: unknown) {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return await (await fetch(`${base}${path}`, init)).json();
}

async function countFired(base: string): Promise<number> {
  return (await json(base, "/schedules?state=fired")).schedules.length;
}

/** Waits until so many have fired, up to a deadline. */
async function until(base: string, count: number): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; performance.now() < end;) {
    if (await countFired(base) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`Fewer than ${count} fired`);
}

Deno.test("messages that fall due while the daemon is killed are sent once, and the record says so [c2.schedule.crash]", async () => {
  using state = temporary();
  for (let run = 0; run <= RUNS; run++) {
    await using daemon = await RealDaemon.start(state.path);
    const { base } = daemon;
    if (run === 0) {
      await json(base, "/peers", { name: "bob", path: "/work", backend: "sdk" });
      for (let count = 0; count < COUNT; count++) {
        const fire_at = new Date(Date.now() + FIRST_MS + count * EVERY_MS).toISOString();
        const kind = count % 2 === 0 ? "notify" : "ask";
        const body = { from_peer: "cli", to_peer: "bob", text: `Due ${count}`, kind, fire_at };
        assert.match((await json(base, "/schedules", body)).schedule_id, /^sched-/);
      }
    }
    if (run < RUNS) {
      // A tick has just sent more: the next ones are about to be sent.
      await until(base, Math.min(COUNT, await countFired(base) + 1));
      await daemon.kill();
      continue;
    }
    await until(base, COUNT);
    const { deliveries } = await json(base, "/deliveries?limit=500");
    const { schedules } = await json(base, "/schedules");
    const texts: string[] = deliveries.map(({ text }: { text: string }) => text);
    assert.deepEqual([texts.length, new Set(texts).size], [COUNT, COUNT]);
    const messageIds = schedules.map((schedule: { last_message_id: string }) =>
      schedule.last_message_id
    );
    const sent = deliveries.map((
      delivery: { correlation_id: string | null; delivery_id: string },
    ) => delivery.correlation_id ?? delivery.delivery_id);
    assert.deepEqual(messageIds.sort(), sent.sort());
  }
});
