/** The mesh list: its order, and how old the evidence about each peer is. */

import assert from "node:assert/strict";
import { listInbox } from "protocol/inbox.ts";
import { unlessClosed } from "../../../support/dashboard/network.ts";
import type { Page } from "playwright-core";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";

const names = async (page: Page) =>
  (await page.locator(".peer-name").allInnerTexts()).map((name) => name.trim()).join(" ");

/** Peers whose records say when they were seen, in seconds before now. */
async function withAges(lab: DashboardLab, page: Page, ages: Record<string, number>) {
  await page.route(/\/peers\?/, async (route) => {
    await unlessClosed(async () => {
      const body = await (await route.fetch()).json();
      for (const peer of body.peers) {
        const age = ages[peer.name];
        if (age !== undefined) peer.last_seen = new Date(Date.now() - age * 1000).toISOString();
      }
      await route.fulfill({ json: body });
    });
  });
  await page.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await page.reload();
}

browserTest("a peer that loops shows that it works, too, and can be stopped", async (lab) => {
  const [bench, paper] = [await lab.peer({ name: "bench" }), await lab.peer({ name: "paper" })];
  bench.send({ type: "status", status: "busy", turn_state: "working" });
  for (let round = 0; round < 5; round++) {
    const fields = { to_peer: paper.peer_id, text: "Which level was measured?" };
    const { correlation_id } = await bench.request("ask", fields);
    await paper.request("ack", { correlation_id, message: "Snapshot isolation." });
  }
  const page = await lab.open("#/mesh");
  const card = page.locator(".peer", { hasText: "bench" });
  await card.getByText("looping").waitFor();
  await card.getByText("working").waitFor();
  const stop = page.getByRole("button", { name: "Stop the turn of bench" });
  await page.getByRole("button", { name: "Compact" }).click();
  const middleOf = async (target: typeof stop) => {
    const box = await target.boundingBox();
    return Math.round((box?.y ?? 0) + (box?.height ?? 0) / 2);
  };
  const middles = [await middleOf(stop), await middleOf(card.getByText("bench"))];
  assert.ok(Math.abs((middles[0] ?? 0) - (middles[1] ?? 0)) <= 2, middles.join(", "));
});

browserTest("peers are sorted as a person chooses, and the address keeps it", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const web = await lab.peer({ name: "web" });
  const db = await lab.peer({ name: "db" });
  db.send({ type: "status", status: "busy", turn_state: "working" });
  await api.request("ask", { to_peer: web.peer_id, text: "Ready?" });
  const page = await lab.open();
  await withAges(lab, page, { api: 5, db: 90, web: 40 });
  await page.getByText("1 open").waitFor();
  await page.locator(".peer", { hasText: "db" }).getByText("working").waitFor();
  assert.equal(await names(page), "db api web");
  const sort = page.getByLabel("Sort by");
  for (
    const [order, expected] of [
      ["name", "api db web"],
      ["seen", "api web db"],
      ["wait", "web db api"],
    ] as const
  ) {
    await sort.selectOption(order);
    assert.equal(await names(page), expected, order);
  }
  assert.match(page.url(), /#\/mesh\?sort=wait$/);
  await page.reload();
  await page.getByText("1 open").waitFor();
  assert.equal(await names(page), "web db api");
  // The choice also holds for an address without it.
  await page.goto(`${lab.daemon.base}/dashboard#/asks`);
  await page.getByRole("link", { name: "Mesh" }).click();
  await page.getByText("1 open").waitFor();
  assert.equal(await names(page), "web db api");
});

browserTest("who needs a person is above all circles, and offline peers say why", async (lab) => {
  const db = await lab.peer({ name: "db", circle: "shop" });
  const old = await lab.peer({ name: "old", circle: "shop" });
  await lab.peer({ name: "web", circle: "ops" });
  await db.request("ask", { to_peer: "sam", text: "Deploy?" });
  old.close();
  const page = await lab.open("#/mesh");
  const needs = page.locator("section.group", { has: page.getByText("Needs you") });
  await needs.locator(".peer", { hasText: "db" }).waitFor();
  assert.equal(await page.locator("section.group").first().innerText(), await needs.innerText());
  const shop = page.locator("section.group", { has: page.getByRole("heading", { name: "shop" }) });
  await shop.getByRole("button", { name: "1 offline" }).click();
  await shop.getByText(/ended \d+ s ago: its connection was closed/).waitFor();
  assert.equal(await shop.locator(".peer").count(), 1);
});

browserTest("a card says how old its evidence is, and that a worker is silent", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  for (const peer of [api, web]) {
    peer.send({ type: "status", status: "busy", turn_state: "working" });
  }
  await lab.peer({ name: "idle" });
  const page = await lab.open();
  await withAges(lab, page, { api: 12, web: 14 * 60 + 5, idle: 3 * 3600 + 5 });
  const card = (name: string) => page.locator(".peer", { hasText: name });
  await card("api").getByText(/seen 1\d s ago/).waitFor();
  await card("web").getByText("no sign for 14 min").waitFor();
  await card("idle").getByText("seen 3 h ago").waitFor();
  await page.getByRole("button", { name: "Compact" }).click();
  await card("web").getByText("no sign for 14 min").waitFor();
  await card("api").getByText(/seen/).waitFor({ state: "hidden" });
});

browserTest("the ages are read again each minute while a person looks", async (lab) => {
  await lab.peer({ name: "api" });
  const page = await lab.open();
  await page.clock.install();
  await page.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await page.reload();
  await page.getByText(/seen \d+ s ago/).waitFor();
  await page.clock.runFor(1000);
  const again = page.waitForRequest(/\/peers\?/);
  await page.clock.runFor(60_000);
  await again;
  await page.evaluate("location.hash = '#/log'");
  await page.getByText("No messages yet").waitFor();
  let loads = 0;
  page.on("request", (request) => request.url().includes("/peers?") && loads++);
  await page.clock.runFor(120_000);
  assert.equal(loads, 0);
});

browserTest(
  "the human has no transport and no folder, and a degraded peer says why",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open();
    const { human_peer_id } = await lab.call(listInbox, { query: {} });
    await page.goto(`${lab.daemon.base}/dashboard#/peers/${human_peer_id}?tab=evidence`);
    const evidence = page.getByRole("region", { name: "Evidence" });
    await evidence.getByText("inbox").waitFor();
    assert.doesNotMatch(await evidence.locator(".facts").innerText(), /none/);
    assert.equal(await page.locator(".where").innerText(), "default");
    await page.route(/\/peers\?/, async (route) => {
      await unlessClosed(async () => {
        const body = await (await route.fetch()).json();
        for (const peer of body.peers) {
          if (peer.name !== "api") continue;
          peer.inbound_status = "degraded";
          peer.inbound_reason = "draft: The draft is gone";
        }
        await route.fulfill({ json: body });
      });
    });
    await page.goto(`${lab.daemon.base}/dashboard#/peers/${api.peer_id}?tab=evidence`);
    await page.reload();
    await evidence.getByText("draft: The draft is gone").waitFor();
  },
);
