/** The page as an app: installing it, opening it offline, notifications and its badge. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import * as support from "../../../support/dashboard/relay_dashboard_lab.ts";
import { until } from "../../../support/waiting.ts";

type RelayDashboardLab = support.RelayDashboardLab;

/** A test of pages with a service worker. */
function relayTest(name: string, run: (lab: RelayDashboardLab) => Promise<void>): void {
  support.relayTest(name, run, { serviceWorkers: "allow" });
}

/** Waits until the service worker has kept the page. */
async function isReady(page: Page): Promise<void> {
  await until("the worker", () => page.evaluate("navigator.serviceWorker.controller !== null"));
}

/** The titles of the notifications that the page's worker shows. */
async function titles(page: Page): Promise<string[]> {
  return await page.evaluate<string[]>(`navigator.serviceWorker.ready
    .then((worker) => worker.getNotifications())
    .then((shown) => shown.map(({ title }) => title))`);
}

/** The daemon's name for its machine. */
const HOST = Deno.hostname();

/** Browsers end a notification by themselves after half a minute. */
const SOON_MS = 15_000;

/** So that Settings loads through the relay. */
const SETTINGS = { MESH_RELAY__ALLOW_ADMIN: "true" };

/** A page in the background, with notifications on. */
async function openAway(lab: RelayDashboardLab, daemon_id: string): Promise<Page> {
  const page = await lab.page({ permissions: ["notifications"] });
  await page.addInitScript(`
    document.hasFocus = () => globalThis.here ?? false;
    globalThis.badges = [];
    navigator.setAppBadge = async (count) => void badges.push(count);
    navigator.clearAppBadge = async () => void badges.push(0);
  `);
  await lab.signIn(page);
  await page.goto(lab.addressOf(daemon_id, "#/settings"));
  await page.getByRole("button", { name: "Switch on" }).click();
  await page.getByRole("button", { name: "Switch off" }).waitFor();
  await isReady(page);
  return page;
}

relayTest("a browser may install the page of a machine, and finds nothing amiss", async (lab) => {
  const daemon = await lab.daemon();
  const page = await lab.open(daemon.daemon_id);
  await isReady(page);
  const devtools = await page.context().newCDPSession(page);
  const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
  // A private window, in which tests run, is the one reason.
  const reasons = installabilityErrors.map(({ errorId }) => errorId);
  assert.deepEqual(reasons.filter((reason) => reason !== "in-incognito"), []);
  const { url, errors } = await devtools.send("Page.getAppManifest");
  assert.equal(url, lab.addressOf(daemon.daemon_id, "/manifest.webmanifest"));
  assert.deepEqual(errors, []);
});

relayTest(
  "without its relay the page opens, says that nothing is loaded, and holds no data",
  async (lab) => {
    const daemon = await lab.daemon();
    await lab.peer(daemon, { name: "api" });
    const page = await lab.open(daemon.daemon_id, "#/mesh");
    await page.getByRole("link", { name: "api" }).first().waitFor();
    await isReady(page);
    await lab.stopRelay();
    await page.reload();
    await page.getByText("Disconnected. Nothing has been loaded yet.").waitFor();
    assert.equal(await page.getByRole("link", { name: "api" }).count(), 0);
    const kept = await page.evaluate<string[]>(`caches.keys()
    .then((names) => Promise.all(names.map((name) => caches.open(name))))
    .then((opened) => Promise.all(opened.map((cache) => cache.keys())))
    .then((keys) => keys.flat().map(({ url }) => url))`);
    const address = lab.addressOf(daemon.daemon_id);
    assert.ok(kept.length > 5);
    assert.deepEqual(
      kept.filter((url) => url !== address && !url.startsWith(`${address}/assets/`)),
      [],
    );
    lab.forgive(/ERR_|500/);
  },
);

