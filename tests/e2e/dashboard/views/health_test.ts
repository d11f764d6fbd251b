/** Health: charts, figures, and the self-test's verdicts. */

import assert from "node:assert/strict";
import { VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { until } from "../../../support/waiting.ts";

browserTest("the charts of Health follow new messages", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  const page = await lab.open("#/health");
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
  "the lines of a chart have the colours of a theme that is chosen later",
  async (lab) => {
    const page = await lab.open("#/health", { colorScheme: "dark" });
    await page.locator(".chart-plot .chart-area").first().waitFor({ state: "attached" });
    const colour = () =>
      page.evaluate<string>("getComputedStyle(document.querySelector('.chart-area')).fill");
    assert.equal(await colour(), "rgb(124, 183, 255)");
    await page.evaluate("document.documentElement.style.colorScheme = 'light'");
    assert.equal(await colour(), "rgb(11, 92, 173)");
    await page.evaluate("document.documentElement.style.colorScheme = ''");
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await colour(), "rgb(11, 92, 173)");
  },
);

browserTest("a chart shows the values of the minute under the pointer", async (lab) => {
  const page = await lab.open("#/health");
  const chart = page.locator("figure", { hasText: "Messages a minute" });
  const shown = chart.locator("figcaption .hint .hint");
  const last = await shown.textContent();
  await chart.locator(".chart-plot").hover({ position: { x: 2, y: 20 } });
  await until("an earlier minute", async () => await shown.textContent() !== last);
  await chart.getByText("As a table").hover();
  await until("the last minute", async () => await shown.textContent() === last);
});

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
