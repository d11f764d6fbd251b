/** The review desk in a real browser: by keys alone, on a phone, and with many reviews. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { Person } from "../../../support/dashboard/person.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { WorkTrees } from "../../../support/repositories/work_trees.ts";
import { until } from "../../../support/waiting.ts";

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
  const rows = page.getByRole("main").locator(".review-row");
  // The shown review stays while others are read; what holds up most work is the first row.
  await rows.first().getByText("waits: 1 ask", { exact: false }).waitFor();
  await person.press("j");
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

browserTest(
  "the changes of other machines are listed with theirs, and are accepted there",
  async (lab) => {
    using trees = new WorkTrees(1, 1);
    await trees.connect(lab);
    lab.network.fill();
    const page = await lab.open("", DESK);
    // The daemon has no other machine: buildbox has the same change, and the others do not answer.
    await page.route(/\/reviews.*machine=/, async (route) => {
      const url = new URL(route.request().url());
      const machine = url.searchParams.get("machine");
      if (machine !== "dm-attic" && machine !== "dm-cloud") {
        url.searchParams.delete("machine");
        return await route.continue({ url: url.href });
      }
      const problem = { error: "reviews_elsewhere", detail: "Its reviews could not be read" };
      await route.fulfill({ status: 502, json: problem });
    });
    const accepted: { machine?: string; reviews: unknown[] }[] = [];
    await page.route(/\/reviews$/, async (route) => {
      accepted.push(route.request().postDataJSON());
      await route.fulfill({ json: { results: [{ id: "review", accepted: true, detail: null }] } });
    });
    await page.getByRole("link", { name: "1 ready to review" }).click();
    const row = page.locator(".review-row", { hasText: "agent0@buildbox" });
    await row.getByRole("link").click();
    assert.equal(await page.locator(".review-row").count(), 2);
    for (const machine of ["attic", "cloud"]) {
      await page.getByText(`${machine}: Its reviews could not be read.`).waitFor();
    }
    const pane = page.getByRole("region", { name: "The chosen review" });
    await pane.getByText("notes", { exact: false }).first().waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await pane.getByRole("button", { name: /^Accept/ }).click();
    await page.getByText("nothing was merged or pushed", { exact: false }).first().waitFor();
    assert.deepEqual(accepted.map(({ machine }) => machine), ["buildbox"]);
    lab.forgive(/502/);
  },
);

browserTest(
  "several are accepted or sent back by keys, and each that has changed is named [4.reviews.batch]",
  async (lab) => {
    using trees = new WorkTrees(6, 2);
    const peers = await trees.connect(lab);
    const page = await lab.open("", DESK);
    await page.getByRole("link", { name: "6 ready to review" }).waitFor();
    const person = new Person(page);
    await person.press("g", "v");
    const rows = page.getByRole("main").locator(".review-row");
    await until("all are read", async () => await rows.count() === 6);
    const mark = async (count: number) => {
      for (let at = 0; at < count; at++) {
        await person.press("j", "x");
        await page.getByRole("button", { name: `Accept ${at + 1} marked` }).waitFor();
      }
    };
    await mark(3);
    const third = await rows.nth(2).locator(".who").textContent();
    const changed = trees.trees.find(({ name }) => name === third);
    Deno.writeTextFileSync(`${changed?.folder}/late.txt`, "late\n");
    await person.press("A");
    await page.getByRole("alert").getByText(`${third}: The changes of ${third} are others now`)
      .waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await until("four are left", async () => await rows.count() === 4);
    await page.locator("h1").focus();
    await mark(2);
    await person.press("S");
    await person.waitForFocus(page.getByLabel(/^What is missing/));
    await person.type("Add a test");
    await person.press("Control+Enter");
    await until("two are left", async () => await rows.count() === 2);
    const sent = peers.flatMap(({ frames }) =>
      frames.filter(({ text }) => text?.includes("Add a test"))
    );
    assert.equal(sent.length, 2);
  },
);

browserTest(
  "on a phone, several are marked and accepted or sent back [4.reviews.batch]",
  async (lab) => {
    using trees = new WorkTrees(4, 1);
    const peers = await trees.connect(lab);
    const page = await lab.open("", PHONE);
    await page.getByRole("link", { name: "4 ready to review" }).click();
    const rows = page.getByRole("main").locator(".review-row");
    await until("all are read", async () => await rows.count() === 4);
    for (const at of [0, 1]) await rows.nth(at).getByRole("checkbox").tap();
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/phone_batch.png` });
    assert.deepEqual(await violationsOf(page), []);
    await page.getByRole("button", { name: "Accept 2 marked" }).tap();
    await until("two are left", async () => await rows.count() === 2);
    for (const at of [0, 1]) await rows.nth(at).getByRole("checkbox").tap();
    await page.getByRole("button", { name: "Send back 2 marked" }).tap();
    await page.getByLabel(/^What is missing/).fill("Add a test");
    await page.getByRole("button", { name: /^Send back Ctrl|^Send back$/ }).tap();
    await until("none is left", async () => await rows.count() === 0);
    const sent = peers.flatMap(({ frames }) =>
      frames.filter(({ text }) => text?.includes("Add a test"))
    );
    assert.equal(sent.length, 2);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  },
);

browserTest(
  "a key that is pressed while a review is loaded does not leave the view",
  async (lab) => {
    using trees = new WorkTrees(2, 1);
    await trees.connect(lab);
    const page = await lab.open("", DESK);
    await page.getByRole("link", { name: "2 ready to review" }).waitFor();
    const person = new Person(page);
    await person.press("g", "v");
    await page.getByRole("button", { name: /^Accept/ }).waitFor();
    const answer = Promise.withResolvers<void>();
    await page.route(/[/]reviews[/]review-/, async (request) => {
      await answer.promise;
      await request.continue();
    });
    await person.press("n");
    await page.getByRole("region", { name: "The chosen review" }).getByLabel("Loading").waitFor();
    await person.press("a", "s", "n");
    assert.match(page.url(), /#[/]review/);
    answer.resolve();
    await page.getByRole("button", { name: /^Accept/ }).waitFor();
    assert.equal(await page.getByRole("main").locator(".review-row").count(), 2);
  },
);