relayTest(
  "a daemon's own page opens without its daemon, and its cookie is renewed",
  async (lab) => {
    const daemon = await lab.daemon({ MESH_DAEMON__AUTH_TOKEN: "t".repeat(43) });
    const page = await lab.ownPage(daemon);
    await page.locator(".connection", { hasText: "Live" }).waitFor();
    await isReady(page);
    await page.context().clearCookies();
    await page.reload();
    await page.locator(".connection", { hasText: "Live" }).waitFor();
    await daemon.end("SIGKILL");
    await page.reload();
    await page.getByText("Disconnected. Nothing has been loaded yet.").waitFor();
    lab.forgive(/ERR_/);
  },
);

relayTest(
  "a new question is shown once, and disappears when it is answered elsewhere",
  async (lab) => {
    const daemon = await lab.daemon(SETTINGS);
    const [db, api] = [
      await lab.peer(daemon, { name: "db" }),
      await lab.peer(daemon, { name: "api" }),
    ];
    await db.request("ask", { to_peer: "sam", text: "Was here before" });
    const page = await openAway(lab, daemon.daemon_id);
    await until("the first list", async () => await page.title() === `(1) Settings · ${HOST}`);
    assert.deepEqual(await titles(page), []);
    await api.request("ask", { to_peer: "sam", text: "May I?" });
    await until("a notification", async () => (await titles(page)).length > 0);
    assert.deepEqual(await titles(page), [`api asks you · ${HOST}`]);
    await until("its count", async () => await page.title() === `(2) Settings · ${HOST}`);
    await until("its badge", async () => await page.evaluate("badges.at(-1)") === 2);
    const other = await lab.open(daemon.daemon_id);
    await other.getByLabel("Answer api").fill("Yes.");
    await other.keyboard.press("Enter");
    await until("its end", async () => (await titles(page)).length === 0, SOON_MS);
    await until("its count", async () => await page.title() === `(1) Settings · ${HOST}`);
    await until("its badge", async () => await page.evaluate("badges.at(-1)") === 1);
  },
);

relayTest("a notification of an agent's text stays text, and leads to Attention", async (lab) => {
  const daemon = await lab.daemon(SETTINGS);
  const api = await lab.peer(daemon, { name: "api" });
  const page = await openAway(lab, daemon.daemon_id);
  await api.request("notify", { to_peer: "sam", text: "<b>done</b>" });
  await until("a notification", async () => (await titles(page)).length > 0);
  assert.deepEqual(await titles(page), [`api writes to you · ${HOST}`]);
  const [worker] = page.context().serviceWorkers();
  await worker?.evaluate(`self.registration.getNotifications().then(([notification]) =>
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification })))`);
  await page.getByRole("heading", { name: "Attention", level: 1 }).waitFor();
  await page.locator("main b").waitFor({ state: "detached" });
});

relayTest("a page that a person looks at, or with notifications off, shows none", async (lab) => {
  const daemon = await lab.daemon(SETTINGS);
  const [api, db] = [
    await lab.peer(daemon, { name: "api" }),
    await lab.peer(daemon, { name: "db" }),
  ];
  const page = await openAway(lab, daemon.daemon_id);
  await page.evaluate("globalThis.here = true");
  await api.request("ask", { to_peer: "sam", text: "Seen at once" });
  await until("the first ask", async () => (await page.title()).startsWith("(1)"));
  await page.evaluate("globalThis.here = false");
  await db.request("ask", { to_peer: "sam", text: "Later" });
  await until("a notification", async () => (await titles(page)).length > 0);
  assert.deepEqual(await titles(page), [`db asks you · ${HOST}`]);
  await page.getByRole("button", { name: "Switch off" }).click();
  await until("its end", async () => (await titles(page)).length === 0, SOON_MS);
  await api.request("ask", { to_peer: "sam", text: "Not wanted" });
  await until("the third ask", async () => (await page.title()).startsWith("(3)"));
  assert.deepEqual(await titles(page), []);
});
