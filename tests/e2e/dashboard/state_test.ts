/** State of the page: complete, current, and with the right sender. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { cancelAsk, openAsk } from "protocol/asks/contract.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { PHONE } from "../../support/dashboard/shared_browser.ts";
import type { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { until } from "../../support/waiting.ts";

const isLive = (page: Page) => page.locator(".connection", { hasText: "Live" }).waitFor();

/** Forgets the browser's own reports of answers that a test has forged or refused. */
function expectFailedLoads(lab: DashboardLab): void {
  lab.forgive(/Failed to load resource/);
}

browserTest("a question to the human is found behind 205 newer asks of agents", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  await web.request("ask", { to_peer: "sam", text: "May I deploy?" });
  for (let count = 0; count < 205; count++) {
    const body = { from_peer: web.peer_id, to_peer: api.peer_id, text: `Ask ${count}` };
    await lab.call(openAsk, { body });
  }
  const page = await lab.open();
  await page.getByText("May I deploy?").waitFor();
  assert.equal(await page.title(), "(1) Attention · Agent Mesh");
});

browserTest("a page that could not load the asks says so, and is not calm", async (lab) => {
  const web = await lab.peer({ name: "web" });
  await web.request("ask", { to_peer: "sam", text: "May I deploy?" });
  const page = await lab.open();
  await page.getByText("May I deploy?").waitFor();
  // The page also loads by itself. Until the click, such a load has no answer, which would remove
  // the button.
  const clicked = Promise.withResolvers<void>();
  let isSlow = true;
  await page.route(/\/asks\?/, async (route) => {
    const busy = { status: 503, json: { error: "busy", detail: "The disk is slow" } };
    if (isSlow) return await route.fulfill(busy);
    await clicked.promise;
    await route.continue();
  });
  await page.reload();
  await page.locator("main").getByText("The disk is slow").waitFor();
  assert.equal(await page.getByText("Nothing waits for you").count(), 0);
  isSlow = false;
  await page.getByRole("button", { name: "Try again" }).click();
  clicked.resolve();
  await page.getByText("May I deploy?").waitFor();
  expectFailedLoads(lab);
});

browserTest("a page reports the absence of agents only once it has loaded them", async (lab) => {
  await lab.peer({ name: "web" });
  const page = await lab.open();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  await page.route(/\/peers(\?|$)/, async (route) => {
    asked.resolve();
    await answer.promise;
    await route.continue();
  });
  // An answer to the page before the reload may never end.
  const inbox = page.waitForEvent("framenavigated")
    .then(() => page.waitForResponse(/\/inbox\?/));
  await page.reload();
  await asked.promise;
  await (await inbox).finished();
  await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
  assert.equal(await page.getByText("No agents yet").count(), 0);
  answer.resolve();
  await page.getByText("Nothing waits for you").waitFor();
});

browserTest("eight pages of one browser are all current", async (lab) => {
  const web = await lab.peer({ name: "web" });
  const first = await lab.open();
  const pages = [first];
  while (pages.length < 8) {
    const page = await first.context().newPage();
    await page.goto(`${lab.daemon.base}/dashboard`);
    pages.push(page);
  }
  for (const page of pages) await isLive(page);
  await web.request("notify", { to_peer: "sam", text: "for all pages" });
  for (const page of pages) await page.getByText("for all pages").waitFor();
  // The page that keeps the connection goes; another one takes it over.
  await first.close();
  await web.request("notify", { to_peer: "sam", text: "without the first" });
  for (const page of pages.slice(1)) await page.getByText("without the first").waitFor();
});

browserTest("a load without an answer ends, and later ones work", async (lab) => {
  const web = await lab.peer({ name: "web" });
  const page = await lab.open();
  await page.getByText("Nothing waits for you").waitFor();
  await page.clock.install();
  await page.reload();
  await page.getByText("Nothing waits for you").waitFor();
  const hung = page.waitForRequest(/\/inbox\?/);
  await page.route(/\/inbox\?/, () => {}, { times: 1 });
  await web.request("ask", { to_peer: "sam", text: "May I?" });
  await page.clock.runFor(1000);
  await hung;
  await page.clock.runFor(20_000);
  await page.getByText("has not answered for 15 seconds").first().waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("May I?").waitFor();
});

browserTest("a page learns that another page of the browser has become sam's", async (lab) => {
  const page = await lab.openPlain();
  await page.getByText("does not count as").waitFor();
  const opened = await page.context().newPage();
  await opened.goto(await lab.ticketLink());
  await page.getByText("You are sam").waitFor();
  assert.equal(await page.getByText("does not count as").count(), 0);
});

browserTest("a failed question for the session is asked again", async (lab) => {
  const page = await lab.open();
  await page.route(
    /\/dashboard\/session$/,
    (route) => route.fulfill({ status: 503, json: { error: "busy", detail: "Starting" } }),
    { times: 1 },
  );
  await page.reload();
  await page.getByText("You are sam").waitFor();
  assert.equal(await page.getByText("does not accept this page").count(), 0);
  expectFailedLoads(lab);
});

