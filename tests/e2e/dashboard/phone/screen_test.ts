/** Screens, code and diffs can be read on a phone, and the chosen size is kept. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { open } from "../../../support/dashboard/attention.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { paneTest } from "../../../support/dashboard/pane_lab.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { smallTargets, smallTexts } from "../../../support/dashboard/targets.ts";
import { until } from "../../../support/waiting.ts";

/** Undefined while the element is not there. */
const sizeOf = (page: Page, selector: string) =>
  page.evaluate<number | undefined>(`[...document.querySelectorAll("${selector}")]
    .map((element) => Number.parseFloat(getComputedStyle(element).fontSize))[0]`);

const LINE = "a".repeat(60) + " end of the line";

paneTest(
  "the text of a screen has 11 px at least, and its size and wrapping are kept",
  async (lab) => {
    const ada = await lab.peer("ada", `echo '${LINE}'; exec cat`);
    const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`, PHONE);
    const rows = ".xterm-rows";
    await page.locator(rows).getByText("end of the line").waitFor();
    assert.equal(await sizeOf(page, rows), 11);
    const parts = page.getByRole("group", { name: "Part" }).getByRole("button");
    const tops = await parts.evaluateAll((all) => all.map((part) => part.offsetTop));
    assert.deepEqual([tops.length, new Set(tops).size], [5, 1]);
    await page.getByRole("button", { name: "Smaller text" }).click();
    assert.equal(await sizeOf(page, rows), 11);
    await page.getByRole("button", { name: "Larger text" }).click();
    await until("a larger text", async () => await sizeOf(page, rows) === 13);
    assert.deepEqual([...await smallTargets(page), ...await smallTexts(page)], []);
    await page.getByRole("button", { name: "Wrap" }).click();
    const lines = page.getByRole("region", { name: "Text of the screen of ada" });
    await lines.filter({ hasText: "end of the line" }).waitFor();
    assert.equal(await lines.evaluate((box) => box.scrollWidth - box.clientWidth), 0);
    await page.reload();
    await lines.filter({ hasText: "end of the line" }).waitFor();
    assert.equal(await sizeOf(page, ".pane-lines"), 13);
    await page.getByRole("button", { name: "Wrap", pressed: true }).click();
    await until("the screen", async () => await sizeOf(page, rows) === 13);
  },
);

browserTest("long lines of code wrap", async (lab) => {
  const api = await lab.peer({ name: "api" });
  await open(api, { text: `Is this right?\n\n\`\`\`ts\nconst a = "${"b".repeat(300)}";\n\`\`\`` });
  const page = await lab.open("", PHONE);
  const code = page.locator(".code pre");
  await code.waitFor();
  assert.equal(await code.evaluate((box) => box.scrollWidth - box.clientWidth), 0);
  assert.ok((await sizeOf(page, ".code pre") ?? 0) >= 11);
});
