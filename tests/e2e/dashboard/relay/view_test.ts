/** The views Relay and Settings, on the daemon's own page and through a relay. */

import assert from "node:assert/strict";
import { createShare } from "protocol/shares.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import {
  type RelayDashboardLab,
  relayTest,
} from "../../../support/dashboard/relay_dashboard_lab.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { connectApp } from "../../../support/e2e/relay_apps_lab.ts";
import { SECRET } from "../../../support/e2e/relay_lab.ts";
import { print } from "../../../support/waiting.ts";

relayTest(
  "a share is made with a QR code, opens for a guest, and ends when its owner ends it",
  async (lab) => {
    const daemon = await lab.daemon();
    await lab.peer(daemon, { name: "api" });
    const page = await lab.open(daemon.daemon_id, "#/relay");
    await page.getByText("No shares").waitFor();
    await page.getByRole("button", { name: "New share" }).click();
    await page.getByRole("button", { name: "Watch and ask" }).click();
    await page.getByRole("button", { name: "Create the link" }).click();
    const dialog = page.getByRole("dialog", { name: "Share of api" });
    await dialog.getByRole("img", { name: "QR code of the link" }).waitFor();
    const url = await dialog.locator("code").first().innerText();
    assert.ok(url.startsWith(`${lab.relay.issuer}/s/sh_`), url);
    const guest = await lab.page();
    await guest.goto(url);
    await guest.getByLabel("Ask it something").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
    await page.getByText("No shares").waitFor();
    assert.equal((await fetch(url)).status, 404);
    lab.forgive(/404/);
  },
);

