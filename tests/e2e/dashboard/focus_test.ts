/** The focus is always on something that a person can see. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { cancelAsk } from "protocol/asks/contract.ts";
import { choice, open } from "../../support/dashboard/attention.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { until } from "../../support/waiting.ts";

/** The focused element: its tag, and its id or text. */
async function focusOf(page: Page): Promise<string> {
  return String(
    await page.evaluate(`(({ tagName, id, innerText }) => tagName + " " + (id || innerText))(
      document.activeElement)`),
  );
}

const focusMoves = (page: Page, to: string) =>
  until(`the focus on ${to}`, async () => await focusOf(page) === to);

browserTest(
  "after an answer the focus is on the next question, then on the heading",
  async (lab) => {
    const db = await lab.peer({ name: "db" });
    const first = await open(db, choice("May I begin?"));
    const second = await open(db, choice("May I end?"));
    const page = await lab.open();
    await page.locator(`#card-${first}`).getByRole("button", { name: "Run it" }).click();
    await page.getByText("Answered: Run it").waitFor({ state: "attached" });
    await focusMoves(page, `LI card-${second}`);
    await page.locator(`#card-${second}`).getByRole("button", { name: "Run it" }).click();
    await focusMoves(page, "H1 Attention");
  },
);

browserTest("a view that a person opens has the focus on its heading", async (lab) => {
  await lab.peer({ name: "db" });
  const page = await lab.open("#/mesh");
  await page.locator("main [data-row]", { hasText: "db" }).first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "db", level: 1 }).waitFor();
  await until("a heading", async () => (await focusOf(page)).startsWith("H1 "));
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await focusMoves(page, "H1 Log");
});

browserTest("a confirmed act leaves the focus on its button or its row", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  const { correlation_id } = await web.request("ask", { to_peer: api.peer_id, text: "Ready?" });
  const page = await lab.open(`#/asks/${correlation_id}`);
  await page.getByRole("button", { name: "Cancel the ask" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the ask" }).click();
  await page.getByText("cancelled").first().waitFor();
  await page.getByRole("button", { name: "Cancel the ask" }).waitFor({ state: "detached" });
  await until("the focus", async () => !(await focusOf(page)).startsWith("BODY"));
});

browserTest("keys that follow a field which has gone are no commands", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open();
  const id = await open(api, { text: "Which log?" });
  await page.getByLabel("Answer api").focus();
  await lab.call(cancelAsk, { params: { id }, body: { peer_id: api.peer_id } });
  await page.getByText("It was cancelled by api").waitFor();
  await focusMoves(page, `LI card-${id}`);
  for (const key of ["g", "l", "?", "c"]) await page.keyboard.press(key);
  await page.getByRole("heading", { name: "Attention", level: 1 }).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
});

browserTest("single keys can be turned off, and stay off after a reload", async (lab) => {
  const page = await lab.open();
  await page.keyboard.press("?");
  await page.getByLabel("Use keys without").uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("You are sam").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.keyboard.press("?");
  await page.getByRole("button", { name: "Keys" }).click();
  await page.getByLabel("Use keys without").check();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Attention", level: 1 }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.getByRole("heading", { name: "Log", level: 1 }).waitFor();
});

browserTest("a new question is said to screen readers, and Enter opens its row", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const page = await lab.open();
  await page.getByText("Nothing waits for you").waitFor();
  await open(db, choice("May I?"));
  await page.locator("[role=status]", { hasText: "New question from db" }).waitFor({
    state: "attached",
  });
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Asks", level: 1 }).waitFor();
});
