/** The demo of the first-run page, in a real browser with a real daemon. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { listAsks } from "protocol/asks/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { until } from "../../support/waiting.ts";

async function agentsOf(lab: DashboardLab): Promise<string[]> {
  const { peers } = await lab.call(listPeers, { query: {} });
  return peers.filter(({ role }) => role === "agent").map(({ name }) => name).toSorted();
}

async function startDemo(lab: DashboardLab): Promise<Page> {
  const page = await lab.open();
  await page.getByRole("button", { name: "Show a demo with two agents" }).click();
  await page.getByText("May I restart the API now?").waitFor();
  return page;
}

browserTest("the demo's agents talk, ask the human, and are removed at its end", async (lab) => {
  const page = await startDemo(lab);
  assert.deepEqual(await agentsOf(lab), ["api", "web"]);
  await page.getByLabel("Answer api").fill("Yes, go ahead.");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByText("Nothing waits for you").waitFor();
  const { asks } = await lab.call(listAsks, { query: { state: "closed" } });
  assert.deepEqual(asks.map(({ reply }) => reply).toSorted(), [
    "On 8080, since this morning.",
    "Yes, go ahead.",
  ]);
  await page.getByRole("button", { name: "End the demo" }).click();
  await page.getByText("No agents yet").waitFor();
  assert.deepEqual(await agentsOf(lab), []);
});

browserTest("the demo's agents are removed when the page is left", async (lab) => {
  const page = await startDemo(lab);
  // Browsers may drop the calls of a page that is being left.
  await page.evaluate("globalThis.fetch = () => new Promise(() => undefined)");
  await page.reload();
  await until("no agents", async () => (await agentsOf(lab)).length === 0);
  await page.getByText("No agents yet").waitFor();
  // The page may still read an agent that it is removing; the browser logs the refusal.
  lab.forgive(/status of 404/);
});