browserTest("a browser whose cookie is gone says that it is no longer signed in", async (lab) => {
  const page = await lab.openPlain();
  await isLive(page);
  await page.context().clearCookies();
  await page.evaluate(() => location.hash = "#/log");
  await page.getByText("This browser is no longer signed in").waitFor();
  await page.getByText("mesh open").waitFor();
  expectFailedLoads(lab);
}, { MESH_DAEMON__AUTH_TOKEN: "t".repeat(43) });

/** A stream that opens, sends one sign of life, and then nothing, as a lost connection does. */
const SILENT_STREAM = `globalThis.opened = 0;
globalThis.EventSource = class extends EventTarget {
  constructor() {
    super();
    globalThis.opened++;
    const send = (type) => this.dispatchEvent(new MessageEvent(type, { data: '{"last":0}' }));
    setTimeout(() => { send("ready"); send("alive"); }, 1);
  }
  close() {}
};`;

browserTest("a stream without a sign of life is opened again", async (lab) => {
  const page = await lab.openPlain();
  const opened = (count: number) =>
    until(`${count} streams`, async () => await page.evaluate("globalThis.opened") === count);
  await page.clock.install();
  await page.addInitScript(SILENT_STREAM);
  await page.reload();
  await opened(1);
  await page.clock.runFor(1000);
  await isLive(page);
  await page.clock.runFor(33_000);
  await opened(1);
  await page.clock.runFor(4000);
  await opened(2);
});

browserTest(
  "the age of an event is never negative, however wrong the page's clock is",
  async (lab) => {
    const web = await lab.peer({ name: "web" });
    await web.request("ask", { to_peer: "sam", text: "May I?" });
    const page = await lab.open();
    await page.getByText("May I?").waitFor();
    for (const minutes of [-10, 10]) {
      await page.clock.install({ time: Date.now() + minutes * 60_000 });
      await page.reload();
      await page.locator(".waits", { hasText: /^waits \d+ s$/ }).waitFor();
    }
  },
);

browserTest("a question that ended unseen is shown with how it ended", async (lab) => {
  const web = await lab.peer({ name: "web" });
  const { correlation_id } = await web.request("ask", { to_peer: "sam", text: "May I deploy?" });
  const body = { peer_id: web.peer_id };
  await lab.call(cancelAsk, { params: { id: correlation_id ?? "" }, body });
  const page = await lab.open();
  const card = page.locator("main li.card", { hasText: "This question is closed" });
  await card.getByText("May I deploy?").waitFor();
  await card.getByText("cancelled", { exact: true }).waitFor();
  await card.getByRole("button", { name: "Mark as read" }).click();
  await card.waitFor({ state: "detached" });
});

browserTest("messages of others do not cause an examination of a peer", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  const page = await lab.open(`#/peers/${db.peer_id}?tab=evidence`);
  await page.getByRole("button", { name: "Examine again" }).waitFor();
  let examinations = 0;
  page.on("request", (request) => {
    if (request.url().includes("/doctor")) examinations++;
  });
  for (let count = 0; count < 5; count++) {
    const peers = page.waitForResponse(/\/peers(\?|$)/);
    await web.request("notify", { to_peer: api.peer_id, text: `Note ${count}` });
    await peers;
  }
  assert.equal(examinations, 0);
});

browserTest("a phone shows whether the page is live, and for whom it speaks", async (lab) => {
  const page = await lab.open("", PHONE);
  const bar = page.getByRole("banner");
  await bar.getByText("Live").waitFor();
  await bar.getByText("You are sam").waitFor();
  await page.getByRole("link", { name: "More" }).tap();
  await page.getByRole("button", { name: "Keys" }).tap();
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.getByRole("button", { name: "Close" }).tap();
  await bar.getByRole("button", { name: "Go to" }).tap();
  const field = page.getByRole("combobox", {
    name: "Go to a view, a peer or a job, or do something",
  });
  assert.equal(await field.getAttribute("aria-expanded"), "true");
  assert.equal(
    await page.locator(`#${await field.getAttribute("aria-activedescendant")}`).count(),
    1,
  );
  await field.fill("no such place");
  await page.getByRole("option", { name: "Search for no such place" }).tap();
  await page.getByText("Nothing found").waitFor();
});

browserTest("while the daemon is down, the last state stays as readable", async (lab) => {
  const page = await lab.open();
  await page.getByText("Nothing waits for you").or(page.getByText("No agents yet")).waitFor();
  await lab.restart(async () => {
    await page.getByText("Disconnected for").waitFor();
    assert.equal(
      await page.evaluate("getComputedStyle(document.querySelector('main')).opacity"),
      "1",
    );
  });
  await isLive(page);
  lab.offences.splice(0);
});
