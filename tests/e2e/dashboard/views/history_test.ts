/** The way back: to the place where a person was, with what was shown there. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { until } from "../../../support/waiting.ts";

const SMALL = { viewport: { width: 1000, height: 400 } };

const scrollTop = (page: Page) =>
  page.evaluate<number>("document.getElementById('main').scrollTop");

/** Scrolls once the page is long enough, and waits for the event, which comes with a frame. */
async function scroll(page: Page, top: number): Promise<void> {
  const room = `document.getElementById('main').scrollHeight - innerHeight`;
  await until(`room for ${top}`, async () => await page.evaluate<number>(room) >= top);
  await page.evaluate(`new Promise((resolve) => {
    const main = document.getElementById('main');
    main.addEventListener("scroll", () => resolve(), { once: true });
    main.scrollTop = ${top};
  })`);
}

const scrollsTo = (page: Page, top: number) =>
  until(`the place ${top}`, async () => await scrollTop(page) === top);

browserTest("the way back leads to where a person was, and a link to the top", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  for (let index = 0; index < 40; index++) {
    await web.request("notify", { to_peer: api.peer_id, text: `message ${index}.` });
  }
  const page = await lab.open("#/log", SMALL);
  await page.getByText("message 5.", { exact: true }).waitFor();
  await scroll(page, 500);
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("heading", { name: "Findings" }).waitFor();
  assert.equal(await scrollTop(page), 0);
  await scroll(page, 120);
  await page.goBack();
  await scrollsTo(page, 500);
  await page.goForward();
  await scrollsTo(page, 120);
  await page.getByRole("link", { name: "Log" }).click();
  await page.getByRole("heading", { name: "Log", level: 1 }).waitFor();
  await scrollsTo(page, 0);
});

browserTest("a view to which a person returns shows its last content at once", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  await web.request("notify", { to_peer: api.peer_id, text: "an old note" });
  const page = await lab.open("#/log");
  await page.getByText("an old note").waitFor();
  await page.getByRole("link", { name: "Asks" }).click();
  await page.getByText("No open asks").waitFor();
  const answer = Promise.withResolvers<void>();
  await page.route(/\/messages\?/, async (route) => {
    await answer.promise;
    await route.continue();
  });
  await page.goBack();
  await page.getByText("an old note").waitFor();
  answer.resolve();
});
