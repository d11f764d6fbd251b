/** The first load of the page: its bytes, each path once; the loss of the network. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { relayTest } from "../../support/dashboard/relay_dashboard_lab.ts";
import { PHONE } from "../../support/dashboard/shared_browser.ts";
import { Wire } from "../../support/dashboard/wire.ts";
import { until } from "../../support/waiting.ts";

const PEERS = 95;
const FIRST_LOAD_BYTES_MAX = 110_000;
/** Loaded when the view is shown, for the records that it shows. */
const OF_RECORDS = /\/peers\/[^/]+\/turns$|\/panes\/orphans$/;

async function addPeers(url: string): Promise<void> {
  for (let count = 0; count < PEERS; count++) {
    const body = {
      display_name: `agent-${count}`,
      backend: "sdk",
      circle: `circle-${count % 5}`,
      model: "claude-opus-4-8",
      path: `/home/sam/work/project-${count % 9}`,
    };
    const response = await fetch(`${url}/peers`, { method: "POST", body: JSON.stringify(body) });
    await response.body?.cancel();
  }
}

/** Opens an address as a browser does that has none of the page's files, until it is live. */
async function load(page: Page, address: string): Promise<Wire> {
  await page.goto("about:blank");
  const wire = await Wire.of(page);
  await page.goto(address);
  await page.locator(".dot.live").waitFor({ state: "attached" });
  await page.locator("main [data-row], main .empty").first().waitFor();
  return wire;
}

function assertSmall(wire: Wire): void {
  assert.ok(wire.bytes <= FIRST_LOAD_BYTES_MAX, `${wire.bytes} bytes`);
  const paths = wire.requests.map(({ path }) => path.replace(/\?.*/, ""))
    .filter((path) => !OF_RECORDS.test(path));
  assert.deepEqual(paths.filter((path, at) => paths.indexOf(path) !== at), [], "loaded twice");
  for (const name of ["/peers", "/asks", "/inbox", "/dashboard/session"]) {
    assert.equal(paths.filter((path) => path.endsWith(name)).length, 1, name);
  }
  const { coding } = wire.requests.find(({ path }) => path.includes("/peers?")) ?? {};
  assert.equal(coding, "gzip");
}

for (const view of ["#/attention", "#/mesh"]) {
  browserTest(
    `the first load of ${view} with 95 peers takes 110 kB, and loads no path twice`,
    async (lab) => {
      await addPeers(lab.daemon.base);
      const page = await lab.openPlain();
      assertSmall(await load(page, `${lab.daemon.base}/dashboard${view}`));
    },
  );

  relayTest(
    `on a phone, the first load of ${view} at a relay takes 110 kB, and loads no path twice`,
    async (lab) => {
      const daemon = await lab.daemon();
      await addPeers(daemon.url);
      const page = await lab.open(daemon.daemon_id, "", PHONE);
      assertSmall(await load(page, lab.addressOf(daemon.daemon_id, view)));
    },
  );
}

browserTest(
  "the page names all files that its first views need, so that none waits for another",
  async (lab) => {
    const page = await lab.openPlain();
    const wire = await load(page, `${lab.daemon.base}/dashboard`);
    const html = await (await fetch(`${lab.daemon.base}/dashboard`)).text();
    const files = wire.requests.map(({ path }) => path).filter((path) =>
      /\.(?:js|css)$/.test(path)
    );
    const first = files.filter((path) => !/reading|managing/.test(path));
    assert.ok(first.length >= 4);
    for (const path of first) assert.ok(html.includes(`="${path.slice(1)}"`), path);
  },
);

browserTest("an event between two loads is not missed", async (lab) => {
  const page = await lab.openPlain("#/mesh");
  await page.locator(".dot.live").waitFor({ state: "attached" });
  await lab.peer({ name: "late" });
  await page.getByRole("link", { name: "late" }).first().waitFor();
});

relayTest("a page notices at once that its device has no network, and says so", async (lab) => {
  const daemon = await lab.daemon();
  const page = await lab.open(daemon.daemon_id, "#/mesh");
  await page.locator(".dot.live").waitFor({ state: "attached" });
  lab.forgive(/./);
  await page.context().setOffline(true);
  await page.getByText("This device has no network.").waitFor({ timeout: 3000 });
  await page.getByRole("alert").getByText("Disconnected").waitFor();
  await page.context().setOffline(false);
  await page.locator(".dot.live").waitFor({ state: "attached" });
  await until(
    "the end of the notice",
    async () => await page.getByText("This device has no network.").count() === 0 || undefined,
  );
  lab.forgive(/ERR_INTERNET_DISCONNECTED/);
});

browserTest("a page without a network that still reaches its daemon stays live", async (lab) => {
  const page = await lab.openPlain("#/mesh");
  await page.locator(".dot.live").waitFor({ state: "attached" });
  await page.evaluate(`globalThis.states = [];
    new MutationObserver(() => states.push(document.querySelector(".connection").textContent))
      .observe(document.querySelector(".connection"), { subtree: true, characterData: true, childList: true });
    dispatchEvent(new Event("offline"))`);
  await lab.peer({ name: "api" });
  await page.getByRole("link", { name: "api" }).first().waitFor();
  assert.deepEqual(await page.evaluate("states"), []);
});
