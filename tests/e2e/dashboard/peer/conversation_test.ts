/** The conversation: earlier messages, and who wrote what. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { notifyPeer } from "protocol/notifications.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { until } from "../../../support/waiting.ts";

/** Sends this many notes from one peer to another; returns the id of the recipient. */
async function converse(lab: DashboardLab, count: number): Promise<string> {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  for (let index = 0; index < count; index++) {
    const body = { from_peer: web.peer_id, to_peer: api.peer_id, text: `note ${index}.` };
    await lab.call(notifyPeer, { body });
  }
  return api.peer_id;
}

/** Distance of an entry from the top of the window. */
async function topOf(page: Page, text: string): Promise<number> {
  const box = await page.getByText(text, { exact: true }).boundingBox();
  assert.ok(box, text);
  return Math.round(box.y);
}

browserTest("earlier messages are put above, and a reader keeps the place", async (lab) => {
  const page = await lab.open(`#/peers/${await converse(lab, 120)}`);
  await page.getByText("note 119.").waitFor();
  const loads: string[] = [];
  page.on(
    "request",
    (request) => request.url().includes("/messages?") && loads.push(request.url()),
  );
  const box = "document.querySelector('.conversation')";
  await until("the end", () => page.evaluate<boolean>(`${box}.scrollTop > 0`));
  await page.evaluate(`${box}.scrollTop = 0`);
  const before = await topOf(page, "note 70.");
  await page.getByRole("button", { name: "Earlier messages" }).click();
  await page.getByText("note 20.", { exact: true }).waitFor();
  assert.equal(await topOf(page, "note 70."), before);
  assert.equal(await page.locator(".bubble").count(), 100);
  const earlier_loads = loads.map((url) => new URL(url).searchParams)
    .filter((query) => query.has("cursor"));
  assert.deepEqual(earlier_loads.map((query) => query.get("limit")), ["50"]);
  await page.evaluate(`${box}.scrollTop = 0`);
  const earlier = await topOf(page, "note 20.");
  await page.getByRole("button", { name: "Earlier messages" }).click();
  await page.getByText("note 0.", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Earlier messages" }).waitFor({ state: "detached" });
  assert.ok(Math.abs(await topOf(page, "note 20.") - earlier) < 2);
});

browserTest("a new message leaves the earlier ones on the page", async (lab) => {
  const id = await converse(lab, 60);
  const page = await lab.open(`#/peers/${id}`);
  await page.getByRole("button", { name: "Earlier messages" }).click();
  await page.getByText("note 0.", { exact: true }).waitFor();
  await lab.call(notifyPeer, { body: { from_peer: "ci", to_peer: id, text: "the newest" } });
  await page.getByText("the newest").waitFor({ state: "attached" });
  await page.getByText("note 0.", { exact: true }).waitFor();
});

browserTest("at its limit a conversation says where earlier messages are", async (lab) => {
  const page = await lab.open(`#/peers/${await converse(lab, 510)}`);
  for (let pages = 0; pages < 9; pages++) {
    await page.getByRole("button", { name: "Earlier messages" }).click();
    await page.getByText(`note ${410 - 50 * pages}.`, { exact: true }).waitFor();
  }
  await page.getByText("The newest 500 messages are shown. The log finds earlier ones.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Earlier messages" }).count(), 0);
});

browserTest("only what the human wrote has the human's colour", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  await web.request("notify", { to_peer: api.peer_id, text: "from web" });
  await lab.call(notifyPeer, { body: { from_peer: "sam", to_peer: "api", text: "forged" } });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("from sam");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".bubble", { hasText: "from sam" }).waitFor();
  const coloured = await page.locator(".bubble.own .markdown").allInnerTexts();
  assert.deepEqual(coloured.map((text) => text.trim()), ["from sam"]);
});
