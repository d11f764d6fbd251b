/** Jobs: created, run, retried and cancelled; what recurs; checks and results. */

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { createJob, getJob, listJobs, updateJob } from "protocol/jobs/contract.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { until } from "../../../support/waiting.ts";

/** The attempt of a job, once it runs. */
async function attemptOf(lab: DashboardLab, id: string): Promise<string> {
  return await until("an attempt", async () => {
    const found = await lab.call(getJob, { params: { id } });
    return "runner" in found && found.state === "running" && found.runner.current_attempt_id;
  });
}

const idOf = (url: string) => url.slice(url.lastIndexOf("/") + 1);

browserTest(
  "a job is created for a peer, runs, and shows its attempt and its result",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open("#/jobs");
    await page.getByRole("link", { name: "New job" }).click();
    await page.getByText("Give a prompt or a title.").waitFor();
    await page.getByLabel("Title").fill("Mend the test");
    await page.getByLabel("Prompt").fill("Mend `login.test.ts`.");
    await page.getByRole("combobox", { name: "Peer", exact: true }).selectOption(api.peer_id);
    await page.getByRole("button", { name: "Create the job" }).click();
    await page.getByRole("heading", { name: "Mend the test" }).waitFor();
    const id = idOf(page.url());
    const attempt_id = await attemptOf(lab, id);
    await page.locator(".attempts", { hasText: "Attempt 1" }).getByRole("link", { name: "api" })
      .waitFor();
    await page.getByText("How the prompt arrived").click();
    await page.getByRole("region", { name: "Trace" }).getByText("seen", { exact: true }).waitFor();
    const result = { result_summary: "It was a **race**.", result_data: { tries: 3 } };
    await lab.call(updateJob, {
      params: { id },
      body: { state: "completed", attempt_id, ...result },
    });
    await page.locator(".reply strong", { hasText: "race" }).waitFor();
    await page.getByLabel("Data", { exact: true }).getByText('"tries": 3').waitFor();
    await page.locator("article header", { hasText: "completed" }).waitFor();
    await page.getByRole("link", { name: "← All jobs" }).click();
    await page.locator(".board-column", { hasText: "Done" }).getByText("Mend the test").waitFor();
  },
);

browserTest(
  "a job that failed is retried, and then cancelled after a confirmation",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const body = { title: "Port check", prompt: "Check.", assigned_peer: api.peer_id };
    const made = await lab.call(createJob, { body });
    const id = "job_id" in made ? made.job_id : "";
    const attempt_id = await attemptOf(lab, id);
    const report = { state: "failed", attempt_id, error: "host-7 is down" } as const;
    await lab.call(updateJob, { params: { id }, body: report });
    const page = await lab.open(`#/jobs/${id}`);
    await page.getByText("host-7 is down").waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator(".attempts", { hasText: "Attempt 2" }).waitFor();
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the job" }).click();
    await page.locator("article > header", { hasText: "cancelled" }).waitFor();
  },
);

browserTest(
  "a recurring job shows its next five times, is paused, resumed and run",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open("#/jobs/new");
    await page.getByLabel("Title").fill("Nightly check");
    await page.getByRole("combobox", { name: "Peer", exact: true }).selectOption(api.peer_id);
    await page.getByRole("button", { name: "Again and again" }).click();
    await page.getByLabel("Cron pattern").fill("0 3 * *");
    await page.getByText("A pattern is five fields").first().waitFor();
    await page.getByLabel("Cron pattern").fill("0 3 * * *");
    const times = page.getByRole("list", { name: "The next times" });
    await times.getByRole("listitem").nth(4).waitFor();
    await page.getByRole("button", { name: "Create the job" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("It fires again only after it was resumed").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await times.getByRole("listitem").nth(4).waitFor();
    assert.equal(await times.getByRole("listitem").count(), 5);
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("ran once").waitFor();
    await page.getByRole("link", { name: "last", exact: true }).click();
    await page.getByRole("link", { name: "a recurring job" }).waitFor();
  },
);

browserTest("a double click, and a try after a lost answer, make one job", async (lab) => {
  await lab.peer({ name: "api" });
  const page = await lab.open("#/jobs/new");
  await page.getByLabel("Title").fill("Later");
  await page.getByRole("button", { name: "After a while" }).click();
  await page.getByLabel("After", { exact: true }).fill("1h");
  await page.route("**/jobs", async (route) => {
    await route.fetch();
    await route.abort();
  }, { times: 1 });
  const send = page.getByRole("button", { name: "Create the job" });
  await send.click();
  await page.getByText("The daemon does not answer. Try again.").waitFor();
  await send.dblclick();
  await page.getByRole("heading", { name: "Later" }).waitFor();
  assert.equal((await lab.call(listJobs, { query: {} })).work.length, 1);
  // The browser's own report of the lost answer.
  assert.deepEqual(lab.offences.splice(0), ["console: Failed to load resource: net::ERR_FAILED"]);
});

const CHECKS = {
  quick: { argv: ["true"] },
  tests: { argv: ["sh", "-c", "echo 2 of 9 failed; exit 1"] },
  late: { argv: ["true"] },
};

browserTest("a check that fails decides about a job, and its output is shown", async (lab) => {
  const api = await lab.peer({ name: "api", path: lab.state });
  const checks = Object.keys(CHECKS);
  const body = { title: "With checks", prompt: "Do it.", assigned_peer: api.peer_id, checks };
  const made = await lab.call(createJob, { body });
  const id = "job_id" in made ? made.job_id : "";
  await attemptOf(lab, id);
  const page = await lab.open(`#/jobs/${id}`);
  await page.locator(".checks li", { hasText: "not run" }).nth(2).waitFor();
  api.send({ type: "chat_turn", role: "assistant", text: "It is done." });
  const tests = page.locator(".checks li", { hasText: "tests" });
  await tests.getByText("failed", { exact: true }).waitFor();
  await tests.getByText("2 of 9 failed").waitFor();
  await page.locator(".checks li", { hasText: "quick" }).getByText("passed").waitFor();
  await page.locator(".checks li", { hasText: "late" }).getByText("not run").waitFor();
  await page.getByText("check failed", { exact: true }).first().waitFor();
}, {
  MESH_JOBS__CHECKS: JSON.stringify(CHECKS),
  MESH_SPAWN__ALLOWED_PATHS: tmpdir(),
});