relayTest("connected apps are listed with what each may do, and one is revoked", async (lab) => {
  const daemon = await lab.daemon();
  await using app = await connectApp(lab.relay.issuer);
  const page = await lab.open(daemon.daemon_id, "#/relay");
  const card = page.locator(".card", { hasText: "An app" });
  await card.getByText("It sees machines and agents").waitFor();
  await card.getByRole("button", { name: "Revoke An app" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No app is connected").waitFor();
  await assert.rejects(app.call("list_machines"));
});

relayTest("an app with a hostile name is shown as text, on a phone, too", async (lab) => {
  const daemon = await lab.daemon();
  const name = `<img src=x onerror='globalThis.ran = 1'>${"x".repeat(20)}`;
  await using _app = await connectApp(lab.relay.issuer, name);
  const page = await lab.open(daemon.daemon_id, "#/relay", PHONE);
  await page.getByText(name).waitFor();
  assert.equal(await page.evaluate("typeof globalThis.ran"), "undefined");
  assert.equal(await lab.overflowOf(page), 0);
});

relayTest("the daemon's own page shows the relay, its shares and its apps, too", async (lab) => {
  const daemon = await lab.daemon();
  await lab.peer(daemon, { name: "api" });
  await using _app = await connectApp(lab.relay.issuer);
  await lab.callOf(daemon)(createShare, { body: { peer: "api" } });
  const page = await lab.ownPage(daemon, "#/relay");
  await page.locator("h2 .state", { hasText: "connected" }).waitFor();
  await page.getByText(lab.relay.issuer, { exact: true }).waitFor();
  await page.getByText("sees what happens", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Revoke An app" }).waitFor();
  assert.ok(!(await page.content()).includes(SECRET.slice(8)));
});

relayTest("settings name their source, hide secrets, and give lines to copy", async (lab) => {
  const daemon = await lab.daemon({ MESH_DAEMON__AUTH_TOKEN: "CANARY0123456789" });
  const page = await lab.ownPage(daemon, "#/settings");
  const rowOf = (key: string) =>
    page.locator(".settings li", { has: page.getByText(key, { exact: true }) });
  await rowOf("daemon.auth_token").getByText("value not shown").waitFor();
  await rowOf("human.name").getByText("MESH_HUMAN__NAME").waitFor();
  await rowOf("daemon.history_days").getByText("default").waitFor();
  await rowOf("daemon.history_days").getByText("mesh config set daemon.history_days 30").waitFor();
  const text = await page.content();
  assert.ok(!text.includes("CANARY") && !text.includes(SECRET.slice(8)));
  await page.getByLabel("Find a setting").fill("relay.");
  await rowOf("daemon.history_days").waitFor({ state: "detached" });
  await rowOf("relay.secret").waitFor();
  await page.getByLabel("Find a setting").fill("");
  await page.getByRole("button", { name: "Without defaults" }).click();
  await rowOf("daemon.history_days").waitFor({ state: "detached" });
  assert.match(page.url(), /source=given$/);
});

relayTest("through a relay the settings are shown only if the machine allows it", async (lab) => {
  const [closed, open] = [
    await lab.daemon(),
    await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: "true" }),
  ];
  const page = await lab.open(closed.daemon_id, "#/settings");
  await page.getByText("relay.allow_admin is off on that machine").waitFor();
  await page.goto(lab.addressOf(open.daemon_id, "#/settings"));
  await page.locator(".settings").getByText("relay.allow_admin", { exact: true }).waitFor();
  lab.forgive(/403/);
});

relayTest("while the relay cannot be reached, the view says so and claims nothing", async (lab) => {
  const daemon = await lab.daemon();
  const page = await lab.ownPage(daemon, "#/relay");
  await page.getByText("No shares").waitFor();
  await page.getByText("No app is connected").waitFor();
  await lab.stopRelay();
  await page.locator("h2 .state", { hasText: "down" }).waitFor();
  await page.getByText("The relay cannot be reached").nth(1).waitFor();
  await page.getByText("No shares").waitFor({ state: "detached" });
  await page.getByText("No app is connected").waitFor({ state: "detached" });
  lab.forgive(/50[0-9]/);
});

Deno.test("without a relay the view says what one is for, and how to join one", async () => {
  const lab = await DashboardLab.start();
  if (!lab) return print("skipped: the relay view (no Chromium; install the package chromium)");
  await using _lab = lab;
  const page = await lab.open("#/relay");
  await page.getByText("No relay is configured").waitFor();
  await page.getByText("mesh setup --relay URL").waitFor();
  assert.deepEqual(lab.offences, []);
});

const SCREENS = [{ width: 1440, height: 900 }, { width: 390, height: 844 }];

relayTest("axe finds no violation in Relay, Settings and the machine switcher", async (lab) => {
  const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: "true" });
  await lab.peer(daemon, { name: "api" });
  await lab.callOf(daemon)(createShare, { body: { peer: "api" } });
  await using _app = await connectApp(lab.relay.issuer);
  const found: string[] = [];
  for (const viewport of SCREENS) {
    found.push(...await violationsIn(lab, daemon.daemon_id, { viewport }));
  }
  assert.deepEqual(found, []);
});

type Screen = NonNullable<Parameters<RelayDashboardLab["open"]>[2]>;

async function violationsIn(lab: RelayDashboardLab, daemon_id: string, screen: Screen) {
  const page = await lab.open(daemon_id, "#/relay", screen);
  const found: string[] = [];
  const check = async (what: string) => {
    found.push(...(await violationsOf(page)).map((line) => `${what}: ${line}`));
  };
  await page.getByRole("button", { name: "Revoke An app" }).waitFor();
  await check("relay");
  await page.getByRole("button", { name: "QR code" }).click();
  await page.getByRole("dialog").waitFor();
  await check("QR code");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Machine" }).click();
  await page.getByRole("dialog").waitFor();
  await check("machines");
  await page.keyboard.press("Escape");
  await page.evaluate("location.hash = '#/settings'");
  await page.locator(".settings li").first().waitFor();
  await check("settings");
  await page.context().close();
  return found.map((line) => `${screen.viewport?.width} ${line}`);
}
