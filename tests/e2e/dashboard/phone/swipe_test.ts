/** Swipes in Attention: to the right answers, to the left marks as read, and none permits. */

import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { getAsk } from "protocol/asks/contract.ts";
import { listInbox } from "protocol/inbox.ts";
import { choice, open } from "../../../support/dashboard/attention.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { askPermission, GATED } from "../../../support/dashboard/permissions.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { drag, swipe } from "../../../support/dashboard/touch.ts";
import { until } from "../../../support/waiting.ts";

const isFocused = (element: Locator) =>
  element.evaluate((focused) => focused === focused.ownerDocument.activeElement);

async function isRead(lab: DashboardLab): Promise<boolean | undefined> {
  return (await lab.call(listInbox, { query: {} })).items[0]?.read;
}

browserTest(
  "a swipe to the left marks a notification as read, and Undo brings it back",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    await api.request("notify", { to_peer: "sam", text: "The build is green" });
    const page = await lab.open("", PHONE);
    const row = page.locator(".card", { hasText: "The build is green" });
    await row.waitFor();
    // Half a swipe does nothing, nor does one to the side of a browser's gesture.
    await swipe(page, row, -60);
    await drag(page, { x: 385, y: 150 }, { x: 200, y: 150 });
    await row.waitFor();
    assert.equal(await isRead(lab), false);
    await swipe(page, row, -150);
    await row.waitFor({ state: "detached" });
    await until("it is read", () => isRead(lab));
    await page.getByRole("button", { name: "Undo" }).click();
    await row.waitFor();
    assert.equal(await isRead(lab), false);
    // The same by a button, for people who do not swipe.
    await row.getByRole("button", { name: "Mark as read" }).click();
    await row.waitFor({ state: "detached" });
  },
);

browserTest("a swipe to the right opens the answer's field, or the sender's page", async (lab) => {
  const api = await lab.peer({ name: "api" });
  await open(api, { text: "Which port?" });
  await api.request("notify", { to_peer: "sam", text: "The build is green" });
  const page = await lab.open("", PHONE);
  const question = page.locator(".card", { hasText: "Which port?" });
  await question.waitFor();
  // Nothing is to the left of a question.
  await swipe(page, question, -150);
  await swipe(page, question, 150);
  const field = page.getByLabel("Answer api");
  assert.equal(await isFocused(field), true);
  await page.keyboard.type("8080");
  await page.keyboard.press("Enter");
  await question.waitFor({ state: "detached" });
  await swipe(page, page.locator(".card", { hasText: "The build is green" }), 150);
  await page.getByRole("heading", { level: 1, name: "api" }).waitFor();
});

browserTest("no swipe permits an act or chooses an option", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const id = await open(db, choice("May I migrate?", { blocking: true }));
  const push = await askPermission(lab, "Bash", { command: "git push" });
  const page = await lab.open("", PHONE);
  for (const card of [id, push.id]) {
    const row = page.locator(`#card-${card}`);
    for (const by of [150, -150, 240]) {
      await row.scrollIntoViewIfNeeded();
      await swipe(page, row, by);
    }
    assert.equal(await isFocused(row), true);
    assert.equal((await lab.call(getAsk, { params: { id: card } })).state, "open");
  }
  const allow = page.locator(`#card-${push.id}`).getByRole("button", { name: "Allow" });
  await allow.click();
  assert.deepEqual(await push.answer, { behavior: "allow" });
}, GATED);

browserTest("a finger that moves up and down scrolls, and swipes nothing", async (lab) => {
  const api = await lab.peer({ name: "api" });
  for (let at = 1; at <= 8; at++) {
    await api.request("notify", { to_peer: "sam", text: `Build ${at} is green` });
  }
  const page = await lab.open("", PHONE);
  await page.locator(".card", { hasText: "Build 8" }).waitFor();
  await drag(page, { x: 200, y: 600 }, { x: 130, y: 200 });
  await until(
    "it scrolls",
    () => page.evaluate<boolean>("document.querySelector('main').scrollTop > 100"),
  );
  assert.equal(await page.locator("main .card").count(), 8);
  assert.equal(await page.locator("[data-swipe-to]").count(), 0);
});

browserTest("with reduced motion a row stays in its place while it is swiped", async (lab) => {
  const api = await lab.peer({ name: "api" });
  await api.request("notify", { to_peer: "sam", text: "The build is green" });
  for (const reducedMotion of ["reduce", "no-preference"] as const) {
    const page = await lab.open("", { ...PHONE, reducedMotion });
    const row = page.locator(".card", { hasText: "The build is green" });
    const left = async () => (await row.boundingBox())?.x;
    const before = await left();
    const devtools = await page.context().newCDPSession(page);
    const y = ((await row.boundingBox())?.y ?? 0) + 24;
    for (
      const [type, x] of [["touchStart", 270], ["touchMove", 240], ["touchMove", 140]] as const
    ) {
      await devtools.send("Input.dispatchTouchEvent", { type, touchPoints: [{ x, y }] });
    }
    await page.locator("[data-swipe-acts]").waitFor();
    assert.equal(await left() === before, reducedMotion === "reduce");
    assert.equal(await row.getAttribute("data-swipe-label"), "Mark as read");
    await page.context().close();
  }
});
