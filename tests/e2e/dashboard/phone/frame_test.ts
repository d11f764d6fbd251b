/** The frame on a phone: one bar, four tabs, More, the theme, and the machine's name. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { open } from "../../../support/dashboard/attention.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { relayTest } from "../../../support/dashboard/relay_dashboard_lab.ts";
import { hostileDaemon } from "../../../support/dashboard/hostile_daemon.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { until } from "../../../support/waiting.ts";

const tabs = (page: Page) => page.getByRole("navigation", { name: "Views" }).getByRole("link");

browserTest(
  "four tabs with their counts lead to all views, and one bar says where",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    await open(api, { text: "Which port?" });
    const page = await lab.open("", PHONE);
    await until(
      "the counts",
      async () =>
        (await tabs(page).allInnerTexts()).join(" ").replaceAll(/\s+/g, " ") ===
          "Attention 1 waiting for you Agents 1 online Jobs More",
    );
    const bar = page.getByRole("banner");
    await bar.getByText("Live").waitFor();
    await bar.getByText(Deno.hostname(), { exact: true }).waitFor();
    assert.equal(await page.locator(".side, .machines, .connection >> visible=true").count(), 1);
    await tabs(page).nth(1).click();
    await page.getByRole("link", { name: "api" }).first().click();
    assert.equal(await tabs(page).nth(1).getAttribute("aria-current"), "page");
    await page.getByRole("link", { name: "Back to Agents" }).click();
    await page.getByLabel("Filter peers").waitFor();
    await tabs(page).nth(3).click();
    const names = ["Log", "Asks", "Schedules", "Usage", "Health", "Relay", "Settings"];
    for (const name of names) {
      await page.locator("main").getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor({ state: "attached" });
      assert.equal(await tabs(page).nth(3).getAttribute("aria-current"), "page");
      await page.getByRole("link", { name: "Back to More" }).click();
    }
    await page.locator("main").getByRole("link", { name: "Devices" }).click();
    await page.getByRole("heading", { name: "Paired devices" }).waitFor();
    await page.getByRole("button", { name: "Go to or do" }).click();
    await page.getByRole("combobox").fill("health");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Health" }).waitFor({ state: "attached" });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.locator(".side").getByRole("link", { name: "Schedules" }).waitFor();
    assert.equal(await page.locator(".tab-bar, .top-bar").count(), 0);
  },
);

browserTest("a link to a question ends at its card, from any view", async (lab) => {
  const peers = await Promise.all(["a", "b", "c", "d"].map((name) => lab.peer({ name })));
  const ids: string[] = [];
  for (const peer of peers) ids.push(await open(peer, { text: "Which port?\n\nOr which host?" }));
  for (const options of [PHONE, { viewport: { width: 1280, height: 500 } }]) {
    const page = await lab.open(`#/peers/${peers[0]?.peer_id}`, options);
    await page.getByLabel("Ask a", { exact: true }).waitFor();
    const card = page.locator(`#card-${ids[3]}:focus`);
    await page.evaluate((to) => location.hash = to, `#/attention?at=${ids[3]}`);
    await card.waitFor();
    await until("the address without its part", () => !page.url().includes("at="));
    assert.equal(await page.evaluate("document.querySelector('main').scrollTop > 100"), true);
    assert.equal(await card.count(), 1);
    await page.context().close();
  }
});

browserTest(
  "the keyboard reaches the tabs after the content, and the bar shows a lost connection",
  async (lab) => {
    const page = await lab.open("#/more", PHONE);
    // The page itself moves the focus once, to its heading, when it has loaded.
    await until("the tabs behind the last button", async () => {
      await page.getByRole("button", { name: "Dark" }).focus();
      await page.keyboard.press("Tab");
      return /^Attention/.test(await page.evaluate("document.activeElement.textContent"));
    });
    const shape = () =>
      page.evaluate("document.querySelector('.top-bar .dot path').getAttribute('d')");
    const live = await shape();
    await lab.daemon.kill();
    await page.getByRole("banner").getByText("Disconnected").waitFor();
    assert.notEqual(await shape(), live);
    lab.forgive(/ERR_|Failed to fetch/);
  },
);

browserTest("a chosen theme is kept, and overrides the theme of the device", async (lab) => {
  const page = await lab.open("#/more", { ...PHONE, colorScheme: "dark" });
  const shown = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const bar = () =>
    page.evaluate<string>(`[...document.querySelectorAll("meta[name=theme-color]")]
      .find(({ media }) => matchMedia(media).matches).content`);
  const [dark, dark_bar] = [await shown(), await bar()];
  await page.getByRole("button", { name: "Light" }).click();
  const light = await shown();
  assert.notEqual(light, dark);
  assert.notEqual(await bar(), dark_bar);
  await page.reload();
  await page.getByRole("button", { name: "Light", pressed: true }).waitFor();
  assert.equal(await shown(), light);
  await page.getByRole("button", { name: "As the device" }).click();
  assert.deepEqual([await shown(), await bar()], [dark, dark_bar]);
});

relayTest("the line of a machine with a namesake ends before the connection", async (lab) => {
  const daemon = await lab.daemon();
  await lab.daemon();
  const page = await lab.open(daemon.daemon_id, "", PHONE);
  const bar = page.getByRole("banner");
  await bar.getByRole("button", { name: daemon.daemon_id }).waitFor();
  const speaker = await bar.getByText("You are sam").boundingBox();
  const live = await bar.getByText("Live").boundingBox();
  assert.ok(
    speaker && live && speaker.x + speaker.width <= live.x,
    JSON.stringify([speaker, live]),
  );
});

relayTest("behind a relay the bar names the machine, and leads to others", async (lab) => {
  const daemon = await lab.daemon();
  await using hostile = await hostileDaemon(lab.relay.issuer);
  const page = await lab.open(hostile.daemon_id, "", PHONE);
  const name = page.getByRole("banner").getByRole("button", { name: "<img src=x" });
  await name.waitFor();
  const box = await page.getByRole("banner").boundingBox();
  assert.deepEqual([box?.x, box?.width], [0, 390]);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  assert.equal(await page.evaluate("globalThis.ran"), undefined);
  await name.click();
  await page.getByRole("dialog", { name: "Machines" }).getByRole("link", {
    name: Deno.hostname(),
  }).click();
  await page.waitForURL(new RegExp(daemon.daemon_id));
  await page.getByRole("banner").getByText(Deno.hostname()).waitFor();
  lab.forgive(/404/);
});
