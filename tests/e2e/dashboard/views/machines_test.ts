/** Machines as a level above circles in the mesh list, and what peers of other machines allow. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { getAsk } from "protocol/asks/contract.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { busOf, machineOf } from "../../../support/dashboard/network.ts";
import { messageOf } from "../../../support/dashboard/records.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";

const EVENT_MS_MAX = 10_000;

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

/** A page on the mesh list with several machines. */
async function openMesh(
  lab: DashboardLab,
  view = "#/mesh",
  options: Parameters<DashboardLab["open"]>[1] = {},
): Promise<Page> {
  lab.network.fill();
  const page = await lab.open("", options);
  await lab.network.addPeers(page.context());
  await page.goto(`${lab.daemon.base}/dashboard${view}`);
  await page.reload();
  return page;
}

const machine = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

browserTest(
  "with one machine the list has no machines, and one request asks for them",
  async (lab) => {
    await lab.peer({ name: "api", circle: "shop" });
    const page = await lab.open("#/mesh");
    await page.locator(".peer", { hasText: "api" }).waitFor();
    lab.network.requests = 0;
    await page.reload();
    await page.locator(".dot.live").waitFor({ state: "attached" });
    await page.locator(".peer", { hasText: "api" }).waitFor();
    await lab.peer({ name: "web", circle: "shop" });
    await page.locator("main h2", { hasText: "2" }).waitFor();
    assert.equal(lab.network.requests, 1);
    assert.deepEqual(await page.locator("main h2").allInnerTexts(), ["shop\n2"]);
    assert.equal(await page.locator("main h3, .machine, .bus").count(), 0);
  },
);

browserTest("this machine is first, then those online, then those offline, folded", async (lab) => {
  await lab.peer({ name: "web", circle: "shop" });
  const page = await openMesh(lab);
  await machine(page, "attic").waitFor();
  assert.deepEqual(await page.locator("main h2").allInnerTexts(), [
    "laptop",
    "buildbox",
    "cloud",
    "attic",
  ]);
  const buildbox = machine(page, "buildbox");
  assert.deepEqual(await buildbox.locator("h3 bdi").allInnerTexts(), ["ops", "shop"]);
  await buildbox.getByText("api@buildbox").waitFor();
  await buildbox.getByText("latency 12 ms").waitFor();
  await buildbox.getByText("its clock is ahead by 5 min").waitFor();
  await machine(page, "cloud").getByText("It shares no peers with this machine.").waitFor();
  assert.equal(await machine(page, "cloud").getByText("its clock").count(), 0);
  const attic = machine(page, "attic");
  await attic.getByText("its daemon has given no sign for 3 h").waitFor();
  assert.equal(await attic.getByText("old@attic").count(), 0);
  await attic.getByRole("button", { name: "1 peer of attic" }).click();
  await attic.getByText("old@attic").waitFor();
});

browserTest("a search finds peers by their machine, also on one that is offline", async (lab) => {
  await lab.peer({ name: "web", circle: "shop" });
  const page = await openMesh(lab);
  await page.getByLabel("Filter peers").fill("@attic");
  await page.getByText("old@attic").waitFor();
  assert.deepEqual(await page.locator("main h2").allInnerTexts(), ["attic"]);
  await page.getByLabel("Filter peers").fill("nothing like that");
  await page.getByText("No peer matches").waitFor();
});

browserTest(
  "messages that wait for a machine are counted, with their age and recipients",
  async (lab) => {
    await lab.peer({ name: "web" });
    const page = await openMesh(lab);
    await page.route(/\/messages\?state=queued/, (route) => {
      const to = (name: string) => messageOf({ to_peer_id: `peer-${name}-buildbox` });
      return route.fulfill({ json: { messages: [to("api"), to("api"), to("tests")], next: null } });
    });
    await page.reload();
    const waits = machine(page, "buildbox").locator(".machine-waits");
    await waits.getByText("1 for tests@buildbox").waitFor();
    const text = (await waits.innerText()).replaceAll(/\s+/g, " ");
    assert.equal(
      text,
      "4 wait here, the oldest for 3 min: 2 for api@buildbox 1 for tests@buildbox and 1 other",
    );
    await machine(page, "attic").getByText("1 waits here").waitFor();
    assert.equal(await machine(page, "cloud").locator(".machine-waits").count(), 0);
  },
);

browserTest("the details of a machine are its keys, its rights and what it shares", async (lab) => {
  await lab.peer({ name: "web" });
  const page = await openMesh(lab);
  await page.getByRole("button", { name: "Details of laptop" }).click();
  const own = machine(page, "laptop");
  await own.getByText("1f7b 3a90 c6e2 55d0 8e41 09bc 7a6f 2d13").waitFor();
  await own.getByText("shop, ops").waitFor();
  await own.getByText("0 for this machine; its store holds 4.2 MB of 1,000 MB").waitFor();
  await page.getByRole("button", { name: "Details of cloud" }).click();
  await machine(page, "cloud").getByText("It may administer this machine, as its human").waitFor();
  await page.getByRole("button", { name: "Details of buildbox" }).click();
  await machine(page, "buildbox").getByText("Messages only").waitFor();
  await machine(page, "buildbox").getByText("ops, shop").waitFor();
});

