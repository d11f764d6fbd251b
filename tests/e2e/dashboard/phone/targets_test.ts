/** On a phone, fingers hit every control, and every text can be read. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { listAsks } from "protocol/asks/contract.ts";
import { listJobs } from "protocol/jobs/contract.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { askPermission, GATED } from "../../../support/dashboard/permissions.ts";
import { seed } from "../../../support/dashboard/seeded_mesh.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { smallTargets, smallTexts } from "../../../support/dashboard/targets.ts";
import { until } from "../../../support/waiting.ts";
import { useTokens } from "../../../support/dashboard/used_tokens.ts";

const SCREENS = [{ width: 390, height: 844 }, { width: 360, height: 640 }];

/** The addresses of all views with records in them. */
async function viewsOf(lab: DashboardLab): Promise<string[]> {
  const api = (await seed(lab)).get("api")?.peer_id ?? "";
  await useTokens(lab);
  const { work: [job], recurring: [template] } = await lab.call(listJobs, { query: {} });
  const act = { file_path: `${lab.state}/b.js`, content: "export const b = 1;\n".repeat(9) };
  await askPermission(lab, "Write", act, lab.state);
  const { asks: [ask] } = await lab.call(listAsks, { query: {} });
  const tabs = ["", "?tab=timeline", "?tab=changes", "?tab=evidence"];
  return [
    "attention",
    "mesh",
    "mesh?tab=map",
    "mesh?dense=1",
    ...tabs.map((tab) => `peers/${api}${tab}`),
    "jobs",
    `jobs/${job?.job_id}`,
    `jobs/${template?.calendar_id}`,
    "jobs/new",
    "more",
    "log",
    "asks",
    `asks/${ask?.correlation_id}`,
    "schedules",
    "schedules?tab=all",
    "usage",
    "usage?by=agent",
    "health",
    "relay",
    "settings",
  ];
}

/** Shows a view with all of its folds open. */
async function show(page: Page, view: string): Promise<void> {
  await page.evaluate((to) => location.hash = to, `#/${view}`);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
  await until("the records", async () => await page.locator("main .skeleton").count() === 0);
  await page.locator("main :is([data-row], dl, form, .map, p, ul, ol) >> visible=true").first()
    .waitFor();
  await page.evaluate(`{
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    for (const row of document.querySelectorAll("main [aria-expanded=false]")) {
      if (row.matches(".row")) row.click();
    }
  }`);
}

async function findingsOf(page: Page, where: string): Promise<string[]> {
  const wide = await page.evaluate<number>(
    "document.documentElement.scrollWidth - innerWidth",
  );
  return [
    ...await smallTargets(page),
    ...await smallTexts(page),
    ...wide > 0 ? [`${wide} px wider than the screen`] : [],
  ].map((line) => `${where}: ${line}`);
}

browserTest("every control of every view has 44 pixels, and every text 11", async (lab) => {
  const views = await viewsOf(lab);
  const found: string[] = [];
  for (const viewport of SCREENS) {
    const page = await lab.open("", { ...PHONE, viewport });
    for (const view of views) {
      await show(page, view);
      found.push(...await findingsOf(page, `${viewport.width} ${view}`));
    }
    await show(page, "mesh?new=agent");
    await page.getByRole("dialog").waitFor();
    found.push(...await findingsOf(page, "start an agent"));
    await page.context().close();
  }
  assert.deepEqual([...new Set(found)], []);
}, GATED);

browserTest("axe finds nothing in the frame and in More, dark or light", async (lab) => {
  await lab.peer({ name: "api" });
  const found: string[] = [];
  const page = await lab.open("", PHONE);
  for (const view of ["attention", "more", "settings"]) {
    await show(page, view);
    found.push(...await violationsOf(page));
  }
  assert.deepEqual(found, []);
});
