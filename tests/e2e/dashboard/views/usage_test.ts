/** Usage: tokens and money by day and by agent, and the context that is left on a card. */

import assert from "node:assert/strict";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { PRICES, useTokens } from "../../../support/dashboard/used_tokens.ts";

browserTest("a person sees tokens and their price by day, by agent and by model", async (lab) => {
  await useTokens(lab);
  const page = await lab.open("#/attention");
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  const table = page.getByRole("table");
  await table.getByRole("row").nth(5).waitFor();
  await page.getByText("Prices as of 2026-11-01, from the setting usage.prices.").waitFor();
  await page.getByText("227,900 tokens have no price.").waitFor();
  await page.getByRole("button", { name: "Agent", exact: true }).click();
  await table.getByRole("row", { name: /scout .*224,800 .*no price/ }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.getByRole("button", { name: "Today" }).click();
  await table.getByRole("row", { name: /ledger .*510,300 .*440,000 .*0.85 EUR/ }).waitFor();
  await page.getByRole("button", { name: "Model" }).click();
  await table.getByRole("row", { name: /gpt-5.5 .*no price/ }).waitFor();
  await page.getByRole("button", { name: "Chain" }).click();
  await table.getByRole("row", { name: /none/ }).waitFor();
  await page.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await page.getByText("13 % of context left").waitFor();
  await page.getByText("236k tokens of context").waitFor();
}, PRICES);

browserTest(
  "a view without tokens says how they are counted, and how money is shown",
  async (lab) => {
    const page = await lab.open("#/usage?days=30");
    await page.getByText("No tokens were recorded in these days").waitFor();
    await page.getByText("Show money").click();
    await page.getByText("mesh ships none, because prices change").waitFor();
  },
);
