/** The review desk in a real browser: by keys alone, on a phone, and with many reviews. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { Person } from "../../../support/dashboard/person.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { WorkTrees } from "../../../support/repositories/work_trees.ts";
import { print, until } from "../../../support/waiting.ts";

const DESK = { viewport: { width: 1440, height: 900 } };
const PICTURES = Deno.env.get("MESH_REVIEW_PICTURES");

browserTest("a person comments, sends back and accepts by keys alone", async (lab) => {
  using trees = new WorkTrees(4, 1);
  const [first] = await trees.connect(lab);
  await lab.call(openAsk, {
    body: { from_peer: "agent1", to_peer: "agent0", text: "Is the login mended?" },
  });
  const page = await lab.open("#/review", DESK);
  const person = new Person(page);
  const pane = page.getByRole("region", { name: "The chosen review" });
  await pane.getByText("waits: 1 ask", { exact: false }).waitFor();
  await pane.getByText("Shares files").waitFor();
  await page.getByRole("region", { name: "Order of landing" }).getByText("checks are off")
    .waitFor();
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/desk.png` });
  assert.deepEqual(await violationsOf(page), []);
  await person.press("c", "j", "j", "j", "j", "j", "c");
  const field = page.getByLabel(/^Comment on line/);
  await person.waitForFocus(field);
  await person.type("Why 0?");
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/comment.png` });
  assert.deepEqual(await violationsOf(page), []);
  await person.press("Control+Enter");
  await pane.getByText("Not sent: Why 0?").waitFor();
  await page.reload();
  const send = pane.getByRole("button", { name: "Send 1 comment" });
  await send.press("Enter");
  const ask = await until(
    "the comment",
    () => first?.frames.find(({ type, text }) => type === "ask" && text?.includes("Why 0?")),
  );
  assert.match(ask.text ?? "", /line 4:\n\n> export const login3 = 0;\n\nWhy 0\?/);
  const { correlation_id } = ask;
  await first?.request("ack", { correlation_id, message: "A mistake, it is 3 again" });
  await pane.getByText("A mistake, it is 3 again").waitFor();
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/answered.png` });
  await page.getByRole("heading", { name: "Review", level: 1 }).focus();
  await person.press("s");
  await person.waitForFocus(page.getByLabel(/^What is missing/));
  await person.type("Mend it");
  await person.press("Control+Enter");
  await until("the ask", () => first?.frames.some(({ text }) => text?.includes("Mend it")));
  const rows = page.getByRole("main").locator(".review-row");
  await until("three are left", async () => await rows.count() === 3);
  const name = await pane.locator("header a").first().textContent();
  await person.press("a");
  await until("two are left", async () => await rows.count() === 2);
  assert.notEqual(await pane.locator("header a").first().textContent(), name);
});

browserTest("on a phone, one review is shown at a time", async (lab) => {
  using trees = new WorkTrees(3, 1);
  await trees.connect(lab);
  const page = await lab.open("", PHONE);
  await page.getByRole("link", { name: "3 ready to review" }).click();
  const rows = page.getByRole("main").locator(".review-row");
  await rows.first().waitFor();
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/phone_list.png` });
  assert.deepEqual(await violationsOf(page), []);
  await rows.first().getByRole("link").click();
  await page.getByRole("button", { name: /^Accept/ }).waitFor();
  await page.getByText("notes", { exact: false }).first().waitFor();
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/phone.png` });
  assert.deepEqual(await violationsOf(page), []);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  await page.getByRole("button", { name: /^Accept/ }).click();
  await page.getByText("nothing was merged or pushed", { exact: false }).first().waitFor();
});

browserTest("forty ready changes in six repositories are listed in 300 ms", async (lab) => {
  using trees = new WorkTrees(40, 6);
  await trees.connect(lab);
  const page = await lab.open("", DESK);
  // The summaries are read once; after that, the list runs no git.
  await page.goto(`${lab.daemon.base}/dashboard#/review`);
  const rows = page.getByRole("main").locator(".review-row");
  await until("all are read", async () => await rows.count() === 40, 60_000);
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("link", { name: "40 ready to review" }).waitFor();
    times.push(await page.evaluate<number>(SHOWN_MS));
  }
  print(`40 reviews are shown in ${times.map(Math.round).join(", ")} ms`);
  // Others use this machine as well, so the shortest time is that of the page.
  assert.ok(Math.min(...times) < 300, times.join());
});

const RUNS = 5;
/** The time from the request of the view until all reviews are drawn. */
const SHOWN_MS = `new Promise((resolve) => {
  const began = performance.now();
  location.hash = "#/review";
  const look = () => requestAnimationFrame(() =>
    document.querySelectorAll("main .review-row").length === 40
      ? resolve(performance.now() - began)
      : look());
  look();
})`;
