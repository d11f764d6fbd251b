/** The button that stops a peer's turn: in the head, in the list and on a phone. */

import assert from "node:assert/strict";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import type { SocketPeer } from "../../../support/dashboard/socket_peer.ts";
import { until } from "../../../support/waiting.ts";

const STOP = { name: "Stop the turn of api" };

function work(peer: SocketPeer): void {
  peer.send({ type: "status", status: "busy", turn_state: "working" });
}

browserTest(
  "a turn is stopped from the head of its peer, and the window says what is proved",
  async (lab) => {
    const api = await lab.peer({ name: "api", backend: "acp", interrupts: true });
    const page = await lab.open(`#/peers/${api.peer_id}`);
    const stop = page.locator(".peer-head").getByRole("button", STOP);
    assert.equal(await stop.getAttribute("aria-disabled"), "true");
    assert.equal(await stop.getAttribute("title"), "api is not at work");
    work(api);
    await page.locator(".peer-head .stop-turn[aria-disabled=false]").click();
    const window = page.getByRole("dialog", { name: "Stop api?" });
    await window.getByText("goes on running and keeps its conversation").waitFor();
    assert.equal(api.frames.filter(({ type }) => type === "interrupt").length, 0);
    await window.getByRole("button", { name: "Stop it" }).click();
    await until("the request", () => api.frames.some(({ type }) => type === "interrupt"));
    api.send({ type: "status", status: "online", turn_state: "idle", error: "interrupted" });
    await window.getByText("The turn of api was interrupted, by its own client").waitFor();
    await window.getByRole("button", { name: "Done" }).click();
  },
);

browserTest(
  "on a phone the button in the list is large enough, and an unproved stop is said to be so",
  async (lab) => {
    const api = await lab.peer({ name: "api", backend: "acp", interrupts: true });
    const page = await lab.open("#/mesh", PHONE);
    work(api);
    const stop = page.getByRole("button", STOP);
    await stop.waitFor();
    const box = await stop.boundingBox();
    assert.ok(box && box.width >= 44 && box.height >= 44, JSON.stringify(box));
    await stop.click();
    const window = page.getByRole("dialog", { name: "Stop api?" });
    await window.getByRole("button", { name: "Stop it" }).click();
    await window.getByText("nothing shows yet that it has").waitFor();
  },
);

browserTest("the palette offers to stop peers at work, and opens the question", async (lab) => {
  const api = await lab.peer({ name: "api", backend: "acp", interrupts: true });
  const web = await lab.peer({ name: "web", backend: "acp", interrupts: true });
  work(api);
  const page = await lab.open(`#/peers/${web.peer_id}`);
  await page.getByRole("button", STOP).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("stop");
  const options = page.getByRole("option");
  await options.filter({ hasText: "Stop api" }).waitFor();
  assert.equal(await options.filter({ hasText: "Stop web" }).count(), 0);
  await page.keyboard.press("Enter");
  const window = page.getByRole("dialog", { name: "Stop api?" });
  await window.getByRole("button", { name: "Cancel" }).click();
  await window.waitFor({ state: "detached" });
  assert.equal(api.frames.filter(({ type }) => type === "interrupt").length, 0);
});

browserTest("the window stays when the button of a card goes with the turn", async (lab) => {
  const api = await lab.peer({ name: "api", backend: "acp", interrupts: true });
  work(api);
  const page = await lab.open("#/mesh");
  await page.getByRole("button", STOP).click();
  const window = page.getByRole("dialog", { name: "Stop api?" });
  await window.getByRole("button", { name: "Stop it" }).click();
  await until("the request", () => api.frames.some(({ type }) => type === "interrupt"));
  api.send({ type: "status", status: "online", turn_state: "idle", error: "interrupted" });
  await page.getByRole("button", STOP).waitFor({ state: "detached" });
  await window.getByText("The turn of api was interrupted, by its own client").waitFor();
});

browserTest("a page that is not a person's shows why it stops nobody", async (lab) => {
  const api = await lab.peer({ name: "api", backend: "acp", interrupts: true });
  work(api);
  const page = await lab.openPlain(`#/peers/${api.peer_id}`);
  const stop = page.locator('.peer-head .stop-turn[title^="This page is not signed in"]');
  await stop.waitFor();
  await stop.dispatchEvent("click");
  await page.locator(".notice", { hasText: "Not stopped: This page is not signed in" }).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  lab.forgive(/status of 403/); // Such a page is not shown the session.
});
