/** The live map: what moves on it, what it costs when nothing does, and the last hour. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { until } from "../../../support/waiting.ts";

const MAP = "#/mesh?tab=map";

/** The classes of all signs that were ever drawn on an edge, in `globalThis.drawn`. */
const RECORD_DRAWN = `globalThis.drawn = [];
  new MutationObserver((records) => {
    for (const { addedNodes } of records) {
      for (const node of addedNodes) {
        if (node.classList?.contains("token")) drawn.push(node.getAttribute("class"));
      }
    }
  }).observe(document.querySelector(".map"), { childList: true, subtree: true });`;

const drawnSigns = (page: Page): Promise<string[]> => page.evaluate("drawn");
const countMoving = (page: Page): Promise<number> =>
  page.evaluate("document.querySelectorAll('.map .tokens path').length");

async function connectTwoPeers(lab: DashboardLab) {
  return { api: await lab.peer({ name: "api" }), web: await lab.peer({ name: "web" }) };
}

browserTest("a message moves along its edge when it is sent, accepted and seen", async (lab) => {
  const { api, web } = await connectTwoPeers(lab);
  const page = await lab.open(MAP);
  await page.getByRole("link", { name: "api, online, circle default" }).waitFor();
  await page.evaluate(RECORD_DRAWN);
  await web.request("notify", { to_peer: api.peer_id, text: "Hello" });
  await until(
    "all stages",
    async () =>
      new Set(await drawnSigns(page)).isSupersetOf(
        new Set(["token sent", "token accepted", "token seen"]),
      ),
  );
  await until("nothing moves any more", async () => await countMoving(page) === 0);
  assert.equal(await page.locator(".map .edge").count(), 1);
  await page.getByText("The map as a table").click();
  await page.getByRole("row", { name: "web api 1 0 0 seen" }).waitFor();
});

browserTest("a map on which nothing moves asks for no frame", async (lab) => {
  const { api, web } = await connectTwoPeers(lab);
  const page = await lab.open();
  await page.clock.install();
  await page.goto(`${lab.daemon.base}/dashboard${MAP}`);
  await page.reload();
  await page.getByRole("link", { name: "api, online, circle default" }).waitFor();
  await page.evaluate(RECORD_DRAWN);
  await web.request("notify", { to_peer: api.peer_id, text: "Hello" });
  await until("something moved", async () => (await drawnSigns(page)).length > 0);
  await until("nothing moves any more", async () => await countMoving(page) === 0);
  await page.evaluate(`globalThis.frames = 0;
    const request = globalThis.requestAnimationFrame;
    globalThis.requestAnimationFrame = (work) => (frames++, request(work));`);
  await page.clock.runFor(60_000);
  // Ages are shown anew every ten seconds; a frame for each picture would be 3,600.
  const frames = await page.evaluate<number>("frames");
  assert.ok(frames <= 12, `${frames} frames in a minute`);
});

browserTest(
  "with reduced motion a message stands on its edge, and no frame is asked for",
  async (lab) => {
    const { api, web } = await connectTwoPeers(lab);
    const page = await lab.open(MAP, { reducedMotion: "reduce" });
    await page.getByRole("link", { name: "api, online, circle default" }).waitFor();
    await page.evaluate(RECORD_DRAWN);
    await web.request("notify", { to_peer: api.peer_id, text: "Hello" });
    await until("a sign", async () => (await drawnSigns(page)).length > 0);
    const place = () =>
      page.evaluate("document.querySelector('.map .token')?.getAttribute('transform')");
    const first = await place();
    assert.ok(first);
    await page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
    );
    assert.ok([first, undefined].includes(await place() as string));
    await until("it is gone", async () => await countMoving(page) === 0);
  },
);

browserTest("the scrubber shows a moment before a message, and goes back to live", async (lab) => {
  const { api, web } = await connectTwoPeers(lab);
  await web.request("notify", { to_peer: api.peer_id, text: "Hello" });
  const page = await lab.open(MAP);
  const happened = page.getByRole("list", { name: "What happened, newest first" });
  await happened.getByText("notify: Hello").first().waitFor();
  const scrubber = page.getByLabel("Moment of the last hour");
  await scrubber.fill("1800");
  await page.getByText("Nothing happened in the hour before.").waitFor();
  await page.locator(".node.offline").first().waitFor();
  await page.getByRole("button", { name: "Back to live" }).click();
  await happened.getByText("notify: Hello").first().waitFor();
  assert.equal(await scrubber.getAttribute("aria-valuetext"), "now, live");
});

browserTest(
  "50 peers have a place each, with a name that none hides, on desktop and phone",
  async (lab) => {
    for (let index = 0; index < 50; index++) {
      await lab.peer({ name: `agent-${index}`, circle: `circle-${index % 4}` });
    }
    for (const options of [{ viewport: { width: 1440, height: 900 } }, PHONE]) {
      const page = await lab.open(MAP, options);
      await page.getByRole("link", { name: "agent-49, online, circle circle-1" }).waitFor();
      const hidden = await page.evaluate(`(() => {
      const boxes = [...document.querySelectorAll(".map .node text")].map((one) => one.getBoundingClientRect());
      return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
    })()`);
      assert.equal(hidden, 0);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
    }
  },
);
