/** Health: charts that are loaded when they are shown, figures, and the self-test's verdicts. */

import assert from "node:assert/strict";
import { VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { until } from "../../../support/waiting.ts";

browserTest("charts are loaded only when Health is shown, and follow new messages", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  const page = await lab.open();
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(request.url()));
  await page.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await page.reload();
  await page.getByRole("link", { name: "api" }).waitFor();
  assert.equal(loaded.filter((url) => url.includes("/charts.")).length, 0);
  await page.evaluate("location.hash = '#/health'");
  await page.locator(".chart canvas").nth(2).waitFor();
  assert.equal(loaded.filter((url) => url.includes("/charts.")).length, 1);
  const chart = page.locator("figure", { hasText: "Messages a minute" });
  await chart.getByText("As a table").click();
  for (let count = 1; count <= 3; count++) {
    await web.request("notify", { to_peer: api.peer_id, text: `message ${count}` });
  }
  await until("three messages in the table", async () => {
    const cells = await chart.locator("tbody td:first-of-type").allTextContents();
    return cells.reduce((sum, cell) => sum + Number(cell), 0) === 3;
  });
  await page.locator(".numbers", { hasText: /To seen, p50 · p99[\d.]+ m?s · [\d.]+ m?s/ })
    .waitFor();
});

browserTest(
  "a chart that cannot be loaded says so, and is loaded when it is tried again",
  async (lab) => {
    const page = await lab.open();
    let fail = true;
    await page.route(/\/charts\./, (route) => fail ? route.abort() : route.continue());
    await page.evaluate("location.hash = '#/health'");
    const failed = page.locator(".chart .failed").first();
    await failed.waitFor();
    fail = false;
    await failed.getByRole("button", { name: "Try again" }).click();
    await page.locator(".chart canvas").first().waitFor();
    lab.forgive(/ERR_FAILED/);
  },
);

browserTest("the verdicts of the self-test are a table, with what failed", async (lab) => {
  const agents = {
    "claude-code": {
      version: "2.1.329",
      at: new Date().toISOString(),
      transports: {
        native: { degraded: true, why: "dialog: it did not arrive" },
        pane: { degraded: false, why: null },
      },
    },
  };
  Deno.writeTextFileSync(`${lab.state}/${VERDICTS_FILE}`, JSON.stringify({ agents }));
  const page = await lab.open("#/health");
  const table = page.getByRole("region", { name: "Results of the self-test" });
  await table.getByRole("row", { name: /claude-code 2\.1\.329 native failed.*did not arrive/ })
    .waitFor();
  await table.getByRole("row", { name: /claude-code 2\.1\.329 pane passed/ }).waitFor();
});
