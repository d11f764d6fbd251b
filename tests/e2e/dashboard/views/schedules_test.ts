/** Schedules: the calendar, a new one, and its end. */

import assert from "node:assert/strict";
import { listSchedules } from "protocol/schedules/contract.ts";
import { createSubscription } from "protocol/subscriptions/contract.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

browserTest(
  "a message for later is in the calendar, and is cancelled after a confirmation",
  async (lab) => {
    await lab.peer({ name: "api" });
    const page = await lab.open("#/schedules");
    await page.getByText("Nothing is scheduled").waitFor();
    await page.getByRole("button", { name: "New schedule" }).click();
    await page.getByLabel("Message").fill("Stand-up");
    await page.getByLabel("After", { exact: true }).fill("soon");
    await page.getByText("A time from now, such as 10m").waitFor();
    assert.ok(await page.getByRole("button", { name: "Schedule it" }).isDisabled());
    await page.getByLabel("After", { exact: true }).fill("1m");
    await page.getByRole("button", { name: "Schedule it" }).click();
    await page.getByRole("button", { name: /sam *to *api/ }).click();
    await page.getByRole("button", { name: "Cancel it" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel it" }).click();
    await page.getByText("Nothing is scheduled").waitFor();
    await page.getByRole("button", { name: "Ended" }).click();
    await page.locator(".card", { hasText: "Stand-up" }).getByText("cancelled").waitFor();
  },
);

browserTest("a recurring schedule is listed with its next five times, on its days", async (lab) => {
  await lab.peer({ name: "api" });
  const page = await lab.open("#/schedules");
  await page.getByRole("button", { name: "New schedule" }).click();
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByLabel("Message").fill("All well?");
  await page.getByRole("button", { name: "Again and again" }).click();
  await page.getByLabel("Cron pattern").fill("0 9 * * *");
  await page.getByRole("button", { name: "Schedule it" }).click();
  await page.getByRole("button", { name: /sam *to *api/ }).nth(4).waitFor();
  assert.equal(await page.locator(".agenda section").count(), 5);
  assert.equal(await page.locator(".agenda section", { hasText: "Tomorrow" }).count(), 1);
  const { schedules: [made] } = await lab.call(listSchedules, { query: {} });
  assert.deepEqual([made?.kind, made?.cron, made?.from_peer_name], ["ask", "0 9 * * *", "sam"]);
});

browserTest("a double click, and a try after a lost answer, make one schedule", async (lab) => {
  await lab.peer({ name: "api" });
  const page = await lab.open("#/schedules");
  await page.getByRole("button", { name: "New schedule" }).click();
  await page.getByLabel("Message").fill("Stand-up");
  await page.getByLabel("After", { exact: true }).fill("1h");
  await page.route("**/schedules", async (route) => {
    await route.fetch();
    await route.abort();
  }, { times: 1 });
  const send = page.getByRole("button", { name: "Schedule it" });
  await send.click();
  await page.getByText("The daemon does not answer. Try again.").waitFor();
  await send.dblclick();
  await page.getByRole("button", { name: /sam *to *api/ }).waitFor();
  assert.equal((await lab.call(listSchedules, { query: {} })).schedules.length, 1);
  // The browser's own report of the lost answer.
  assert.deepEqual(lab.offences.splice(0), ["console: Failed to load resource: net::ERR_FAILED"]);
});

browserTest("subscriptions are shown, and can be cancelled", async (lab) => {
  await lab.peer({ name: "api" });
  const body = { from_peer: "sam", condition: "peer:api idle", text: "Go on", until: "2h" };
  await lab.call(createSubscription, { body: { ...body, to_peer: "api" } as never });
  const page = await lab.open("#/schedules");
  await page.getByRole("button", { name: "When" }).click();
  const card = page.locator(".card", { hasText: "peer:api idle" });
  await card.getByText("Go on").waitFor();
  await card.getByRole("button", { name: "Cancel it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel it" }).click();
  await card.getByText("cancelled").waitFor();
});
