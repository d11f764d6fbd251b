/** Events of jobs and templates that change without a change of a job's state. */

import assert from "node:assert/strict";
import { eventData, post } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

const WORK = { prompt: "Count", path: "/work", backend: "generic" };

async function update(w: World, id: string, fields: Record<string, unknown>) {
  const init = { method: "PATCH", body: JSON.stringify(fields) };
  assert.equal((await w.fetch(`/jobs/${id}`, init)).status, 200);
}

Deno.test("a job's progress is published once a second at most, and not twice", async () => {
  await using w = world();
  const { job_id } = await post(w, "/jobs", { ...WORK, due_at: "2031-01-01T00:00:00Z" });
  for (const progress of [10, 20, 55]) await update(w, job_id, { progress });
  assert.deepEqual(eventData(w, "job_updated"), []);
  await w.tick();
  const published = [{ job_id, state: "queued", progress: 55 }];
  assert.deepEqual(eventData(w, "job_updated"), published);
  await w.tick();
  assert.deepEqual(eventData(w, "job_updated"), published);
  await update(w, job_id, { progress_note: "Nearly there" });
  await w.tick();
  assert.equal(eventData(w, "job_updated").length, 2);
});

Deno.test("each change of a template is published", async () => {
  await using w = world();
  const { calendar_id } = await post(w, "/jobs", { ...WORK, cron: "0 9 * * *" });
  for (const verb of ["pause", "resume", "cancel"]) {
    assert.equal((await post(w, `/jobs/${calendar_id}/${verb}`)).status, 200);
  }
  assert.deepEqual(
    eventData(w, "job_template_changed"),
    ["active", "paused", "active", "cancelled"].map((state) => ({ calendar_id, state })),
  );
});
