/** The composer stays above the keyboard of a phone. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";

/** A keyboard that covers the page below some height, as iOS has it. */
const COVERING = `
  const view = new EventTarget();
  Object.assign(view, { height: innerHeight, offsetTop: 0, scale: 1 });
  Object.defineProperty(globalThis, "visualViewport", { value: view });
  globalThis.cover = (height, offsetTop, scale = 1) => {
    Object.assign(view, { height, offsetTop, scale });
    view.dispatchEvent(new Event("resize"));
  };
`;

async function openChat(lab: DashboardLab, script = ""): Promise<Page> {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open("", PHONE);
  if (script) await page.addInitScript(script);
  await page.goto(`${lab.daemon.base}/dashboard?again#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").click();
  return page;
}

async function bottomOf(page: Page): Promise<number> {
  const box = await page.getByRole("button", { name: "Send" }).boundingBox();
  return (box?.y ?? 0) + (box?.height ?? 0);
}

browserTest("the composer is above a keyboard that covers the page", async (lab) => {
  const page = await openChat(lab, COVERING);
  await page.evaluate("cover(500, 0)");
  assert.ok(await bottomOf(page) <= 500);
  assert.equal(await page.locator(".tab-bar").isVisible(), false);
  // The browser has moved the visible part of the page.
  await page.evaluate("cover(500, 120)");
  assert.ok(await bottomOf(page) <= 620 && await bottomOf(page) > 500);
  // A person who zooms in sees a part of the page, too.
  await page.evaluate("cover(422, 0, 2)");
  assert.ok(await bottomOf(page) > 700);
  await page.evaluate("cover(844, 0)");
  await page.locator(".tab-bar").waitFor();
});

browserTest(
  "the composer is above a keyboard with which the browser resizes the page",
  async (lab) => {
    const page = await openChat(lab);
    const meta = await page.locator("meta[name=viewport]").getAttribute("content");
    assert.match(meta ?? "", /interactive-widget=resizes-content/);
    await page.setViewportSize({ width: 390, height: 480 });
    await page.locator(".tab-bar").waitFor({ state: "hidden" });
    assert.ok(await bottomOf(page) <= 480);
    await page.getByLabel("Ask api").blur();
    await page.locator(".tab-bar").waitFor();
  },
);
