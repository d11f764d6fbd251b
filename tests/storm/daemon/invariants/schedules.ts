/** Invariants of schedules: each fire is one message, and each record holds its last outcome. */

import assert from "node:assert/strict";
import * as z from "zod";
import type { EventType, MeshEvent } from "protocol/events.ts";
import { identOf, type Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";
import { SCHEDULED_PREFIX } from "../texts.ts";

export const SCHEDULE_INVARIANTS: readonly Invariant[] = [
  { name: "each fire of a schedule is one message, and each message is one fire", check: fires },
  {
    name: "a schedule's record holds its last outcome, and none is overdue after a tick",
    check: records,
  },
];

type FireEvent = Extract<MeshEvent, { type: "schedule_fired" }>;

const FIRED: EventType = "schedule_fired";

function firesOf({ w }: Storm): FireEvent[] {
  return w.daemon.ctx.events.read({ since: 0, limit: 1_000_000, type: FIRED })
    .filter((event): event is FireEvent => event.type === FIRED);
}

function fires(storm: Storm, { messages }: Snapshot): void {
  const sent = firesOf(storm).flatMap(({ data }) => data.message_id ?? []).map(identOf);
  const later = messages.filter(({ kind, text }) =>
    text.startsWith(`${SCHEDULED_PREFIX} `) && (kind === "ask" || kind === "notify")
  );
  assert.deepEqual(later.map(({ ident }) => ident).sort(), sent.sort());
}

const Row = z.object({
  schedule_id: z.string(),
  cron: z.string().nullable(),
  state: z.string(),
  next_fire_at: z.number().nullable(),
  last_outcome: z.string().nullable(),
  last_message_id: z.string().nullable(),
});

function records(storm: Storm): void {
  const { db, clock } = storm.w.daemon.ctx;
  const published = Map.groupBy(firesOf(storm), ({ data }) => data.schedule_id);
  const rows = db.all(
    Row,
    `select schedule_id, cron, state, next_fire_at, last_outcome, last_message_id from schedules`,
  );
  for (const { schedule_id, cron, state, ...row } of rows) {
    const last = published.get(schedule_id)?.at(-1)?.data;
    assert.equal(row.last_outcome, last?.outcome ?? null, schedule_id);
    assert.equal(row.last_message_id, last?.message_id ?? null, schedule_id);
    if (cron === null && (state === "fired" || state === "failed")) {
      assert.equal(state, last?.outcome, schedule_id);
    }
    const due = state === "active" && (row.next_fire_at ?? 0) <= clock.now();
    assert.ok(!storm.hasTicked || !due, `${schedule_id} is overdue`);
  }
}
