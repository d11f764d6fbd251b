/** An open page shows what others change, without a reload and without polling. */

import assert from "node:assert/strict";
import { createJob, pauseJob, updateJob } from "protocol/jobs/contract.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { print } from "../../support/waiting.ts";

Deno.test("schedules, templates and the progress of jobs change on an open page", async () => {
  await using lab = await DashboardLab.start();
  if (!lab) return print("skipped: no Chromium; install the package chromium");
  await lab.peer({ name: "api" });
  const page = await lab.open("#/schedules");
  await page.getByRole("heading", { level: 1 }).waitFor();
  const stand_up = { from_peer: "sam", to_peer: "api", text: "Stand up", fire_at: "3h" };
  await lab.call(createSchedule, { body: stand_up });
  await page.getByText("Stand up").waitFor();

  await page.goto(`${lab.daemon.base}/dashboard#/jobs`);
  const work = { path: "/work", backend: "generic" as const };
  const template = await lab.call(createJob, {
    body: { ...work, title: "Nightly", cron: "0 3 * * *" },
  });
  const row = page.locator("[data-row], li, tr", { hasText: "Nightly" }).first();
  await row.waitFor();
  const calendar_id = "calendar_id" in template ? template.calendar_id : "";
  await lab.call(pauseJob, { params: { id: calendar_id }, body: {} });
  await row.getByText("paused").waitFor();

  const job = await lab.call(createJob, {
    body: { ...work, title: "Count", due_at: "2031-01-01T00:00:00Z" },
  });
  const id = "job_id" in job ? job.job_id : "";
  await page.goto(`${lab.daemon.base}/dashboard#/jobs/${id}`);
  await page.getByRole("heading", { name: "Count" }).first().waitFor();
  await lab.call(updateJob, { params: { id }, body: { progress: 55 } });
  await page.getByRole("progressbar", { name: "55 %" }).waitFor();
  assert.deepEqual(lab.offences, []);
});
