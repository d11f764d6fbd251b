/** Attention in two panes on a wide page, and asks that are put off. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { cancelAsk, getAsk } from "protocol/asks/contract.ts";
import { choice, open } from "../../support/dashboard/attention.ts";
import { violationsOf } from "../../support/dashboard/axe.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { askPermission, GATED } from "../../support/dashboard/permissions.ts";

const WIDE = { viewport: { width: 1400, height: 900 } };
const rows = (page: Page) => page.locator("main .list-row");
const chosenIn = (page: Page) =>
  page.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('at')");

browserTest("from 1,400 px, Attention shows its items beside the chosen one", async (lab) => {
  const db = await lab.peer({ name: "db" });
  await db.request("notify", { to_peer: "sam", text: "Backup **done** [1]" });
  const first = await open(db, choice("Drop the table?"));
  const second = await open(db, { text: "Which port?" });
  const page = await lab.open("", WIDE);
  await rows(page).nth(2).waitFor();
  assert.equal(await page.locator("li[id^=card-]").count(), 1);
  await page.locator(`#card-${first}`).waitFor();
  const list = await rows(page).first().boundingBox();
  const card = await page.locator("li[id^=card-]").boundingBox();
  assert.ok(list && card && list.x + list.width < card.x && list.height >= 40);
  // Moving in the list chooses, and the address keeps the choice.
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.locator(`#card-${second}`).waitFor();
  assert.equal(await chosenIn(page), second);
  await page.reload();
  await page.locator(`#card-${second}`).waitFor();
  // The earlier messages of both are below the card; the notification came first.
  await page.getByRole("heading", { name: "Earlier between you" }).waitFor();
  await page.locator(".bubble strong", { hasText: "done" }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.setViewportSize({ width: 1399, height: 900 });
  await page.locator(`#card-${first}`).waitFor();
  assert.equal(await page.locator("li.card").count(), 3);
});

browserTest(
  "the item after an answered one is chosen",
  async (lab) => {
    const db = await lab.peer({ name: "db" });
    const page = await lab.open("", WIDE);
    const first = await open(db, { text: "Which port?" });
    const second = await open(db, { text: "Which host?" });
    await rows(page).nth(1).waitFor();
    await rows(page).first().focus();
    await page.keyboard.press("a");
    await page.locator(`#card-${first} textarea:focus`).waitFor();
    await page.keyboard.type("8080");
    await page.keyboard.press("Enter");
    await page.locator(`#card-${second}`).waitFor();
    assert.equal(await rows(page).count(), 1);
  },
);

browserTest("a click that may be meant for the item before is not taken", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const page = await lab.open("", WIDE);
  const first = await open(db, choice("Run the tests?"));
  const second = await open(db, choice("Drop the table?"));
  // Both were shown before, at the same place.
  for (const [index, id] of [[0, first], [1, second], [0, first]] as const) {
    await rows(page).nth(index).click();
    await page.locator(`#card-${id}`).waitFor();
  }
  const box = await page.getByRole("button", { name: "Run it" }).boundingBox();
  assert.ok(box);
  await page.mouse.move(5, 5);
  await page.evaluate("document.activeElement.blur()");
  await lab.call(cancelAsk, { params: { id: first }, body: { peer_id: db.peer_id } });
  await page.locator(`#card-${second}`).waitFor();
  await page.mouse.click(box.x + 5, box.y + 5);
  await page.getByText("The questions have just moved. Press again.").waitFor();
  assert.equal((await lab.call(getAsk, { params: { id: second } })).state, "open");
});

browserTest("a question that ends while its row has the focus stays, and says so", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const page = await lab.open("", WIDE);
  const first = await open(db, { text: "Which port?" });
  const second = await open(db, choice("Drop the table?"));
  await rows(page).nth(1).waitFor();
  await rows(page).filter({ hasText: "Which port?" }).focus();
  await lab.call(cancelAsk, { params: { id: first }, body: { peer_id: db.peer_id } });
  await page.locator(`#card-${first}.ended`).waitFor();
  assert.equal(await page.locator(`#card-${second}`).count(), 0);
});

browserTest("the keys 1, 2 and 3 answer the permission that the list has chosen", async (lab) => {
  const page = await lab.open("", WIDE);
  const push = await askPermission(lab, "Bash", { command: "git push" });
  await rows(page).filter({ hasText: "Run: git push" }).focus();
  await page.locator(`#card-${push.id}`).waitFor();
  await page.keyboard.press("2");
  assert.deepEqual(await push.answer, { behavior: "deny", message: "The human denied it" });
  await page.locator(`#card-${push.id}`).waitFor({ state: "detached" });
}, GATED);

browserTest("an ask is put off like a message, stays open, and comes back", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const id = await open(db, { text: "Which port?" });
  const urgent = await open(db, choice("Drop it?", { blocking: true }));
  const page = await lab.open();
  await page.locator(`#card-${id}`).getByLabel("Put off").selectOption("1h");
  await page.locator(`#card-${id}`).waitFor({ state: "detached" });
  // An agent that can do nothing meanwhile is not put off.
  assert.equal(await page.locator(`#card-${urgent}`).getByLabel("Put off").count(), 0);
  await page.getByText("1 put off").click();
  await page.getByRole("button", { name: "Bring it back now" }).click();
  await page.locator(`#card-${id} textarea`).fill("8080");
  await page.keyboard.press("Enter");
  assert.equal((await db.waitForEnd(id)).text, "8080");
});