browserTest("a bus that is down says why, since when, and what that means", async (lab) => {
  await lab.peer({ name: "web" });
  lab.network.fill();
  const { machines } = lab.network.answer;
  const bus = busOf({ status: "down", since: ago(245), reason: "The server refused this user." });
  const page = await openMesh(lab);
  await page.locator(".side").getByText("Bus connected").waitFor();
  lab.network.answer = { bus, machines };
  await page.reload();
  await page.locator(".side").getByText("Bus down").waitFor();
  const text = "The bus has been down for 4 min: The server refused this user. " +
    "Messages to other machines wait.";
  await page.locator(".side").getByText(text).waitFor();
  await machine(page, "laptop").getByText(text).waitFor();
});

browserTest("a second daemon with the identity of this machine is shown at both", async (lab) => {
  await lab.peer({ name: "web" });
  lab.network.fill();
  const { machines } = lab.network.answer;
  const other = { place: "clone", started_at: ago(60), at: ago(1) };
  const page = await openMesh(lab);
  const first = busOf({ identity_in_use: { this_one: "connected", ...other } });
  const reason = "another daemon has the identity of this machine";
  const copy = busOf({
    status: "down",
    reason,
    identity_in_use: { this_one: "refused", ...other },
  });
  const shown = [[first, "A second daemon has this machine's identity"], [copy, reason]] as const;
  for (const [bus, text] of shown) {
    lab.network.answer = { bus, machines };
    await page.reload();
    await machine(page, "laptop").getByText(text).waitFor();
  }
});

browserTest("a machine that changes is shown without a reload", async (lab) => {
  await lab.peer({ name: "web" });
  const leader = await openMesh(lab);
  await leader.locator(".dot.live").waitFor({ state: "attached" });
  const page = await leader.context().newPage();
  await page.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await machine(page, "cloud").getByText("online").waitFor();
  for (
    const [type, bus, status] of [
      ["machine_changed", busOf(), "offline"],
      ["bus_status", busOf({ status: "connecting" }), "online"],
    ] as const
  ) {
    const machines = [machineOf({ name: "cloud", status })];
    lab.network.answer = { bus, machines };
    // A single page of the browser holds the event stream and forwards its events to the others.
    await leader.evaluate((type) => {
      const frame = { type, data: "{}", id: "" };
      new BroadcastChannel("mesh-stream ").postMessage({ kind: "frame", frame });
    }, type);
    // Sooner than the machines are read again while a person looks at them.
    await machine(page, "cloud").getByText(status).waitFor({ timeout: EVENT_MS_MAX });
    await page.locator(".side").getByText(`Bus ${bus.status}`).waitFor({ timeout: EVENT_MS_MAX });
  }
});

browserTest("a remote peer can be asked, but not restarted, renamed or typed to", async (lab) => {
  const web = await lab.peer({ name: "web" });
  const page = await openMesh(lab);
  // The daemon under test knows no other machine: its own peer takes the ask.
  await page.route("**/ask", (route) => {
    const body = route.request().postDataJSON();
    assert.equal(body.to_peer, "peer-api-buildbox");
    return route.continue({ postData: { ...body, to_peer: web.peer_id } });
  });
  await page.locator(".peer", { hasText: "api@buildbox" }).click();
  await page.getByRole("heading", { level: 1, name: "api@buildbox" }).waitFor();
  await page.getByText("Runs on buildbox: restart, rename or end it there.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Actions" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "Screen" }).count(), 0);
  const sent = page.waitForResponse((response) => response.url().endsWith("/ask"));
  await page.getByLabel("Ask api@buildbox").fill("Which port?");
  await page.getByRole("button", { name: "Send" }).click();
  const { correlation_id } = await (await sent).json();
  const ask = await lab.call(getAsk, { params: { id: correlation_id } });
  assert.equal(ask.text, "Which port?");
  await page.getByRole("button", { name: "Evidence" }).click();
  await page.getByText("Its own machine examines its processes").waitFor();
  await page.getByText("dm-buildbox").waitFor();
});

browserTest("jobs are offered to the peers of this machine only", async (lab) => {
  await lab.peer({ name: "web" });
  const page = await openMesh(lab, "#/jobs/new");
  await page.locator(".count", { hasText: "/4" }).waitFor();
  await page.getByRole("button", { name: "A peer" }).click();
  const options = await page.locator("fieldset select option").allInnerTexts();
  assert.deepEqual(options, ["web (default, online)"]);
});

browserTest(
  "axe finds no violation with several machines, and nothing is too wide",
  async (lab) => {
    await lab.peer({ name: "web" });
    const found: string[] = [];
    for (const screen of [{ viewport: { width: 1440, height: 900 } }, PHONE]) {
      const page = await openMesh(lab, "#/mesh", screen);
      const { machines } = lab.network.answer;
      lab.network.answer = { bus: busOf({ status: "down", since: ago(60) }), machines };
      await page.reload();
      for (const name of ["laptop", "buildbox", "attic"]) {
        await page.getByRole("button", { name: `Details of ${name}` }).click();
      }
      await page.getByRole("button", { name: "1 peer of attic" }).click();
      const check = async (what: string) => {
        const violations = await violationsOf(page);
        found.push(...violations.map((line) => `${what}: ${line}`));
        const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert.equal(wide, 0, what);
      };
      await check("mesh");
      await page.evaluate("location.hash = '#/peers/peer-api-buildbox?tab=evidence'");
      await page.getByText("Runs on buildbox").waitFor();
      await check("remote peer");
      await page.context().close();
    }
    assert.deepEqual(found, []);
  },
);
