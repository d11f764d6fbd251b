/** axe finds nothing in any view: dark and light, desktop and phone. */

import assert from "node:assert/strict";
import { cancelAsk } from "protocol/asks/contract.ts";
import { choice, open } from "../../support/dashboard/attention.ts";
import { violationsOf } from "../../support/dashboard/axe.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { createJob, listJobs } from "protocol/jobs/contract.ts";
import { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { seed } from "../../support/dashboard/seeded_mesh.ts";
import { useTokens } from "../../support/dashboard/used_tokens.ts";
import { print } from "../../support/waiting.ts";

Deno.test("axe finds no violation in any view, dark or light, on a desktop or a phone", async () => {
  const lab = await DashboardLab.start();
  if (!lab) return print("skipped: accessibility (no Chromium; install the package chromium)");
  await using _lab = lab;
  const api = (await seed(lab)).get("api")?.peer_id ?? "";
  await useTokens(lab);
  const { work: [job], recurring: [template] } = await lab.call(listJobs, { query: {} });
  const records = [`jobs/${job?.job_id}`, `jobs/${template?.calendar_id}`, "jobs/new"];
  const views = ["attention", "mesh", `peers/${api}`, `peers/${api}?tab=evidence`, "log", "asks"];
  const found: string[] = [];
  for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
    const page = await lab.open("", { viewport });
    const check = async (what: string) => {
      const violations = await violationsOf(page);
      found.push(...violations.map((line) => `${viewport.width} ${what}: ${line}`));
    };
    for (
      const view of [
        ...views,
        ...records,
        "mesh?tab=map",
        "schedules?tab=all",
        "jobs",
        "schedules",
        "usage?by=agent",
        "health",
        "settings",
      ]
    ) {
      await page.evaluate((to) => location.hash = to, `#/${view}`);
      await page.locator("main :is([data-row], dl, form, .map) >> visible=true").first()
        .waitFor();
      await check(view);
    }
    for (const keys of ["Control+k", "?"]) {
      await page.keyboard.press(keys);
      await page.getByRole("dialog").waitFor();
      await check(keys);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.context().close();
  }
  assert.deepEqual(found, []);
  assert.deepEqual(lab.offences, []);
});

browserTest("axe finds no violation while questions end, fail, or are confirmed", async (lab) => {
  const [db, api] = [await lab.peer({ name: "db" }), await lab.peer({ name: "api" })];
  const page = await lab.open();
  const found: string[] = [];
  const check = async (state: string) => {
    found.push(...(await violationsOf(page)).map((line) => `${state}: ${line}`));
  };
  await page.getByText("Nothing waits for you").waitFor();
  await check("empty");
  const id = await open(api, { text: "Which \u202elog?" });
  const other = await open(db, choice("May I?", { scope: "tool_permission", blocking: true }));
  await page.getByLabel("Answer api").fill("The one of yesterday");
  await lab.call(cancelAsk, { params: { id }, body: { peer_id: api.peer_id } });
  await page.getByText("It was cancelled by api").waitFor();
  await check("ended");
  await page.route("**/answer", (route) => route.fulfill({ status: 503, json: {} }));
  await page.locator(`#card-${other}`).getByRole("button", { name: "Run it" }).click();
  await page.getByRole("alert").waitFor();
  await check("failed");
  await page.unroute("**/answer");
  await page.locator(`#card-${other}`).getByRole("button", { name: "Leave it" }).click();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Mark as read" }).first().click();
  await page.getByRole("button", { name: "Keys" }).click();
  await check("keys");
  assert.deepEqual(found, []);
  // The browser's own report of the failed answer.
  lab.forgive(/503/);
});

browserTest("states are words, and names are joined by words", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  await web.request("ask", { to_peer: api.peer_id, text: "Ready?" });
  const body = { title: "Tidy", prompt: "Tidy up.", assigned_peer: api.peer_id };
  await lab.call(createJob, { body });
  const page = await lab.open("#/asks");
  await page.getByRole("link", { name: /web *to *api/ }).waitFor();
  const { work: [job] } = await lab.call(listJobs, { query: {} });
  await page.evaluate((to) => location.hash = to, `#/jobs/${job?.job_id}`);
  await page.getByRole("heading", { name: "Tidy" }).waitFor();
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
  await page.evaluate((to) => location.hash = to, `#/peers/${api.peer_id}?tab=evidence`);
  await page.locator(".checks li").first().waitFor();
  for (const check of await page.locator(".checks li").all()) {
    const state = { ok: "✓ ok", fail: "✕ fails", "": "? unknown" };
    const expected = state[await check.getAttribute("class") as keyof typeof state];
    await check.getByText(expected, { exact: true }).waitFor();
  }
  const labelled = "main span[aria-label]:not([role])";
  assert.equal(await page.locator(labelled).count(), 0);
});
