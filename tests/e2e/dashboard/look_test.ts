/** The look of all views: sizes of text, rows, motion, shapes of states, empty views that teach. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { open } from "../../support/dashboard/attention.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { until } from "../../support/waiting.ts";
import { seed } from "../../support/dashboard/seeded_mesh.ts";

/** The type scale in pixels; code is a tenth smaller than the text around it. */
const SCALE = [12, 13, 15, 17, 20];
const VIEWS = ["attention", "mesh", "log", "asks", "jobs", "schedules", "usage", "health"];

async function show(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = "#/${view}"`);
  await until("the view", () => page.evaluate("!document.querySelector('main .skeleton')"));
}

/** Sizes of text in a view, without code. */
const sizes = `[...new Set([...document.querySelectorAll("body *:not(code, kbd, pre, svg *)")]
  .filter((element) => [...element.childNodes].some(({ nodeType, data }) =>
    nodeType === 3 && data.trim() !== "") && element.checkVisibility() &&
    !element.closest("code, kbd, pre, canvas"))
  .map((element) => parseFloat(getComputedStyle(element).fontSize)))]`;

browserTest(
  "text has one of five sizes, and each state has a shape beside its word",
  async (lab) => {
    await seed(lab);
    const page = await lab.open();
    for (const view of VIEWS) {
      await show(page, view);
      const found: number[] = await page.evaluate(sizes);
      assert.deepEqual(found.filter((size) => !SCALE.includes(size)), [], view);
      const states = page.locator("main .state");
      const words = await states.allInnerTexts();
      assert.ok(words.every((word) => word.trim() !== ""), view);
      assert.equal(await page.locator("main .state > svg.shape").count(), words.length, view);
    }
  },
);

const style = (page: Page, selector: string, property: string) =>
  page.evaluate(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)}))[${
      JSON.stringify(property)
    }]`,
  );

browserTest("rows of long lists are 40 px high, and their numbers have one width", async (lab) => {
  await seed(lab);
  const page = await lab.open();
  for (
    const [view, row] of [["log", ".list-row"], ["asks", ".list-row"], ["mesh?dense=1", ".peer"]]
  ) {
    await show(page, view ?? "");
    await page.locator(`main ${row}`).first().waitFor();
    const heights: number[] = await page.evaluate(
      `[...document.querySelectorAll("main ${row}")].map((row) => row.offsetHeight)`,
    );
    assert.ok(heights.every((height) => height >= 40), `${view}: ${heights}`);
  }
  await show(page, "log");
  assert.equal(await style(page, "main time", "fontVariantNumeric"), "tabular-nums");
  assert.equal(await style(page, "main", "scrollbarWidth"), "thin");
});

browserTest("motion takes 150 ms, and there is none for people who want none", async (lab) => {
  await open(await lab.peer({ name: "db" }), { text: "Which port?" });
  const moving = await lab.open();
  await moving.locator("li.card").waitFor();
  assert.equal(await style(moving, "main button", "transitionDuration"), "0.15s");
  const still = await lab.open("", { reducedMotion: "reduce" });
  await still.locator("li.card").waitFor();
  const moved = `[...document.querySelectorAll("*")].filter((element) => {
    const { transitionProperty, transitionDuration, animationName } = getComputedStyle(element);
    return animationName !== "none" ||
      (transitionProperty !== "none" && parseFloat(transitionDuration) > 0);
  }).length`;
  assert.equal(await still.evaluate(moved), 0);
});

const TAUGHT = {
  log: 'mesh notify NAME "Hello"',
  asks: 'mesh ask NAME "What are you working on?" --wait',
  jobs: 'mesh jobs create "Fix the flaky test" --to NAME',
  "schedules?tab=all": 'mesh schedule create me "Look at the build" --at 10m',
  "schedules?tab=when": "mesh when web idle",
  mesh: "mesh setup",
};

browserTest("an empty view says what it shows, and which command fills it", async (lab) => {
  const page = await lab.open();
  for (const [view, command] of Object.entries(TAUGHT)) {
    await show(page, view);
    const taught = page.locator("main .command", { has: page.getByText(command, { exact: true }) });
    await taught.getByRole("button", { name: "Copy" }).waitFor();
  }
});
