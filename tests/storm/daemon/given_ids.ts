/** The ids of all records: each is given once, also after its record was removed or lost. */

import assert from "node:assert/strict";
import * as z from "zod";
import type { Daemon } from "../../../daemon/app/daemon.ts";
import type { Expectations } from "./expectations.ts";

/** Each table, and the id in it. Peers are left out: a peer may register again under its id. */
const IDS: Readonly<Record<string, string>> = {
  messages: "'message ' || ident",
  events: "'event ' || id",
  inbox_items: "item_id",
  attachments: "id",
  schedules: "schedule_id",
  jobs: "job_id",
  job_attempts: "attempt_id",
  job_templates: "calendar_id",
  spawns: "spawn_id",
  restarts: "restart_id",
  subscriptions: "subscription_id",
  ask_parents: "parent_id",
};
const ALL_IDS = Object.entries(IDS)
  .map(([table, id]) => `select ${id} from ${table}`)
  .join(" union all ");

export function idsOf({ ctx: { db } }: Daemon): ReadonlySet<string> {
  return new Set(db.values(z.string(), ALL_IDS));
}

/** Checks that no id of a removed or lost record is given again. */
export function checkGivenOnce(expected: Expectations, daemon: Daemon): void {
  const ids = idsOf(daemon);
  for (const id of ids) assert.ok(!expected.gone_ids.has(id), `${id} is given twice`);
  for (const id of expected.ids.difference(ids)) expected.gone_ids.add(id);
  expected.ids = ids;
}
